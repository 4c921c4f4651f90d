// Parameters of the project, and those that runs were made with.
#include "tests/contract/dao/flow_samples.h"

namespace baton::dao {
namespace {

ParamRecord sampleParam(const std::string& name, uint32_t version, const std::string& value) {
  return {.name = name,
          .version = version,
          .value = value,
          .author = "dan",
          .updated_at = wallFromMicros(82 + version),
          .deleted = false};
}

std::string dumpParam(const ParamRecord& p) {
  return fmt::format("{} version {} deleted {} author '{}' updated {} value {}", p.name, p.version,
                     p.deleted, p.author, toMicros(p.updated_at), p.value);
}

// A row for each name, whose case counts; the newest value stands, and deleted ones keep their
// version.
TEST_P(DaoContract, ParametersOfTheProjectAreStoredAndListed) {
  const auto put = [&](const std::vector<ParamRecord>& rows) {
    const auto txn = begin();
    ASSERT_OK(txn->storeParams(rows));
    ASSERT_OK(txn->commit());
  };
  std::vector<ParamRecord> rows = {sampleParam("region", 1, "it's ? \\ 🚀"),
                                   sampleParam("Region", 1, ""), sampleParam("gone", 4, "")};
  rows[2].deleted = true;
  put(rows);
  rows[0] = sampleParam("region", 2, std::string(130'000, 'x') + "\n${no}");
  put({rows[0]});
  const auto found = [&](bool deleted_too) {
    std::string all;
    const auto params = reader_->params(deleted_too);
    EXPECT_OK(params);
    for (const ParamRecord& param : *params) all += dumpParam(param) + "\n";
    return all;
  };
  EXPECT_EQ(found(false), dumpParam(rows[1]) + "\n" + dumpParam(rows[0]) + "\n");
  EXPECT_EQ(found(true),
            dumpParam(rows[1]) + "\n" + dumpParam(rows[2]) + "\n" + dumpParam(rows[0]) + "\n");
  const auto txn = begin();
  const std::vector<ParamRecord> long_one = {sampleParam(std::string(129, 'a'), 1, "")};
  const Status refused = txn->storeParams(long_one);
  EXPECT_CODE(refused, Corrupt);
  EXPECT_NE(refused.text().find("name has 129 characters"), std::string::npos) << refused.text();
}

// A run comes back with those that it was made with, alone and among the live ones; most have none.
TEST_P(DaoContract, RunsKeepTheirParametersOfTheProject) {
  FlowRows rows;
  rows.flows = {sampleFlow("F")};
  rows.runs = {sampleRun(1, "F"), sampleRun(2, "F")};
  rows.runs[1].project_params.clear();
  const auto txn = begin();
  ASSERT_OK(storeRows(*txn, rows));
  ASSERT_OK(txn->commit());
  EXPECT_EQ(rawNumber("SELECT COUNT(*) FROM run_project_param"), 1);
  std::map<RunId, std::string> live;
  ASSERT_OK(reader_->liveRuns([&](const RunRecord& run) {
    live[run.state.id] = dumpRun(run);
    return true;
  }));
  for (const RunRecord& run : rows.runs) {
    const auto found = reader_->run(run.state.id);
    ASSERT_OK(found);
    EXPECT_EQ(dumpRun(**found), dumpRun(run));
    EXPECT_EQ(live[run.state.id], dumpRun(run));
  }
}

}  // namespace
}  // namespace baton::dao
