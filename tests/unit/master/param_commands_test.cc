// Parameters of the project: what people ask of them, and which of their values a run has.
#include "master/flow/param_commands.h"

#include "tests/unit/master/planner_fixture.h"

namespace baton::test {
namespace {

using master::api::ParamIsSet;
using master::api::ParamSet;
using Code = ErrorCode;

constexpr const char* kRegional = R"(
flow: F
tasks:
  a: {command: [x, '${region}']}
  b: {script: y, needs: [a]}
)";

class ParamCommandsTest : public PlannerTest {
 protected:
  Result<ParamIsSet> trySet(ParamSet request) {
    request.request = requester();
    return ask<ParamIsSet>([&](auto done) { rig_->param_commands.set(request, done); });
  }
  ParamIsSet set(const std::string& name, const std::string& value) {
    const auto is_set = trySet({.name = name, .value = value, .if_version = {}});
    EXPECT_TRUE(is_set.ok()) << is_set.status().text();
    return is_set.ok() ? *is_set : ParamIsSet{};
  }
  Status removeParam(const std::string& name) {
    return ask<ParamRecord>(
               [&](auto done) { rig_->param_commands.remove(name, requester(), done); })
        .status();
  }
  flow::FlowSurroundings project() const {
    flow::FlowSurroundings surroundings;
    surroundings.project_params = *rig_->flows.params.values();
    return surroundings;
  }
  // What a task was given: its specification as stored.
  bool given(RunId run, const std::string& task, const std::string& text) const {
    return node(run, task).spec.find(text) != std::string::npos;
  }
  AuditRecord lastAudit() const { return database_.rows().audit.back(); }
};

// Each change is the next version, over a deletion too; what stands already is none.
TEST_F(ParamCommandsTest, ChangesAreVersions) {
  ParamIsSet is_set = set("region", "eu");
  EXPECT_TRUE(is_set.created && is_set.changed);
  EXPECT_EQ(is_set.param.author, "p");
  is_set = set("region", "eu");
  EXPECT_FALSE(is_set.created || is_set.changed);
  EXPECT_EQ(is_set.param.version, 1U);
  EXPECT_EQ(database_.rows().audit.size(), 1U);
  EXPECT_EQ(set("region", "us").param.version, 2U);
  EXPECT_EQ(lastAudit().action + " " + lastAudit().object, "param.set region");
  EXPECT_EQ(lastAudit().before + lastAudit().after, R"({"version":1}{"version":2})");

  auto refused = trySet({.name = "region", .value = "x", .if_version = 1});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::Conflict);
  EXPECT_EQ(refused.error().field(), "version");
  EXPECT_TRUE(trySet({.name = "region", .value = "us", .if_version = 1}).ok());
  EXPECT_FALSE(trySet({.name = "region", .value = "x", .if_version = 0}).ok());

  EXPECT_TRUE(removeParam("region").ok());
  EXPECT_EQ(lastAudit().action + lastAudit().before + lastAudit().after,
            R"(param.delete{"version":2})");
  EXPECT_EQ(removeParam("region").error().code(), Code::NotFound);
  begin();
  EXPECT_TRUE(rig_->flows.params.values()->empty());
  EXPECT_FALSE(trySet({.name = "region", .value = "x", .if_version = 2}).ok());
  is_set = set("region", "eu");
  EXPECT_TRUE(is_set.created);
  EXPECT_EQ(is_set.param.version, 3U);
  begin();
  EXPECT_EQ(*rig_->flows.params.values(), (flow::ParamMap{{"region", "eu"}}));
}

// Names and sizes are those of a flow's parameters.
TEST_F(ParamCommandsTest, WhatNoTaskCouldHaveIsRefused) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"a-b", "is not a variable name"}, {"1a", "is not a variable name"},
      {"", "is not a variable name"},    {"BATON_X", "are set by baton"},
      {"run_id", "baton fills in"},      {std::string(65, 'a'), "at most 64"}};
  for (const auto& [name, why] : wrong) {
    const auto refused = trySet({.name = name, .value = "x", .if_version = {}});
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().code(), Code::InvalidArgument);
    EXPECT_EQ(refused.error().field(), "name");
    EXPECT_NE(refused.error().message().find(why), std::string::npos) << refused.error().message();
  }
  EXPECT_EQ(
      trySet({.name = "a", .value = std::string("x\0y", 3), .if_version = {}}).error().field(),
      "value");
  const std::string half(kParamsBytesMax / 2, 'x');
  set("a", half);
  const auto refused = trySet({.name = "b", .value = half, .if_version = {}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::TooLarge);
  set("a", half + half.substr(2));
  EXPECT_EQ(rig_->flows.params.values()->size(), 1U);
}

