#include "ha/epoch_poller.h"

#include <utility>

namespace baton::ha {

EpochPoller::EpochPoller(EpochStoreFactory make_store, std::function<void(Event)> sink)
    : make_store_(std::move(make_store)),
      sink_(std::move(sink)),
      thread_("ha_poller", [this](std::stop_token stop) { run(stop); }) {}

EpochPoller::~EpochPoller() { thread_.requestStopAndJoin(); }

void EpochPoller::probe(uint64_t id) {
  const std::lock_guard lock(mutex_);
  wanted_.push_back(id);
  wake_.notify_one();
}

void EpochPoller::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, stop, [this] { return !wanted_.empty(); });
    if (stop.stop_requested()) return;
    const uint64_t id = wanted_.front();
    wanted_.pop_front();
    lock.unlock();
    sink_(read(id));
    lock.lock();
  }
}

ProbeReply EpochPoller::read(uint64_t id) {
  ProbeReply reply;
  reply.id = id;
  const auto fail = [&](const Error& error) {
    reply.error = error.code();
    reply.message = error.message();
    return reply;
  };
  if (!store_) {
    Result<std::unique_ptr<dao::EpochStore>> made = make_store_();
    if (!made.ok()) return fail(made.error());
    store_ = std::move(made).value();
  }
  const Result<dao::EpochRow> row = store_->read();
  if (!row.ok()) return fail(row.error());
  reply.row = *row;
  reply.cluster_guid = row->cluster_guid;
  if (!reply.cluster_guid.empty()) return reply;
  const Result<dao::ClusterRow> cluster = store_->readCluster();
  if (!cluster.ok()) return fail(cluster.error());
  reply.cluster_guid = cluster->guid;
  return reply;
}

}  // namespace baton::ha
