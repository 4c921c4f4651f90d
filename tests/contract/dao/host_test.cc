// What operators said of hosts, and the cluster's switches: stored, overwritten, forgotten.
#include "tests/contract/dao/dao_contract.h"

namespace baton::dao {
namespace {

HostRecord sampleHost(const std::string& name) {
  return {.name = name,
          .word = HostWord::Exclude,
          .reason = "it's \"broken\" 北 \\",
          .labels = {{"zone", "a"}, {"disk", "ssd"}},
          .changed_at = wallFromMicros(1'700'000'003'000'000),
          .quarantined_until = wallFromMicros(1'700'000'004'000'000)};
}

std::string dumpHost(const HostRecord& host) {
  std::string text =
      fmt::format("{}/{}/{}/{}/{}", host.name, static_cast<int>(host.word), host.reason,
                  toMicros(host.changed_at), toMicros(host.quarantined_until));
  for (const auto& [name, value] : host.labels) text += fmt::format("/{}={}", name, value);
  return text;
}

// Every member of a host comes back, and the newer row replaces all of the older.
TEST_P(DaoContract, HostsReadBackAsStored) {
  auto txn = begin();
  ASSERT_OK(txn->storeHosts(std::vector{sampleHost("b"), sampleHost("a"), sampleHost("A")}));
  ASSERT_OK(txn->commit());
  auto found = reader_->hosts();
  ASSERT_OK(found);
  ASSERT_EQ(found->size(), 3u) << "names differ by case";
  EXPECT_EQ(dumpHost(found->back()), dumpHost(sampleHost("b")));
  HostRecord bare;
  bare.name = "b";
  txn = begin();
  ASSERT_OK(txn->storeHosts(std::vector{bare}));
  ASSERT_OK(txn->commit());
  found = reader_->hosts();
  ASSERT_OK(found);
  EXPECT_EQ(dumpHost(found->back()), dumpHost(bare));
}

// What is forgotten is gone; what was never there does no harm, nor does a rollback.
TEST_P(DaoContract, HostsAndRunnersAreForgotten) {
  auto txn = begin();
  ASSERT_OK(txn->storeHosts(std::vector{sampleHost("a"), sampleHost("b")}));
  ASSERT_OK(txn->storeRunners(std::vector{sampleRunner("a:0"), sampleRunner("b:0")}));
  ASSERT_OK(txn->commit());
  const std::vector<std::string> names{"a", "nobody"};
  const std::vector<std::string> runners{"a:0", "nobody:0"};
  txn = begin();
  ASSERT_OK(txn->forgetHosts(names));
  ASSERT_OK(txn->forgetRunners(runners));
  txn.reset();
  EXPECT_EQ(reader_->hosts()->size(), 2u);
  txn = begin();
  ASSERT_OK(txn->forgetHosts(names));
  ASSERT_OK(txn->forgetRunners(runners));
  // Stored again in the same transaction it is there.
  ASSERT_OK(txn->storeRunners(std::vector{sampleRunner("c:0")}));
  ASSERT_OK(txn->commit());
  ASSERT_EQ(reader_->hosts()->size(), 1u);
  EXPECT_EQ(reader_->hosts()->front().name, "b");
  ASSERT_EQ(reader_->runners()->size(), 2u);
  EXPECT_EQ(reader_->runners()->front().runner_id, "b:0");
}

TEST_P(DaoContract, SettingsReadBackAsStored) {
  auto txn = begin();
  ASSERT_OK(txn->storeSettings(std::vector<SettingRecord>{{"x", "true"}, {"a.b", ""}}));
  ASSERT_OK(txn->commit());
  txn = begin();
  ASSERT_OK(txn->storeSettings(std::vector<SettingRecord>{{"x", "北"}}));
  ASSERT_OK(txn->commit());
  const auto found = reader_->settings();
  ASSERT_OK(found);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ(found->front().name, "a.b");
  EXPECT_EQ(found->front().value, "");
  EXPECT_EQ(found->back().value, "北");
}

// A deposed master changes nothing, and rows that make no sense are named.
TEST_P(DaoContract, HostsAreFencedAndChecked) {
  auto txn = begin();
  EXPECT_CODE(txn->storeHosts(std::vector{sampleHost(std::string(256, 'x'))}), Corrupt);
  txn.reset();
  raw("INSERT INTO host (name,word,changed_at,quarantined_until,epoch,batch_id) VALUES "
      "('odd',9,0,0,1,1)");
  const auto odd = reader_->hosts();
  EXPECT_CODE(odd, Corrupt);
  EXPECT_NE(odd.status().text().find("host odd"), std::string::npos) << odd.status().text();
  bumpTo(2);
  EXPECT_CODE(writer_->begin(1, ++batch_), Fenced);
}

}  // namespace
}  // namespace baton::dao
