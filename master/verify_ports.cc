// Compares what the active master holds in memory with the database, and has it read anew.
#include <map>
#include <unordered_map>

#include "master/answered_once.h"
#include "master/master_ports.h"
#include "master/state/audit.h"

namespace baton::master {
namespace {

constexpr size_t kDifferencesShown = 100;

// What is compared of a task or a run. The number is that of the attempt, or of the reruns.
struct Seen {
  std::string_view status;
  int32_t number = 0;
  bool operator==(const Seen&) const = default;
};
using Snapshot = std::unordered_map<uint64_t, Seen>;

// Memory before and after the database was read. What changes between the two looks differs by
// chance, so a difference counts only if memory said the same both times.
struct Looks {
  Snapshot before;
  Snapshot stored;
  Snapshot after;
};

Error notInTime() {
  return Error(ErrorCode::DeadlineExceeded, "the dispatcher did not answer in time");
}

Status awaitDurable(ActiveTerm& term) {
  if (term.awaitCommits()) return {};
  return Error(ErrorCode::DeadlineExceeded, "what was decided did not become durable in time");
}

void addDifference(api::VerifyView& view, std::string text) {
  ++view.differences_total;
  if (view.differences.size() < kDifferencesShown) view.differences.push_back(std::move(text));
}

// Adds what differs, but for rows that memory does not know: their ids are returned.
std::vector<uint64_t> compare(std::string_view noun, std::string_view counted, const Looks& looks,
                              api::VerifyView& view) {
  for (const auto& [id, seen] : looks.before) {
    const auto later = looks.after.find(id);
    if (later == looks.after.end() || later->second != seen) continue;
    const auto row = looks.stored.find(id);
    if (row == looks.stored.end()) {
      addDifference(view, fmt::format("{} {}: {} in memory, not live in the database", noun, id,
                                      seen.status));
    } else if (row->second != seen) {
      addDifference(view, fmt::format("{} {}: {} {} {} in memory, {} {} {} in the database", noun,
                                      id, seen.status, counted, seen.number, row->second.status,
                                      counted, row->second.number));
    }
  }
  std::vector<uint64_t> unknown;
  for (const auto& [id, row] : looks.stored) {
    if (!looks.before.contains(id) && !looks.after.contains(id)) unknown.push_back(id);
  }
  return unknown;
}

void addUnknown(std::string_view noun, const std::vector<uint64_t>& unknown, const Looks& looks,
                api::VerifyView& view) {
  for (const uint64_t id : unknown) {
    addDifference(view, fmt::format("{} {}: {} in the database, unknown in memory", noun, id,
                                    looks.stored.at(id).status));
  }
}

Seen seenOf(const TaskState& state) { return {toString(state.status), state.attempt}; }
Seen seenOf(const RunState& state) { return {toString(state.status), state.reruns}; }

}  // namespace

Result<api::VerifyView> MasterPorts::verify() {
  ASSIGN_OR_RETURN(const auto term, activeTerm());
  api::VerifyView view;
  RETURN_IF_ERROR(verifyTasks(*term, view));
  RETURN_IF_ERROR(verifyRuns(*term, view));
  return view;
}

void MasterPorts::sync(api::Request request, api::Callback<api::SyncBegun> done) {
  done = answeredOnce<api::SyncBegun>(std::move(done));
  const auto term = activeTerm();
  if (!term.ok()) return done(term.error());
  ha::Failover* const failover = failover_.load();
  if (const auto state = failover->stats().state; state != ha::FailoverState::Active) {
    return done(Error::make(ErrorCode::Conflict,
                            "this master is {}: nobody could take the role that it would give up",
                            ha::toString(state)));
  }
  const std::string why = doneBy("sync was asked for", request);
  (*term)->recordSync(std::move(request),
                      [done = std::move(done), failover, why](Result<api::SyncBegun> begun) {
                        const bool ok = begun.ok();
                        done(std::move(begun));
                        if (ok) failover->handOver(why);
                      });
}

Status MasterPorts::verifyTasks(ActiveTerm& term, api::VerifyView& view) {
  const BootTime began = clock_.bootNow();
  Looks looks;
  std::map<TaskId, RunId> left_behind;  // Live tasks of runs that have ended: never right.
  const auto look = [&term, &left_behind](Snapshot& into) {
    return term.eachLiveTask([&](const LiveTask& task) {
      into.insert_or_assign(task.state.id, seenOf(task.state));
      if (task.part && !term.flows().runs.contains(task.part->run)) {
        left_behind.emplace(task.state.id, task.part->run);
      }
    });
  };
  if (!look(looks.before)) return notInTime();
  RETURN_IF_ERROR(awaitDurable(term));
  RETURN_IF_ERROR(readers_.with([&](dao::Reader& reader) {
    return reader.liveTasks({}, [&](const dao::LiveTask& task) {
      looks.stored.emplace(task.state.id, seenOf(task.state));
      return true;
    });
  }));
  if (!look(looks.after)) return notInTime();
  view.tasks_compared = looks.before.size();
  for (const auto& [id, run] : left_behind) {
    addDifference(view, fmt::format("task {}: live, but its run {} has ended", id, run));
  }
  std::vector<uint64_t> unknown = compare("task", "attempt", looks, view);
  // A short one may have come and gone between the two looks.
  const bool looked = term.inspect([&] {
    const LiveState& live = term.live();
    std::erase_if(unknown, [&](TaskId id) {
      const auto ended = live.recently_ended.find(id);
      return live.tasks.contains(id) ||
             (ended != live.recently_ended.end() && ended->second.mayBeMissingIn(began));
    });
  });
  if (!looked) return notInTime();
  addUnknown("task", unknown, looks, view);
  return {};
}

Status MasterPorts::verifyRuns(ActiveTerm& term, api::VerifyView& view) {
  Looks looks;
  const auto look = [&term](Snapshot& into) {
    return term.eachLiveRun([&into](const LiveRun& run) {
      into.insert_or_assign(run.record.state.id, seenOf(run.record.state));
    });
  };
  const auto read = [this](Snapshot& into) {
    return readers_.with([&into](dao::Reader& reader) {
      return reader.liveRuns([&into](const RunRecord& run) {
        into.insert_or_assign(run.state.id, seenOf(run.state));
        return true;
      });
    });
  };
  if (!look(looks.before)) return notInTime();
  RETURN_IF_ERROR(awaitDurable(term));
  RETURN_IF_ERROR(read(looks.stored));
  if (!look(looks.after)) return notInTime();
  view.runs_compared = looks.before.size();
  std::vector<uint64_t> unknown = compare("run", "rerun", looks, view);
  if (unknown.empty()) return {};
  // A short one may have come and gone between the two looks; its end is durable by then.
  RETURN_IF_ERROR(awaitDurable(term));
  Snapshot again;
  RETURN_IF_ERROR(read(again));
  const bool looked = term.inspect([&] {
    std::erase_if(unknown,
                  [&](RunId id) { return !again.contains(id) || term.flows().runs.contains(id); });
  });
  if (!looked) return notInTime();
  addUnknown("run", unknown, looks, view);
  return {};
}

}  // namespace baton::master
