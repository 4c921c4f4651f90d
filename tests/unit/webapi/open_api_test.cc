#include <gtest/gtest.h>

#include <set>

#include "tests/unit/webapi/web_fixture.h"
#include "webapi/flow_json.h"
#include "webapi/open_api.h"
#include "webapi/route_spec.h"
#include "webapi/task_json.h"

namespace baton::webapi::test {
namespace {

class OpenApiTest : public WebTest {};

void collectRefs(const Json& json, std::set<std::string>& refs) {
  if (json.is_object() && json.contains("$ref")) refs.insert(json["$ref"].get<std::string>());
  for (const Json& item : json) {
    if (item.is_structured()) collectRefs(item, refs);
  }
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(c));
  return out;
}

// The served document has exactly the routes of the table.
TEST_F(OpenApiTest, TheDocumentHasExactlyTheRoutes) {
  const Json document = jsonOf(get("/api/v1/openapi.json"));
  EXPECT_EQ(document["openapi"], "3.1.0");
  EXPECT_EQ(document["info"]["version"], "9.9.9");
  std::set<std::string> documented;
  for (const auto& [path, operations] : document["paths"].items()) {
    for (const auto& [method, operation] : operations.items()) {
      documented.insert(method + " " + path + " " + operation["operationId"].get<std::string>());
    }
  }
  std::set<std::string> routed;
  for (const RouteSpec& spec : routeSpecs()) {
    routed.insert(
        lower(spec.method).append(" ").append(spec.pattern).append(" ").append(spec.operation));
  }
  EXPECT_EQ(documented, routed);
  EXPECT_EQ(routed.size(), routeSpecs().size()) << "an operation stands twice";
}

// Every reference leads somewhere, and every schema is referred to.
TEST_F(OpenApiTest, EveryReferenceResolves) {
  const Json document = openApiDocument(routeSpecs(), "1");
  std::set<std::string> refs;
  collectRefs(document, refs);
  for (const std::string& ref : refs) {
    EXPECT_TRUE(document.contains(Json::json_pointer(ref.substr(1)))) << ref;
  }
  for (const auto& [name, schema] : document["components"]["schemas"].items()) {
    EXPECT_TRUE(refs.contains(std::string("#/components/schemas/").append(name))) << name;
  }
}

// A task has the fields that its schema promises, and the schema knows all that it has.
TEST_F(OpenApiTest, TheTaskSchemaIsWhatIsShown) {
  master::api::TaskView view;
  TaskPolicy policy;
  policy.timeout = policy.dispatch_timeout = Millis(1'000);
  policy.callback.url = "http://h/";
  policy.callback.on = {"failed"};
  view.record.policy = policyToText(policy);
  view.record.spec =
      R"({"kind":"script","script":"s","command":[],"interpreter":[],"env":{},"params":{},"dir":"/",
          "http":{},"with":{}})";
  const auto shown = taskToJson(view);
  ASSERT_TRUE(shown.ok());
  std::set<std::string> fields;
  for (const auto& [name, value] : shown->items()) fields.insert(name);
  std::set<std::string> documented;
  const Json schemas = openApiSchemas();
  for (const auto& [name, schema] : schemas["Task"]["properties"].items()) documented.insert(name);
  EXPECT_EQ(fields, documented);
}

std::set<std::string> namesOf(const Json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items()) names.insert(name);
  return names;
}