// Whatever a stored flow needs stays, whether the flow is online or not.
TEST_F(ParamCommandsTest, WhatFlowsUseIsNotDeleted) {
  set("region", "eu");
  set("rows", "0");
  for (const char* name : {"F1", "F2", "F3", "F4", "F5", "F6", "F7"}) {
    define(fmt::format("{{flow: {}, tasks: {{a: {{command: ['${{region}}']}}}}}}", name),
           project());
  }
  Status refused = removeParam("region");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::Conflict);
  EXPECT_EQ(refused.error().message(),
            "parameter region is used by F1, F2, F3, F4, F5 and 2 more; let those flows declare it "
            "first");
  EXPECT_TRUE(lastAudit().refused);
  for (const char* name : {"F1", "F2", "F3", "F4", "F5", "F6"}) {
    define(fmt::format(
               "{{flow: {}, params: {{region: x}}, tasks: {{a: {{command: ['${{region}}']}}}}}}",
               name),
           project());
  }
  refused = removeParam("region");
  EXPECT_NE(refused.text().find("is used by F7; let that flow declare it"), std::string::npos)
      << refused.text();
  ASSERT_TRUE(ask<master::api::FlowView>([&](auto done) {
                rig_->flow_commands.remove("F7", requester(), done);
              }).ok());
  EXPECT_TRUE(removeParam("region").ok());
  // An output that may not be written is no need.
  define(
      "{flow: O, tasks: {a: {command: [x], outputs: [rows]}, "
      "b: {command: [x, '${rows}'], needs: [a]}}}",
      project());
  EXPECT_TRUE(removeParam("rows").ok());
}

// A definition that was checked before the deletion is refused behind it.
TEST_F(ParamCommandsTest, ADefinitionIsJudgedByWhatThereIs) {
  set("region", "eu");
  flow::ParsedFlow parsed = flow::parseFlow("test", kRegional, project());
  ASSERT_TRUE(parsed.flow);
  EXPECT_TRUE(removeParam("region").ok());
  master::api::FlowApply request;
  request.text = kRegional;
  std::vector<master::FlowDefinition> one;
  one.push_back({request, master::makeFlowVersion(0, *parsed.flow), {}});
  const auto refused = applyAll(std::move(one));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::InvalidArgument);
  EXPECT_NE(refused.error().message().find("no parameter region"), std::string::npos);
}

// A run has the values of its beginning: in tasks that begin later, after a takeover and when it
// is run again.
TEST_F(ParamCommandsTest, ARunKeepsTheValuesThatItBeganWith) {
  set("region", "eu");
  set("other", "o");
  define(kRegional, project());
  const RunId first = trigger("f").state.id;
  EXPECT_EQ(row(first).project_params, R"({"region":"eu"})");
  EXPECT_EQ(next(), "a");
  set("region", "us");
  begin();
  EXPECT_EQ(rig_->flows.findRun(first)->project, (flow::ParamMap{{"region", "eu"}}));
  const RunId second = trigger("f").state.id;
  EXPECT_EQ(row(second).project_params, R"({"region":"us"})");
  say(RunnerStatus::Running);
  for (std::string name = end(); !name.empty();) {
    name = end();
    if (name.empty()) name = next();
  }
  for (const RunId run : {first, second}) {
    const std::string region = run == first ? "\"eu\"" : "\"us\"";
    EXPECT_EQ(runStatus(run), RunStatus::Finished);
    EXPECT_TRUE(given(run, "a", R"(["x",)" + region)) << node(run, "a").spec;
    // As a parameter of the flow itself it is a variable of all tasks.
    EXPECT_TRUE(given(run, "b", R"("region":)" + region)) << node(run, "b").spec;
    EXPECT_FALSE(given(run, "b", "other"));
  }
  ASSERT_TRUE(orderRun({.id = first,
                        .command = master::api::RunCommand::Rerun,
                        .scope = master::api::RerunScope::All})
                  .ok());
  EXPECT_EQ(rig_->flows.findRun(first)->project, (flow::ParamMap{{"region", "eu"}}));
  work();
  EXPECT_TRUE(given(first, "a", "\"eu\"")) << node(first, "a").spec;
}

}  // namespace
}  // namespace baton::test
