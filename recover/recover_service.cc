#include "recover/recover_service.h"

#include <deque>
#include <iterator>
#include <memory>
#include <set>
#include <unordered_map>

#include "common/base/named_thread.h"

namespace baton::recover {
namespace {

constexpr uint32_t kCallbackPage = 5'000;
constexpr uint32_t kCalendarPage = 100;
constexpr size_t kChunkTasks = 1'024;

}  // namespace

struct RecoverService::Range {
  dao::LiveRange ids;
  std::unique_ptr<dao::Reader> reader;
  std::deque<std::vector<RecoveredTask>> chunks;  // None ever grows beyond its first allocation.
  std::vector<RecoveredTask*> dispatched;         // Their specifications are needed.
  std::deque<std::string> texts;                  // Owns the policies that tasks point to.
  std::unordered_map<std::string_view, const std::string*> by_text;
  Status result;

  RecoveredTask& add() {
    if (chunks.empty() || chunks.back().size() == kChunkTasks) {
      chunks.emplace_back().reserve(kChunkTasks);
    }
    return chunks.back().emplace_back();
  }
  size_t size() const {
    return chunks.empty() ? 0 : (chunks.size() - 1) * kChunkTasks + chunks.back().size();
  }
  const std::string* intern(std::string_view text) {
    if (const auto it = by_text.find(text); it != by_text.end()) return it->second;
    const std::string* stored = &texts.emplace_back(text);
    by_text.emplace(*stored, stored);
    return stored;
  }
};

// Flows and what is live of them; read while the tasks are.
struct RecoverService::Flows {
  std::unique_ptr<dao::Reader> reader;
  std::vector<CalendarRecord> calendars;
  std::vector<ParamRecord> params;
  std::vector<dao::FlowRow> flows;
  std::vector<FlowVersionRecord> older;
  std::vector<BackfillRecord> backfills;
  std::vector<RunRecord> runs;
  Status result;
};

Status RecoverService::readRange(Range& range, std::stop_token stop) {
  RETURN_IF_ERROR(range.reader->liveTasks(range.ids, [&](const dao::LiveTask& live) {
    RecoveredTask& task = range.add();
    task.state = live.state;
    task.policy = range.intern(live.policy);
    task.created_at = live.created_at;
    if (live.open_attempt) task.attempt = std::make_unique<AttemptRecord>(*live.open_attempt);
    if (live.state.status == TaskStatus::Dispatched) range.dispatched.push_back(&task);
    return !stop.stop_requested();
  }));
  return readSpecs(range);
}

Status RecoverService::readSpecs(Range& range) {
  if (range.dispatched.empty()) return {};
  std::vector<TaskId> ids;
  std::unordered_map<TaskId, RecoveredTask*> index;
  for (RecoveredTask* task : range.dispatched) {
    ids.push_back(task->state.id);
    index.emplace(ids.back(), task);
  }
  ASSIGN_OR_RETURN(auto specs, range.reader->specs(ids));
  for (auto& [id, text] : specs) index.at(id)->spec = std::move(text);
  return {};
}

Status RecoverService::takeCallbacks(RecoverySink& sink, RecoveryCounts& counts,
                                     std::stop_token stop) {
  const auto reader = database_.makeReader();
  uint64_t after = 0;
  while (true) {
    if (stop.stop_requested()) return Error(ErrorCode::Cancelled, "recovery was stopped");
    ASSIGN_OR_RETURN(const auto page, reader->pendingOutbox(after, kCallbackPage));
    for (const OutboxRecord& callback : page) sink.addCallback(callback);
    counts.callbacks += page.size();
    if (page.size() < kCallbackPage) return {};
    after = page.back().id;
  }
}

Status RecoverService::readFlows(Flows& into, std::stop_token stop) {
  for (std::string after;;) {
    ASSIGN_OR_RETURN(auto page, into.reader->calendars(true, after, kCalendarPage));
    if (!page.items.empty()) after = page.items.back().key();
    std::move(page.items.begin(), page.items.end(), std::back_inserter(into.calendars));
    if (!page.more) break;
  }
  ASSIGN_OR_RETURN(into.params, into.reader->params(true));
  using Version = std::pair<std::string, uint32_t>;
  std::set<Version> older;  // Of live runs; those that are no flow's newest will stay.
  RETURN_IF_ERROR(into.reader->liveRuns([&](const RunRecord& run) {
    older.emplace(nameKey(run.flow), run.version);
    into.runs.push_back(run);
    return !stop.stop_requested();
  }));
  RETURN_IF_ERROR(into.reader->allFlows([&](dao::FlowRow flow) {
    if (!flow.record.deleted) older.erase({flow.record.key(), flow.record.version});
    into.flows.push_back(std::move(flow));
    return !stop.stop_requested();
  }));
  for (const auto& [key, number] : older) {
    if (stop.stop_requested()) return Error(ErrorCode::Cancelled, "recovery was stopped");
    ASSIGN_OR_RETURN(auto version, into.reader->flowVersion(key, number));
    if (version) into.older.push_back(std::move(*version));
  }
  ASSIGN_OR_RETURN(into.backfills, into.reader->liveBackfills());
  return {};
}

Status RecoverService::takeFlows(Flows& flows, RecoverySink& sink, RecoveryCounts& counts,
                                 std::stop_token stop) {
  const auto each = [&stop](auto& rows, auto take) -> Status {
    for (auto& row : rows) {
      if (stop.stop_requested()) return Error(ErrorCode::Cancelled, "recovery was stopped");
      RETURN_IF_ERROR(take(row));
    }
    return {};
  };
  for (const CalendarRecord& calendar : flows.calendars) sink.addCalendar(calendar);
  for (const ParamRecord& param : flows.params) sink.addParam(param);
  counts.flows = flows.flows.size();
  counts.runs = flows.runs.size();
  sink.expectFlows(flows.flows.size());
  RETURN_IF_ERROR(
      each(flows.flows, [&](dao::FlowRow& flow) { return sink.addFlow(std::move(flow)); }));
  RETURN_IF_ERROR(
      each(flows.older, [&](FlowVersionRecord& version) { return sink.addVersion(version); }));
  for (const BackfillRecord& backfill : flows.backfills) sink.addBackfill(backfill);
  RETURN_IF_ERROR(sink.readDefinitions(flows.runs, threads_, stop));
  return each(flows.runs, [&](RunRecord& run) { return sink.addRun(run); });
}

Status RecoverService::takeRunTasks(RecoverySink& sink, std::stop_token stop) {
  Status taken;
  const Status read = database_.makeReader()->tasksOfLiveRuns([&](const TaskRecord& task) {
    taken = stop.stop_requested() ? Status(Error(ErrorCode::Cancelled, "recovery was stopped"))
                                  : sink.addRunTask(task);
    return taken.ok();
  });
  return taken.ok() ? read : taken;
}

Status RecoverService::takeTasks(Range& range, RecoverySink& sink, RecoveryCounts& counts,
                                 std::stop_token stop) {
  counts.tasks += range.size();
  for (; !range.chunks.empty(); range.chunks.pop_front()) {
    if (stop.stop_requested()) return Error(ErrorCode::Cancelled, "recovery was stopped");
    for (RecoveredTask& task : range.chunks.front()) {
      counts.attempts_in_doubt += task.attempt != nullptr ? 1 : 0;
      RETURN_IF_ERROR(sink.addTask(std::move(task)));
    }
  }
  return {};
}

Result<RecoveryCounts> RecoverService::recover(RecoverySink& sink, std::stop_token stop) {
  RecoveryCounts counts;
  const auto first_reader = database_.makeReader();
  ASSIGN_OR_RETURN(const auto parts, first_reader->liveRanges(threads_));
  std::vector<Range> ranges(parts.size());
  std::vector<NamedThread> threads;
  for (size_t i = 0; i < ranges.size(); ++i) {
    Range& range = ranges[i];
    range.ids = parts[i];
    range.reader = database_.makeReader();
    threads.emplace_back("recover", [this, &range, stop](std::stop_token) {
      range.result = readRange(range, stop);
    });
  }
  Flows flows;
  flows.reader = database_.makeReader();
  NamedThread flow_thread(
      "recover flows", [&flows, stop](std::stop_token) { flows.result = readFlows(flows, stop); });
  // While the ranges are read, the runners are; while later ranges are, earlier ones go in.
  ASSIGN_OR_RETURN(const auto settings, first_reader->settings());
  for (const SettingRecord& setting : settings) sink.addSetting(setting);
  ASSIGN_OR_RETURN(const auto hosts, first_reader->hosts());
  for (const HostRecord& host : hosts) sink.addHost(host);
  ASSIGN_OR_RETURN(const auto limits, first_reader->limits());
  for (const LimitRecord& limit : limits) sink.addLimit(limit);
  ASSIGN_OR_RETURN(const auto runners, first_reader->runners());
  for (const RunnerRecord& runner : runners) sink.addRunner(runner);
  counts.runners = runners.size();
  flow_thread.requestStopAndJoin();
  RETURN_IF_ERROR(flows.result);
  RETURN_IF_ERROR(takeFlows(flows, sink, counts, stop));
  for (size_t i = 0; i < ranges.size(); ++i) {
    threads[i].requestStopAndJoin();
    RETURN_IF_ERROR(ranges[i].result);
    if (i == 0) sink.expect(ranges[i].size() * ranges.size());
    RETURN_IF_ERROR(takeTasks(ranges[i], sink, counts, stop));
  }
  RETURN_IF_ERROR(takeCallbacks(sink, counts, stop));
  RETURN_IF_ERROR(takeRunTasks(sink, stop));
  RETURN_IF_ERROR(sink.finish());
  return counts;
}

}  // namespace baton::recover
