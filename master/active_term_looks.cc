// How other threads look at what the dispatcher thread owns.
#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>

#include "master/active_term.h"

namespace baton::master {
namespace {

constexpr size_t kSliceBuckets = 5'000;  // Of a table of live things: a millisecond or so.
// Longer definitions take milliseconds to be read.
constexpr size_t kLargeText = 16 * 1024;
// So long a request waits for definitions to be read.
constexpr Micros kReadAheadMax = Seconds(5);

}  // namespace

bool ActiveTerm::inspect(std::function<void()> look, Millis limit) {
  struct Gate {
    std::mutex mutex;
    std::condition_variable done_signal;
    bool done = false;
    bool abandoned = false;
  };
  const auto gate = std::make_shared<Gate>();
  dispatcher_.post([gate, look = std::move(look)] {
    std::lock_guard lock(gate->mutex);
    if (gate->abandoned) return;
    look();
    gate->done = true;
    gate->done_signal.notify_all();
  });
  std::unique_lock lock(gate->mutex);
  const bool done = gate->done_signal.wait_for(lock, limit, [&] { return gate->done; });
  gate->abandoned = !done;
  return done;
}

template <typename Table, typename Look>
bool ActiveTerm::eachOf(const Table& table, const Look& look) {
  size_t next = 0;
  size_t buckets = 0;
  do {
    const bool looked = inspect([&] {
      // The table has grown, and its order is another: all over again.
      if (std::exchange(buckets, table.bucket_count()) != table.bucket_count()) next = 0;
      const size_t end = std::min(buckets, next + kSliceBuckets);
      for (; next < end; ++next) {
        for (auto it = table.begin(next); it != table.end(next); ++it) look(it->second);
      }
    });
    if (!looked) return false;
  } while (next < buckets);
  return true;
}

bool ActiveTerm::eachLiveTask(const std::function<void(const LiveTask&)>& look) {
  return eachOf(live_.tasks, look);
}

bool ActiveTerm::eachLiveRun(const std::function<void(const LiveRun&)>& look) {
  return eachOf(flows_.runs, look);
}

bool ActiveTerm::awaitCommits(Millis limit) {
  const auto durable = std::make_shared<std::promise<void>>();
  dispatcher_.post([this, durable] {
    Operation operation;
    operation.then([durable] { durable->set_value(); });
    writer_.submit(std::move(operation));
  });
  return durable->get_future().wait_for(limit) == std::future_status::ready;
}

std::vector<std::shared_ptr<const FlowVersion>> ActiveTerm::newestVersions(
    const std::vector<std::string>& keys) {
  auto versions = findNewestVersions(keys);
  if (!versions) versions.emplace(keys.size());
  return std::move(*versions);
}

std::optional<std::vector<std::shared_ptr<const FlowVersion>>> ActiveTerm::findNewestVersions(
    const std::vector<std::string>& keys) {
  struct Found {
    std::shared_ptr<const FlowVersion> version;
    FlowState::Unread unread;
  };
  const auto found = std::make_shared<std::vector<Found>>(keys.size());
  const bool looked = inspect([this, found, keys] {
    for (size_t i = 0; i < keys.size(); ++i) {
      const LiveFlow* flow = flows_.findFlow(keys[i]);
      if (flow != nullptr) (*found)[i] = {flow->newest, FlowState::unreadOf(*flow)};
    }
  });
  if (!looked) return std::nullopt;
  std::vector<std::shared_ptr<const FlowVersion>> versions(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    Found& one = (*found)[i];
    if (one.version == nullptr && one.unread.text != nullptr) {
      auto read = readFlowVersion(one.unread.flow, one.unread.number, *one.unread.text);
      if (read.ok()) one.version = *read;
      dispatcher_.post([this, key = keys[i], number = one.unread.number, read = std::move(read)] {
        flows_.learn(key, number, read);
      });
    }
    versions[i] = one.version;
  }
  return versions;
}

Status ActiveTerm::readAhead(const std::function<std::vector<std::string>()>& unread) {
  const BootTime until = environment_.clock.bootNow() + kReadAheadMax;
  while (true) {
    const auto keys = std::make_shared<std::vector<std::string>>();
    if (!inspect([&unread, keys] { *keys = unread(); })) {
      return Error(ErrorCode::Overloaded, "the master is busy; repeat in a moment");
    }
    if (keys->empty()) return {};
    for (size_t i = 0; i < keys->size(); ++i) {
      if (environment_.clock.bootNow() > until) {
        return Error::make(ErrorCode::Overloaded,
                           "{} definitions that this is about are still to be read since the "
                           "takeover; repeat in a moment",
                           keys->size() - i);
      }
      newestVersions({(*keys)[i]});
    }
  }
}

void ActiveTerm::readLargeFlows(std::stop_token stop) {
  // The planner needs those first that are due first.
  const auto found = std::make_shared<std::vector<std::pair<WallTime, std::string>>>();
  const bool looked = inspect([this, found] {
    for (const auto& [key, flow] : flows_.flows) {
      if (flow.text == nullptr || flow.text->size() <= kLargeText) continue;
      const WallTime next_at = flow.record.next_at;
      found->emplace_back(next_at == WallTime{} ? WallTime::max() : next_at, key);
    }
  });
  if (!looked) return;  // Whoever needs one reads it.
  std::sort(found->begin(), found->end());
  for (const auto& [next_at, key] : *found) {
    if (stop.stop_requested()) return;
    newestVersions({key});
  }
}

}  // namespace baton::master
