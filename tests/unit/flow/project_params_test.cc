// Parameters of the project in a definition: who may name them, and what a run needs of them.
#include "flow/definition/resolve_task.h"
#include "flow/definition/run_size.h"
#include "tests/unit/flow/flow_texts.h"

namespace baton::flow {
namespace {

FlowSurroundings projectOf(ParamMap params) {
  FlowSurroundings surroundings;
  surroundings.project_params = std::move(params);
  return surroundings;
}

// A name is the project's where nothing stronger has it, and an error if the project has it not.
TEST(ProjectParamsTest, ADefinitionMayNameWhatTheProjectHas) {
  const std::string text = withTask(
      "command: [x, '${region}']\nenv: {A: '${own}', B: '${mine}'}\nparams: {own: '${bucket}'}\n",
      "params: {mine: 1}\n");
  EXPECT_NE(issuesOf(text).find("placeholder ${region}: no parameter has that name; declare it in "
                                "params (null: without a value), or set it for the project"),
            std::string::npos)
      << issuesOf(text);
  const FlowSurroundings project =
      projectOf({{"region", "eu"}, {"bucket", "b"}, {"mine", "2"}, {"unused", "u"}});
  EXPECT_EQ(issuesOf(text, project), "");
  const ParsedFlow parsed = parseFlow("f.yaml", text, project);
  ASSERT_TRUE(parsed.flow);
  EXPECT_EQ(parsed.flow->project_params,
            (std::map<std::string, bool>{{"bucket", true}, {"region", true}}));
  EXPECT_EQ(usedOf(*parsed.flow, project.project_params),
            (ParamMap{{"bucket", "b"}, {"region", "eu"}}));
  EXPECT_NE(issuesOf(withTask("command: [x, '${regio}']"), project).find("did you mean region?"),
            std::string::npos);
}

// The value of a name within itself is that of the next weaker level, at last of the project.
TEST(ProjectParamsTest, AParameterMayAddToThatOfTheProject) {
  const std::string text = withTask("command: [x]\nparams: {path: '${path}:/task'}\n",
                                    "params: {path: '${path}:/flow'}\n");
  EXPECT_NE(issuesOf(text).find("params.path: refers to itself"), std::string::npos);
  EXPECT_EQ(issuesOf(text, projectOf({{"path", "/bin"}})), "");
  const std::string circle = "{flow: f, params: {a: '${b}', b: '${a}'}, tasks: {t: {noop: true}}}";
  EXPECT_NE(issuesOf(circle, projectOf({{"a", "1"}})).find("refers to itself"), std::string::npos);

  const ParsedFlow parsed = parseFlow("f.yaml", text, projectOf({{"path", "/bin:${no}"}}));
  ASSERT_TRUE(parsed.flow);
  PlaceholderContext context;
  const ParamMap project{{"path", "/bin:${no}"}};
  context.at(ParamLevel::Flow) = &parsed.flow->params;
  context.at(ParamLevel::Project) = &project;
  const auto resolved = resolveTask(*parsed.flow->find("t"), context);
  ASSERT_TRUE(resolved.ok()) << resolved.status().text();
  EXPECT_EQ(resolved->params.at("path"), "/bin:${no}:/flow:/task");
}

// An output that was not written may be the project's, but does not need to be.
TEST(ProjectParamsTest, AnOutputNeedsNone) {
  const std::string text =
      "{flow: f, tasks: {a: {command: [x], outputs: [rows]}, "
      "b: {command: [x, '${rows}'], needs: [a]}}}";
  const FlowSpec without = flowOf(text);
  EXPECT_EQ(without.project_params, (std::map<std::string, bool>{{"rows", false}}));
  EXPECT_TRUE(usedOf(without, {}).empty());
  EXPECT_EQ(usedOf(without, {{"rows", "0"}}), (ParamMap{{"rows", "0"}}));
}

// What was stored stays readable without the project at hand, and says what it needs.
TEST(ProjectParamsTest, AStoredDefinitionIsRead) {
  const std::string text =
      "{flow: f, params: {path: '${path}:/x'}, tasks: {t: {command: ['${region}']}}}";
  FlowSurroundings stored;
  stored.stored = true;
  const ParsedFlow parsed = parseFlow("f.yaml", text, stored);
  ASSERT_TRUE(parsed.flow) << issuesOf(text, stored);
  EXPECT_EQ(parsed.flow->project_params,
            (std::map<std::string, bool>{{"path", true}, {"region", true}}));
}

// Large values count for the size of a run where they are used.
TEST(ProjectParamsTest, ValuesCountForTheSizeOfARun) {
  std::string text = "flow: f\ntasks:\n";
  for (int i = 0; i < 1'000; ++i) text += fmt::format("  t{}: {{command: [x, '${{big}}']}}\n", i);
  const std::string big(100'000, 'x');
  EXPECT_NE(issuesOf(text, projectOf({{"big", big}})).find("a run comes to about"),
            std::string::npos);
  EXPECT_EQ(issuesOf(text, projectOf({{"big", "x"}, {"other", big}})), "");
}

}  // namespace
}  // namespace baton::flow
