// The audit log: rows are numbered, found by what they say, and forgotten by age.
#include "tests/contract/dao/dao_contract.h"

namespace baton::dao {
namespace {

AuditRecord sampleAudit(int i) {
  AuditRecord row;
  row.at = wallFromMicros(1'000 + i);
  row.principal = i % 2 == 0 ? "ann" : "bob";
  row.remote = "10.0.0." + std::to_string(i);
  row.request_id = "r-" + std::to_string(i);
  row.action = i < 3 ? "task.stop" : "run.rerun";
  row.object = std::to_string(40 + i);
  row.refused = i == 1;
  row.detail = i == 1 ? "task 41 is FINISHED" : "";
  row.params = R"({"force":true})";
  row.before = R"({"status":"RUNNING"})";
  row.after = i == 1 ? "" : R"({"status":"TERMINATING"})";
  return row;
}

class AuditContract : public DaoContract {
 protected:
  void insertRows(int count) {
    std::vector<AuditRecord> rows;
    for (int i = 0; i < count; ++i) rows.push_back(sampleAudit(i));
    const auto txn = begin();
    ASSERT_OK(txn->insertAudit(rows));
    ASSERT_OK(txn->commit());
  }
  // Objects of a page.
  std::string found(const AuditFilter& filter, uint64_t before = 0, uint32_t limit = 100) {
    const auto page = reader_->audit(filter, before, limit);
    EXPECT_OK(page);
    if (!page.ok()) return {};
    std::string text;
    for (const AuditRecord& row : page->items) text += row.object + " ";
    return text + (page->more ? "more" : "");
  }
};

TEST_P(AuditContract, RowsAreReadAsTheyWereWritten) {
  insertRows(2);
  const auto page = reader_->audit({}, 0, 10);
  ASSERT_OK(page);
  ASSERT_EQ(page->items.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    const AuditRecord& row = page->items[static_cast<size_t>(1 - i)];
    const AuditRecord wanted = sampleAudit(i);
    EXPECT_EQ(row.id, static_cast<uint64_t>(i) + 1);
    EXPECT_EQ(row.at, wanted.at);
    EXPECT_EQ(row.principal, wanted.principal);
    EXPECT_EQ(row.remote, wanted.remote);
    EXPECT_EQ(row.request_id, wanted.request_id);
    EXPECT_EQ(row.action, wanted.action);
    EXPECT_EQ(row.object, wanted.object);
    EXPECT_EQ(row.refused, wanted.refused);
    EXPECT_EQ(row.detail, wanted.detail);
    EXPECT_EQ(row.params, wanted.params);
    EXPECT_EQ(row.before, wanted.before);
    EXPECT_EQ(row.after, wanted.after);
  }
  EXPECT_EQ(rawNumber("SELECT COUNT(*) FROM audit WHERE epoch=1 AND batch_id>0"), 2);
}

TEST_P(AuditContract, FiltersAndPagesFindTheirRows) {
  insertRows(5);
  EXPECT_EQ(found({}), "44 43 42 41 40 ");
  EXPECT_EQ(found({}, 0, 2), "44 43 more");
  EXPECT_EQ(found({}, 4, 2), "42 41 more");
  EXPECT_EQ(found({}, 2, 2), "40 ");
  EXPECT_EQ(found({.principal = "bob"}), "43 41 ");
  EXPECT_EQ(found({.action = "task.stop"}), "42 41 40 ");
  EXPECT_EQ(found({.action = "task"}), "");
  EXPECT_EQ(found({.kind = "run"}), "44 43 ");
  EXPECT_EQ(found({.kind = "ru"}), "");
  EXPECT_EQ(found({.object = "42"}), "42 ");
  EXPECT_EQ(found({.request_id = "r-3"}), "43 ");
  EXPECT_EQ(found({.refused = true}), "41 ");
  EXPECT_EQ(found({.kind = "task", .refused = false}), "42 40 ");
  EXPECT_EQ(found({.from = wallFromMicros(1'001), .until = wallFromMicros(1'003)}), "42 41 ");
}

// What is forgotten is the oldest, and its numbers are not given again.
TEST_P(AuditContract, OldRowsAreForgottenAndNumbersGoOn) {
  insertRows(5);
  auto txn = begin();
  EXPECT_EQ(*txn->purgeAudit(wallFromMicros(1'004), 3), 3u);
  ASSERT_OK(txn->commit());
  EXPECT_EQ(found({}), "44 43 ");
  txn = begin();
  EXPECT_EQ(*txn->purgeAudit(wallFromMicros(9'000), 100), 2u);
  ASSERT_OK(txn->commit());
  insertRows(1);
  EXPECT_GT(reader_->audit({}, 0, 1)->items.at(0).id, 5u);
}

// A transaction that was rolled back leaves no row.
TEST_P(AuditContract, RolledBackRowsAreGone) {
  auto txn = begin();
  ASSERT_OK(txn->insertAudit(std::vector{sampleAudit(0)}));
  txn.reset();
  EXPECT_EQ(found({}), "");
}

TEST_P(AuditContract, TextsThatDoNotFitAreRefusedByNameAndProseIsCut) {
  AuditRecord row = sampleAudit(0);
  row.object = std::string(256, 'x');
  auto txn = begin();
  const Status refused = txn->insertAudit(std::vector{row});
  EXPECT_CODE(refused, Corrupt);
  EXPECT_NE(refused.text().find("object"), std::string::npos) << refused.text();
  row = sampleAudit(0);
  row.detail = std::string(10'000, 'x');
  txn = begin();
  ASSERT_OK(txn->insertAudit(std::vector{row}));
  ASSERT_OK(txn->commit());
  EXPECT_LE(reader_->audit({}, 0, 1)->items.at(0).detail.size(), 4'096u);
}

INSTANTIATE_TEST_SUITE_P(Sqlite, AuditContract, testing::Values(DatabaseOptions::Kind::Sqlite));
INSTANTIATE_TEST_SUITE_P(Mysql, AuditContract, testing::Values(DatabaseOptions::Kind::Mysql));

}  // namespace
}  // namespace baton::dao
