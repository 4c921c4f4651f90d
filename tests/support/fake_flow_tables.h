#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dao/audit_rows.h"
#include "dao/fenced_txn.h"
#include "dao/flow_row_encoder.h"
#include "dao/reader.h"

namespace baton::test {

// Takes any row: only the encoder's own checks of the columns are wanted.
class NoBatch final : public dao::SqlBatch {
 public:
  dao::SqlBatch& integer(int64_t) override { return *this; }
  dao::SqlBatch& natural(uint64_t) override { return *this; }
  dao::SqlBatch& text(std::string_view) override { return *this; }
  dao::SqlBatch& null() override { return *this; }
  Status endRow(const dao::RowKey&) override { return {}; }
  Status finish() override { return {}; }
};
// Why one of the rows does not fit its columns; empty if all do.
template <typename Rows, typename Put>
std::string whyUnfit(const Rows& rows, const Put& put) {
  NoBatch nowhere;
  dao::RowEncoder encoder(nowhere, "row", {});
  for (const auto& row : rows) {
    if (const Status fits = put(encoder, row); !fits.ok()) return fits.text();
  }
  return {};
}

// The tables of flows, runs and events of a FakeDatabase.
struct FakeFlowTables {
  std::map<std::string, FlowRecord> flows;  // By key.
  std::map<std::pair<std::string, uint32_t>, FlowVersionRecord> flow_versions;
  std::map<RunId, RunRecord> runs;
  std::map<std::pair<WallTime, std::string>, MissedRecord> missed;  // By plan time and flow's key.
  std::map<uint64_t, EventRecord> events;
  std::map<uint64_t, BackfillRecord> backfills;
  std::map<std::string, CalendarRecord> calendars;  // By key.
  std::map<std::string, ParamRecord> params;
  std::vector<AuditRecord> audit;  // In the order of their ids.
};

// What one transaction does to them.
struct FakeFlowChanges {
  std::vector<FlowRecord> flows;
  std::vector<FlowVersionRecord> flow_versions;
  std::vector<RunRecord> runs;
  std::vector<RunState> run_states;
  std::vector<MissedRecord> missed;
  std::vector<EventRecord> events;
  std::vector<BackfillRecord> backfills;
  std::vector<CalendarRecord> calendars;
  std::vector<ParamRecord> params;
  std::vector<AuditRecord> audit;
  size_t audit_purged = 0;  // The oldest.
};

using FakeRunOnce = std::tuple<std::string, RunTrigger, std::string>;
inline FakeRunOnce runOnceOf(const RunRecord& run) {
  return {nameKey(run.flow), run.trigger, run.trigger_key};
}

// Why a real schema would refuse the changes; empty: it takes them. Nothing is changed.
inline std::string whyRefused(const FakeFlowTables& tables, const FakeFlowChanges& changes) {
  for (std::string why :
       {whyUnfit(changes.flows, dao::putFlow), whyUnfit(changes.flow_versions, dao::putFlowVersion),
        whyUnfit(changes.runs, dao::putRun), whyUnfit(changes.missed, dao::putMissed),
        whyUnfit(changes.events, dao::putEvent), whyUnfit(changes.backfills, dao::putBackfill),
        whyUnfit(changes.calendars, dao::putCalendar), whyUnfit(changes.params, dao::putParam),
        whyUnfit(changes.runs, dao::putRunParams), whyUnfit(changes.audit, dao::putAudit)}) {
    if (!why.empty()) return why;
  }
  for (const FlowVersionRecord& row : changes.flow_versions) {
    if (tables.flow_versions.contains({nameKey(row.flow), row.version})) {
      return fmt::format("version {} of flow {} is there already", row.version, row.flow);
    }
  }
  std::map<FakeRunOnce, RunId> once;
  if (!changes.runs.empty()) {
    for (const auto& [id, run] : tables.runs) once.emplace(runOnceOf(run), id);
  }
  std::map<RunId, bool> added;
  for (const RunRecord& row : changes.runs) {
    const RunId id = row.state.id;
    if (tables.runs.contains(id) || !added.try_emplace(id).second) {
      return fmt::format("run {} is there twice", id);
    }
    const auto [other, first] = once.emplace(runOnceOf(row), id);
    if (!first) {
      return fmt::format("run {} of flow {} ({} {}) is run {} already", id, row.flow,
                         toString(row.trigger), row.trigger_key, other->second);
    }
  }
  for (const RunState& row : changes.run_states) {
    if (!tables.runs.contains(row.id) && !added.contains(row.id)) {
      return fmt::format("there is no run {}", row.id);
    }
  }
  std::map<std::pair<std::string, std::string>, uint64_t> known;
  if (!changes.events.empty()) {
    for (const auto& [id, event] : tables.events)
      known.emplace(std::pair(event.name, event.key), id);
  }
  for (const EventRecord& row : changes.events) {
    if (tables.events.contains(row.id) ||
        !known.emplace(std::pair(row.name, row.key), row.id).second) {
      return fmt::format("event {} ({}, {}) is there already", row.id, row.name, row.key);
    }
  }
  for (const BackfillRecord& row : changes.backfills) {
    if (tables.backfills.contains(row.id)) return fmt::format("backfill {} is there twice", row.id);
  }
  return {};
}

// Changes that nothing speaks against.
inline void applyChanges(FakeFlowTables& tables, FakeFlowChanges& changes) {
  for (FlowRecord& row : changes.flows) tables.flows[row.key()] = std::move(row);
  for (FlowVersionRecord& row : changes.flow_versions) {
    tables.flow_versions.emplace(std::pair(nameKey(row.flow), row.version), row);
  }
  for (RunRecord& row : changes.runs) tables.runs.emplace(row.state.id, std::move(row));
  for (RunState& row : changes.run_states) tables.runs.at(row.id).state = std::move(row);
  for (MissedRecord& row : changes.missed) {
    tables.missed[{row.plan_time, nameKey(row.flow)}] = std::move(row);
  }
  for (EventRecord& row : changes.events) tables.events.emplace(row.id, std::move(row));
  for (BackfillRecord& row : changes.backfills) tables.backfills.emplace(row.id, std::move(row));
  for (CalendarRecord& row : changes.calendars) tables.calendars[row.key()] = std::move(row);
  for (ParamRecord& row : changes.params) tables.params[row.name] = std::move(row);
  tables.audit.erase(tables.audit.begin(),
                     tables.audit.begin() + static_cast<ptrdiff_t>(changes.audit_purged));
  for (AuditRecord& row : changes.audit) {
    row.id = tables.audit.empty() ? 1 : tables.audit.back().id + 1;
    tables.audit.push_back(std::move(row));
  }
}

// The flow part of a transaction: gathers rows.
class FakeFlowTxn : public dao::FencedTxn {
 public:
  Status storeFlows(std::span<const FlowRecord> rows) override {
    return gather(flow_changes_.flows, rows);
  }
  Status insertFlowVersions(std::span<const FlowVersionRecord> rows) override {
    return gather(flow_changes_.flow_versions, rows);
  }
  Status insertRuns(std::span<const RunRecord> rows) override {
    return gather(flow_changes_.runs, rows);
  }
  Status storeRunStates(std::span<const RunState> rows) override {
    return gather(flow_changes_.run_states, rows);
  }
  Status storeMissed(std::span<const MissedRecord> rows) override {
    return gather(flow_changes_.missed, rows);
  }
  Status insertEvents(std::span<const EventRecord> rows) override {
    return gather(flow_changes_.events, rows);
  }
  Status insertBackfills(std::span<const BackfillRecord> rows) override {
    return gather(flow_changes_.backfills, rows);
  }
  Status storeCalendars(std::span<const CalendarRecord> rows) override {
    return gather(flow_changes_.calendars, rows);
  }
  Status storeParams(std::span<const ParamRecord> rows) override {
    return gather(flow_changes_.params, rows);
  }
  Status insertAudit(std::span<const AuditRecord> rows) override {
    return gather(flow_changes_.audit, rows);
  }

 protected:
  template <typename Row>
  static Status gather(std::vector<Row>& into, std::span<const Row> rows) {
    into.insert(into.end(), rows.begin(), rows.end());
    return {};
  }

  FakeFlowChanges flow_changes_;
};

}  // namespace baton::test