// Flows, runs and events have the fields that their schemas promise, and no others.
TEST_F(OpenApiTest, SchemasOfFlowsRunsAndEventsAreWhatIsShown) {
  const Json schemas = openApiSchemas();
  const auto documented = [&](const char* schema) {
    return namesOf(schemas[schema]["properties"]);
  };
  EXPECT_EQ(namesOf(flowToJson({}, true)), documented("Flow"));
  EXPECT_EQ(namesOf(flowVersionToJson({})), documented("FlowVersion"));
  EXPECT_EQ(namesOf(appliedToJson({}, false)), documented("FlowApplied"));
  EXPECT_EQ(namesOf(backfillToJson({})), documented("Backfill"));
  EXPECT_EQ(namesOf(*runToJson({}, true)), documented("Run"));
  EXPECT_EQ(namesOf(explanationToJson({})), documented("Explanation"));
  EXPECT_EQ(namesOf(missedToJson({})), documented("Missed"));
  EXPECT_EQ(namesOf(*eventToJson({})), documented("Event"));
  const Json issues = issuesToJson({{}});
  EXPECT_EQ(namesOf(issues["errors"][0]), documented("DefinitionIssue"));
  std::set<std::string> node = namesOf(*nodeToJson({}));
  for (const std::string& name : namesOf(*taskToJson({}))) node.erase(name);
  EXPECT_EQ(node, namesOf(schemas["RunTask"]["allOf"][1]["properties"]));
}

// Bodies, answers and headers that are no plain JSON are documented.
TEST_F(OpenApiTest, DefinitionsAreDocumentedAsYaml) {
  const Json document = openApiDocument(routeSpecs(), "1");
  const Json& flow = document["paths"]["/api/v1/flows/{name}"];
  EXPECT_TRUE(flow["get"]["responses"]["200"]["content"].contains("application/yaml"));
  const Json& put = flow["put"];
  EXPECT_TRUE(put["requestBody"]["content"].contains("application/yaml"));
  EXPECT_TRUE(put["responses"].contains("200"));
  EXPECT_TRUE(put["responses"].contains("201"));
  std::set<std::string> headers;
  for (const Json& parameter : put["parameters"]) {
    if (parameter["in"] == "header") headers.insert(parameter["name"].get<std::string>());
  }
  EXPECT_EQ(headers, (std::set<std::string>{"Idempotency-Key", "If-Match", "If-None-Match"}));
}

// What the schema of a submission lists is accepted; nothing else is (see SubmitTest).
TEST_F(OpenApiTest, EveryFieldOfTheSubmissionSchemaIsAccepted) {
  const Json values = {{"name", "n"},
                       {"kind", "command"},
                       {"command", {"a"}},
                       {"env", {{"A", "1"}}},
                       {"params", {{"B", "2"}}},
                       {"dir", "/tmp"},
                       {"priority", "low"},
                       {"labels", {{"os", "linux"}}},
                       {"group", "g"},
                       {"weight", 3},
                       {"timeout", "90s"},
                       {"dispatch_timeout", "1h"},
                       {"kill_grace", "5s"},
                       {"not_before", "2030-01-01T00:00:00Z"},
                       {"hold", true},
                       {"retry", {{"max", 3}}},
                       {"on_disconnect", "keep"},
                       {"callback", {{"url", "http://h/"}}},
                       {"tags", {"t"}}};
  const Json schemas = openApiSchemas();
  for (const auto& [name, schema] : schemas["TaskSubmission"]["properties"].items()) {
    // They belong to other kinds and follow below.
    if (name == "script" || name == "interpreter" || name == "http" || name == "with") continue;
    EXPECT_TRUE(values.contains(name)) << name;
  }
  const Json http = {{"url", "http://h/"}, {"method", "PUT"}, {"headers", {{"A", "b"}}},
                     {"body", "x"},        {"expect", 204},   {"capture", "answer"}};
  for (const auto& [name, schema] : schemas["Http"]["properties"].items()) {
    EXPECT_TRUE(http.contains(name)) << name;
  }
  EXPECT_EQ(post("/api/v1/tasks", values.dump()).status, 201);
  EXPECT_EQ(post("/api/v1/tasks", R"({"script":"true","interpreter":["/bin/sh"]})").status, 201);
  EXPECT_EQ(post("/api/v1/tasks", dumpJson({{"http", http}})).status, 201);
  EXPECT_EQ(post("/api/v1/tasks", R"({"kind":"copy","with":{"a":1}})").status, 201);
}

}  // namespace
}  // namespace baton::webapi::test
