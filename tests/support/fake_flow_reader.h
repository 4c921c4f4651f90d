#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fake_flow_tables.h"

namespace baton::test {

// The flow part of a reader.
class FakeFlowReader : public dao::Reader {
 public:
  using Tasks = std::map<TaskId, TaskRecord>;

  Result<std::optional<dao::FlowRow>> flow(std::string_view key) override {
    std::optional<dao::FlowRow> found;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      const auto it = tables.flows.find(std::string(key));
      if (it != tables.flows.end() && !it->second.deleted) found = rowOf(tables, it->second, true);
    }));
    return found;
  }
  Result<dao::PageOf<dao::FlowRow>> flows(const dao::FlowFilter& filter, std::string_view after,
                                          uint32_t limit) override {
    dao::PageOf<dao::FlowRow> page;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      for (const auto& [key, flow] : tables.flows) {
        if (key > after && matches(filter, flow)) put(page, rowOf(tables, flow, false), limit);
      }
    }));
    return page;
  }
  Result<uint64_t> countFlows(const dao::FlowFilter& filter) override {
    uint64_t count = 0;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      for (const auto& [key, flow] : tables.flows) count += matches(filter, flow) ? 1 : 0;
    }));
    return count;
  }
  Result<std::optional<CalendarRecord>> calendar(std::string_view key) override {
    std::optional<CalendarRecord> found;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      const auto it = tables.calendars.find(std::string(key));
      if (it != tables.calendars.end() && !it->second.deleted) found = it->second;
    }));
    return found;
  }
  Result<dao::PageOf<CalendarRecord>> calendars(bool deleted_too, std::string_view after,
                                                uint32_t limit) override {
    dao::PageOf<CalendarRecord> page;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      for (const auto& [key, calendar] : tables.calendars) {
        if (key > after && (deleted_too || !calendar.deleted))
          put(page, CalendarRecord(calendar), limit);
      }
    }));
    return page;
  }
  Result<std::vector<ParamRecord>> params(bool deleted_too) override {
    std::vector<ParamRecord> found;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      for (const auto& [name, param] : tables.params) {
        if (deleted_too || !param.deleted) found.push_back(param);
      }
    }));
    return found;
  }
  Result<dao::PageOf<AuditRecord>> audit(const dao::AuditFilter& filter, uint64_t before,
                                         uint32_t limit) override {
    dao::PageOf<AuditRecord> page;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      for (auto row = tables.audit.rbegin(); row != tables.audit.rend(); ++row) {
        const bool wanted = filter.action.empty() || row->action == filter.action;
        if (wanted && (before == 0 || row->id < before)) put(page, *row, limit);
      }
    }));
    return page;
  }
  Result<uint64_t> countAudit(const dao::AuditFilter& filter) override {
    ASSIGN_OR_RETURN(const auto all, audit(filter, 0, UINT32_MAX));
    return all.items.size();
  }
  Result<std::optional<FlowVersionRecord>> flowVersion(std::string_view key,
                                                       uint32_t version) override {
    std::optional<FlowVersionRecord> found;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      const auto it = tables.flow_versions.find({std::string(key), version});
      if (it != tables.flow_versions.end()) found = it->second;
    }));
    return found;
  }
  Result<dao::PageOf<FlowVersionRecord>> flowVersions(std::string_view key, uint32_t before,
                                                      uint32_t limit) override {
    dao::PageOf<FlowVersionRecord> page;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      for (auto it = tables.flow_versions.rbegin(); it != tables.flow_versions.rend(); ++it) {
        if (it->first.first != key || (before != 0 && it->first.second >= before)) continue;
        FlowVersionRecord version = it->second;
        version.text.clear();
        put(page, std::move(version), limit);
      }
    }));
    return page;
  }

  Result<std::optional<RunRecord>> run(RunId id) override {
    std::optional<RunRecord> found;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      const auto it = tables.runs.find(id);
      if (it != tables.runs.end()) found = it->second;
    }));
    return found;
  }
  Result<dao::PageOf<RunRecord>> runs(const dao::RunFilter& filter, RunId before,
                                      uint32_t limit) override {
    dao::PageOf<RunRecord> page;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      for (auto it = tables.runs.rbegin(); it != tables.runs.rend(); ++it) {
        if ((before != 0 && it->first >= before) || !matches(filter, it->second)) continue;
        put(page, withoutParams(it->second), limit);
      }
    }));
    return page;
  }
  Result<std::map<RunStatus, uint64_t>> runCounts() override {
    std::map<RunStatus, uint64_t> counts;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      for (const auto& [id, run] : tables.runs) ++counts[run.state.status];
    }));
    return counts;
  }
  Result<uint64_t> countRuns(const dao::RunFilter& filter) override {
    uint64_t count = 0;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      for (const auto& [id, run] : tables.runs) count += matches(filter, run) ? 1 : 0;
    }));
    return count;
  }
  Result<std::vector<TaskRecord>> tasksOfRun(RunId id) override {
    std::vector<TaskRecord> found;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks& tasks) {
      for (const auto& [task_id, task] : tasks) {
        if (task.run_id != id) continue;
        found.push_back(task);
        found.back().spec.clear();
        found.back().flow = flowOf(tables, id);
      }
    }));
    return found;
  }
  Result<std::vector<RunRecord>> runsPlanned(std::string_view key, WallTime from, WallTime before,
                                             uint32_t limit) override {
    std::vector<RunRecord> found;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      found = planned(tables, key, from, before, limit);
    }));
    return found;
  }
  Result<std::vector<TaskRecord>> tasksPlanned(std::string_view key, std::string_view name,
                                               WallTime from, WallTime before,
                                               uint32_t limit) override {
    std::vector<TaskRecord> found;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks& tasks) {
      for (const RunRecord& run : planned(tables, key, from, before, limit)) {
        for (const auto& [task_id, task] : tasks) {
          if (task.run_id != run.state.id || task.name != name) continue;
          found.push_back(task);
          found.back().spec.clear();
          found.back().outputs.clear();
          found.back().flow = run.flow;
        }
      }
    }));
    return found;
  }

  Result<dao::PageOf<MissedRecord>> missed(const dao::MissedFilter& filter, WallTime before,
                                           std::string_view before_key, uint32_t limit) override {
    dao::PageOf<MissedRecord> page;
    const std::string& key = filter.flow;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      for (auto it = tables.missed.rbegin(); it != tables.missed.rend(); ++it) {
        const auto& [plan_time, flow_key] = it->first;
        if (!matches(filter, flow_key, it->second)) continue;
        if (!isOfThisFlow(tables, flow_key, it->second)) continue;
        const bool behind =
            plan_time < before || (key.empty() && plan_time == before && flow_key < before_key);
        if (before == WallTime{} || behind) put(page, MissedRecord(it->second), limit);
      }
    }));
    return page;
  }
  Result<uint64_t> countMissed(const dao::MissedFilter& filter) override {
    ASSIGN_OR_RETURN(const auto all, missed(filter, {}, {}, UINT32_MAX));
    return all.items.size();
  }
  Result<WallTime> lastSuccess(std::string_view key, WallTime before) override {
    WallTime found{};
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      for (const auto& [id, run] : tables.runs) {
        const bool counts = nameKey(run.flow) == key && run.plan_time < before &&
                            run.state.status == RunStatus::Finished;
        if (counts) found = std::max(found, run.plan_time);
      }
    }));
    return found;
  }

  Result<std::optional<MissedRecord>> missedInstant(std::string_view key,
                                                    WallTime plan_time) override {
    std::optional<MissedRecord> found;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      const auto it = tables.missed.find({plan_time, std::string(key)});
      if (it != tables.missed.end() && isOfThisFlow(tables, it->first.second, it->second)) {
        found = it->second;
      }
    }));
    return found;
  }

  Result<std::optional<EventRecord>> event(std::string_view name, std::string_view key) override {
    std::optional<EventRecord> found;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      for (const auto& [id, event] : tables.events) {
        if (event.name == name && event.key == key) found = event;
      }
    }));
    return found;
  }
  Result<dao::PageOf<EventRecord>> events(const dao::EventFilter& filter, uint64_t before,
                                          uint32_t limit) override {
    dao::PageOf<EventRecord> page;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      for (auto it = tables.events.rbegin(); it != tables.events.rend(); ++it) {
        if ((before != 0 && it->first >= before) || !matches(filter, it->second)) continue;
        put(page, EventRecord(it->second), limit);
      }
    }));
    return page;
  }
  Result<uint64_t> countEvents(const dao::EventFilter& filter) override {
    ASSIGN_OR_RETURN(const auto all, events(filter, 0, UINT32_MAX));
    return all.items.size();
  }
  Result<std::vector<EventRecord>> eventsBetween(std::string_view name, WallTime from,
                                                 WallTime before, uint32_t limit) override {
    std::vector<EventRecord> found;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      for (const auto& [id, event] : tables.events) {
        if (event.name != name || event.happened_at < from || event.happened_at >= before) continue;
        found.push_back(event);
      }
    }));
    std::stable_sort(found.begin(), found.end(), [](const EventRecord& a, const EventRecord& b) {
      return a.happened_at < b.happened_at;
    });
    keepLast(found, limit);
    return found;
  }
  Result<std::optional<BackfillRecord>> backfill(uint64_t id) override {
    std::optional<BackfillRecord> found;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      const auto it = tables.backfills.find(id);
      if (it != tables.backfills.end()) found = it->second;
    }));
    return found;
  }

  Status allFlows(const std::function<bool(dao::FlowRow)>& take) override {
    std::vector<dao::FlowRow> found;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      for (const auto& [key, flow] : tables.flows) found.push_back(rowOf(tables, flow, true));
    }));
    return give(found, take);
  }
  Status liveRuns(const std::function<bool(const RunRecord&)>& take) override {
    std::vector<RunRecord> found;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      for (const auto& [id, run] : tables.runs) {
        if (!isTerminal(run.state.status)) found.push_back(run);
      }
    }));
    return give(found, take);
  }
  Status tasksOfLiveRuns(const std::function<bool(const TaskRecord&)>& take) override {
    std::vector<TaskRecord> found;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks& tasks) {
      for (const auto& [id, task] : tasks) {
        const auto run = tables.runs.find(task.run_id);
        if (run == tables.runs.end() || isTerminal(run->second.state.status)) continue;
        TaskRecord& taken = found.emplace_back();
        taken.name = task.name;
        taken.run_id = task.run_id;
        taken.outputs = task.outputs;
        taken.state = task.state;
      }
    }));
    std::stable_sort(found.begin(), found.end(),
                     [](const TaskRecord& a, const TaskRecord& b) { return a.run_id < b.run_id; });
    return give(found, take);
  }
  Result<std::vector<BackfillRecord>> liveBackfills() override {
    std::vector<BackfillRecord> found;
    RETURN_IF_ERROR(look([&](const FakeFlowTables& tables, const Tasks&) {
      for (const auto& [id, backfill] : tables.backfills) {
        const bool live = std::any_of(tables.runs.begin(), tables.runs.end(), [&](const auto& row) {
          return row.second.backfill == id && !isTerminal(row.second.state.status);
        });
        if (live) found.push_back(backfill);
      }
    }));
    return found;
  }

 protected:
  // Shows the tables under the lock. Errors: what the test wants reads to fail with.
  virtual Status look(
      const std::function<void(const FakeFlowTables& tables, const Tasks& tasks)>& see) = 0;

  static std::string flowOf(const FakeFlowTables& tables, RunId id) {
    const auto it = tables.runs.find(id);
    return it == tables.runs.end() ? std::string() : it->second.flow;
  }

 private:
  template <typename Row>
  static void put(dao::PageOf<Row>& page, Row row, uint32_t limit) {
    page.more = page.items.size() == limit;
    if (!page.more) page.items.push_back(std::move(row));
  }
  template <typename Row>
  static void keepLast(std::vector<Row>& rows, uint32_t limit) {
    if (rows.size() > limit) rows.erase(rows.begin(), rows.end() - limit);
  }
  template <typename Row, typename Take>
  static Status give(const std::vector<Row>& rows, const Take& take) {
    for (const Row& row : rows) {
      if (!take(row)) return Error(ErrorCode::Cancelled, "stopped");
    }
    return {};
  }
  static RunRecord withoutParams(RunRecord run) {
    run.params.clear();
    return run;
  }
  static dao::FlowRow rowOf(const FakeFlowTables& tables, const FlowRecord& flow, bool with_text) {
    dao::FlowRow row{.record = flow, .version = std::nullopt};
    const auto it = tables.flow_versions.find({flow.key(), flow.version});
    if (flow.deleted || it == tables.flow_versions.end()) return row;
    row.version = it->second;
    if (!with_text) row.version->text.clear();
    return row;
  }
  template <typename E>
  static bool isOneOf(const std::vector<E>& wanted, E value) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
  }
  static bool matches(const dao::RunFilter& filter, const RunRecord& run) {
    return (filter.flow.empty() || filter.flow == nameKey(run.flow)) &&
           isOneOf(filter.statuses, run.state.status) && isOneOf(filter.triggers, run.trigger) &&
           (filter.backfill == 0 || filter.backfill == run.backfill) &&
           (filter.parent_run == 0 || filter.parent_run == run.parent_run) &&
           (filter.trigger_key.empty() || filter.trigger_key == run.trigger_key) &&
           within(run.plan_time, filter.plan_from, filter.plan_before) &&
           (!filter.late || run.state.late) && isOneOf(filter.reasons, run.state.reason) &&
           nameKey(run.flow).find(nameKey(filter.text)) != std::string::npos &&
           (filter.principal.empty() || filter.principal == run.principal) &&
           within(run.created_at, filter.created_from, filter.created_before);
  }
  static bool matches(const dao::FlowFilter& filter, const FlowRecord& flow) {
    return !flow.deleted && (!filter.online || *filter.online == flow.online) &&
           flow.key().find(nameKey(filter.text)) != std::string::npos;
  }
  static bool isOfThisFlow(const FakeFlowTables& tables, const std::string& key,
                           const MissedRecord& missed) {
    const auto flow = tables.flows.find(key);
    return flow == tables.flows.end() || flow->second.created_at <= missed.recorded_at;
  }
  static bool matches(const dao::MissedFilter& filter, const std::string& key,
                      const MissedRecord& missed) {
    return (filter.flow.empty() || filter.flow == key) &&
           key.find(nameKey(filter.text)) != std::string::npos &&
           isOneOf(filter.reasons, missed.reason) &&
           within(missed.plan_time, filter.plan_from, filter.plan_before);
  }
  static bool matches(const dao::EventFilter& filter, const EventRecord& event) {
    return (filter.name.empty() || filter.name == event.name) &&
           event.name.find(filter.text) != std::string::npos &&
           (filter.key.empty() || filter.key == event.key) &&
           within(event.happened_at, filter.happened_from, filter.happened_before);
  }
  static bool within(WallTime time, WallTime from, WallTime before) {
    return (from == WallTime{} || time >= from) && (before == WallTime{} || time < before);
  }
  static std::vector<RunRecord> planned(const FakeFlowTables& tables, std::string_view key,
                                        WallTime from, WallTime before, uint32_t limit) {
    std::vector<RunRecord> found;
    for (const auto& [id, run] : tables.runs) {
      if (nameKey(run.flow) != key || run.plan_time < from || run.plan_time >= before) continue;
      found.push_back(withoutParams(run));
    }
    std::stable_sort(found.begin(), found.end(), [](const RunRecord& a, const RunRecord& b) {
      return a.plan_time < b.plan_time;
    });
    keepLast(found, limit);
    return found;
  }
};

}  // namespace baton::test
