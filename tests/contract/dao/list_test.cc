// Filters and counts of the lists of flows, runs, missed instants, events and the audit log.
#include "tests/contract/dao/flow_samples.h"

namespace baton::dao {
namespace {

WallTime micros(int64_t count) { return wallFromMicros(count); }

class ListContract : public DaoContract {
 protected:
  void commit(const FlowRows& rows) {
    const auto txn = begin();
    ASSERT_OK(storeRows(*txn, rows));
    ASSERT_OK(txn->commit());
  }
};

// Flows count as they are listed, deleted ones never.
TEST_P(ListContract, FlowsAreCounted) {
  FlowRows rows;
  for (const std::string name : {"delta", "Alpha", "charlie"}) {
    rows.flows.push_back(sampleFlow(name));
  }
  rows.flows[0].online = false;
  rows.flows[2].deleted = true;
  commit(rows);
  EXPECT_EQ(*reader_->countFlows({}), 2u);
  EXPECT_EQ(*reader_->countFlows({.online = false}), 1u);
  EXPECT_EQ(*reader_->countFlows({.text = "LPH"}), 1u);
  EXPECT_EQ(*reader_->countFlows({.online = false, .text = "alpha"}), 0u);
}

TEST_P(ListContract, RunsAreFilteredByReasonTextPrincipalAndBirth) {
  FlowRows rows;
  for (RunId id = 1; id <= 4; ++id) {
    rows.runs.push_back(sampleRun(id, id == 3 ? "Hourly" : "Nightly"));
    rows.runs.back().created_at = micros(100 + static_cast<int64_t>(id));
    rows.runs.back().principal = id % 2 == 0 ? "ann" : "";
    rows.runs.back().state.reason = RunReason::None;
  }
  rows.runs[0].state.reason = RunReason::QueueFull;
  rows.runs[1].state.reason = RunReason::Timeout;
  commit(rows);
  const auto expect = [&](const RunFilter& filter, const std::vector<RunId>& ids) {
    const auto page = reader_->runs(filter, 0, 10);
    ASSERT_OK(page);
    std::vector<RunId> found;
    for (const RunRecord& run : page->items) found.push_back(run.state.id);
    EXPECT_EQ(found, ids);
    EXPECT_EQ(*reader_->countRuns(filter), ids.size());
  };
  expect({.reasons = {RunReason::QueueFull}}, {1});
  expect({.reasons = {RunReason::QueueFull, RunReason::Timeout}}, {2, 1});
  expect({.text = "IGHT"}, {4, 2, 1});
  expect({.text = "%"}, {});
  expect({.principal = "ann"}, {4, 2});
  expect({.principal = "an"}, {});
  expect({.created_from = micros(103)}, {4, 3});
  expect({.created_before = micros(103)}, {2, 1});
  expect({.text = "nightly", .created_from = micros(102), .created_before = micros(104)}, {2});
}

TEST_P(ListContract, MissedInstantsAreFilteredAndCounted) {
  FlowRows rows{.missed = {sampleMissed("A", 100), sampleMissed("A", 200), sampleMissed("Bc", 200),
                           sampleMissed("Bc", 300)}};
  rows.missed[0].reason = "too_old";
  rows.missed[3].reason = "offline";
  commit(rows);
  const auto expect = [&](const MissedFilter& filter, const std::string& wanted) {
    const auto page = reader_->missed(filter, {}, "", 10);
    ASSERT_OK(page);
    std::string found;
    for (const MissedRecord& row : page->items) {
      found += fmt::format("{}{} ", row.flow, toMicros(row.plan_time));
    }
    EXPECT_EQ(found, wanted);
    EXPECT_EQ(*reader_->countMissed(filter), page->items.size());
  };
  expect({}, "Bc300 Bc200 A200 A100 ");
  expect({.flow = "a"}, "A200 A100 ");
  expect({.text = "C"}, "Bc300 Bc200 ");
  expect({.reasons = {"too_old"}}, "A100 ");
  expect({.reasons = {"too_old", "offline"}}, "Bc300 A100 ");
  expect({.plan_from = micros(200)}, "Bc300 Bc200 A200 ");
  expect({.flow = "a", .plan_before = micros(200)}, "A100 ");
  expect({.plan_from = micros(200), .plan_before = micros(300)}, "Bc200 A200 ");
  // A page goes on within the filter.
  const auto page = reader_->missed({.plan_from = micros(200)}, micros(200), "bc", 10);
  ASSERT_OK(page);
  ASSERT_EQ(page->items.size(), 1u);
  EXPECT_EQ(page->items[0].flow, "A");
}

TEST_P(ListContract, EventsAreFilteredAndCounted) {
  FlowRows rows;
  for (uint64_t id = 1; id <= 4; ++id) {
    rows.events.push_back(
        sampleEvent(id, id == 3 ? "stock" : "fx-rates", "k" + std::to_string(id)));
    rows.events.back().happened_at = micros(100 - static_cast<int64_t>(id));
  }
  commit(rows);
  const auto expect = [&](const EventFilter& filter, const std::vector<uint64_t>& ids) {
    const auto page = reader_->events(filter, 0, 10);
    ASSERT_OK(page);
    std::vector<uint64_t> found;
    for (const EventRecord& event : page->items) found.push_back(event.id);
    EXPECT_EQ(found, ids);
    EXPECT_EQ(*reader_->countEvents(filter), ids.size());
  };
  expect({}, {4, 3, 2, 1});
  expect({.name = "fx-rates"}, {4, 2, 1});
  expect({.text = "rate"}, {4, 2, 1});
  expect({.key = "k3"}, {3});
  expect({.name = "fx-rates", .key = "k3"}, {});
  expect({.happened_from = micros(98)}, {2, 1});
  expect({.happened_before = micros(98)}, {4, 3});
  expect({.name = "fx-rates", .happened_from = micros(96), .happened_before = micros(98)}, {4});
}

TEST_P(ListContract, AuditRowsAreCounted) {
  std::vector<AuditRecord> rows(3);
  for (AuditRecord& row : rows) {
    row.at = micros(5);
    row.action = "task.stop";
  }
  rows[2].action = "run.stop";
  rows[1].refused = true;
  const auto txn = begin();
  ASSERT_OK(txn->insertAudit(rows));
  ASSERT_OK(txn->commit());
  EXPECT_EQ(*reader_->countAudit({}), 3u);
  EXPECT_EQ(*reader_->countAudit({.kind = "task"}), 2u);
  EXPECT_EQ(*reader_->countAudit({.kind = "task", .refused = true}), 1u);
  EXPECT_EQ(*reader_->countAudit({.action = "run.stop"}), 1u);
}

TEST_P(ListContract, TimesOfRunsAndEventsHaveAnIndex) {
  EXPECT_EQ(rawNumber(isMysql() ? "SELECT COUNT(DISTINCT index_name) FROM "
                                  "information_schema.statistics WHERE table_schema=DATABASE() AND "
                                  "index_name IN ('run_created','event_happened')"
                                : "SELECT COUNT(*) FROM sqlite_master WHERE type='index' AND name "
                                  "IN ('run_created','event_happened')"),
            2);
}

INSTANTIATE_TEST_SUITE_P(Sqlite, ListContract, testing::Values(DatabaseOptions::Kind::Sqlite));
INSTANTIATE_TEST_SUITE_P(Mysql, ListContract, testing::Values(DatabaseOptions::Kind::Mysql));

}  // namespace
}  // namespace baton::dao
