#include <gtest/gtest.h>

#include "tests/unit/webapi/web_fixture.h"

namespace baton::webapi::test {
namespace {

using master::api::DefinitionIssue;
constexpr const char* kFlowText = "flow: nightly\ntasks:\n  a: {noop: true}\n";

WallTime at(const char* text) { return *parseRfc3339(text); }

class FlowApiTest : public WebTest {
 protected:
  void SetUp() override {
    WebTest::SetUp();
    flows_.view = sample("Nightly");
    flows_.run.flow = "Nightly";
    flows_.run.state.id = 12;
    flows_.run.plan_time = at("2026-11-29T02:00:00Z");
    flows_.applied.flow = flows_.view;
    flows_.applied.changed = true;
    flows_.applied.changes = {"task b added"};
  }
  static master::api::FlowView sample(const std::string& name) {
    master::api::FlowView view;
    view.record.name = name;
    view.record.version = 3;
    view.record.online = true;
    view.record.online_since = at("2026-11-01T00:00:00Z");
    view.record.next_at = at("2026-11-30T01:00:00Z");
    view.record.fired = 77;
    view.version.flow = name;
    view.version.version = 3;
    view.version.text = kFlowText;
    view.version.author = "client";
    view.version.created_at = at("2026-11-01T00:00:00Z");
    view.schedule = "0 2 * * * Europe/Berlin";
    view.live_runs = 1;
    view.next_instants = {at("2026-11-30T01:00:00Z"), at("2026-12-01T01:00:00Z")};
    return view;
  }
  net::HttpResponse sendText(const std::string& method, const std::string& target,
                             const std::string& body, const std::string& type, Headers more = {}) {
    more.emplace_back("Authorization", std::string("Bearer ").append(kClientToken));
    if (!type.empty()) more.emplace_back("Content-Type", type);
    return sendRaw(method, target, body, more);
  }
  net::HttpResponse put(const std::string& target, Headers more = {}) {
    return sendText("PUT", target, kFlowText, "application/yaml", std::move(more));
  }
};

// A flow is shown with its definition and what comes next, and nothing of the planner's own.
TEST_F(FlowApiTest, AFlowIsShownWhole) {
  const auto response = get("/api/v1/flows/nightly");
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.headers.get("ETag"), "\"v3\"");
  EXPECT_EQ(flows_.asked, (std::pair<std::string, std::optional<uint32_t>>("nightly", {})));
  const Json flow = jsonOf(response);
  EXPECT_EQ(flow["name"], "Nightly");
  EXPECT_EQ(flow["version"], 3);
  EXPECT_EQ(flow["online"], true);
  EXPECT_EQ(flow["online_since"], "2026-11-01T00:00:00Z");
  EXPECT_EQ(flow["schedule"], "0 2 * * * Europe/Berlin");
  EXPECT_EQ(flow["next_at"], "2026-11-30T01:00:00Z");
  EXPECT_EQ(flow["next_instants"], Json({"2026-11-30T01:00:00Z", "2026-12-01T01:00:00Z"}));
  EXPECT_EQ(flow["text"], kFlowText);
  EXPECT_EQ(flow["live_runs"], 1);
  EXPECT_TRUE(flow["last_success"].is_null());
  EXPECT_FALSE(flow.contains("fired"));
}

// An older version keeps its own ETag; who accepts YAML gets the text as it was stored.
TEST_F(FlowApiTest, TheTextIsGivenAsItWasStored) {
  flows_.view.version.version = 2;
  const auto response =
      send("GET", "/api/v1/flows/nightly?version=2", "", {{"Accept", "application/yaml"}});
  ASSERT_EQ(response.status, 200);
  EXPECT_EQ(response.body, kFlowText);
  EXPECT_EQ(response.headers.get("Content-Type"), "application/yaml");
  EXPECT_EQ(response.headers.get("ETag"), "\"v2\"");
  EXPECT_EQ(flows_.asked.second, 2U);
  const Json flow = jsonOf(send("GET", "/api/v1/flows/nightly?version=2", "",
                                {{"Accept", "application/json, application/yaml"}}));
  EXPECT_EQ(flow["version"], 2);
  EXPECT_EQ(flow["newest_version"], 3);
  expectProblem(get("/api/v1/flows/nightly?version=0"), 400, "invalid_argument", "version");
}

// Names that no flow can have, and flows that are not there, are not found on every address.
TEST_F(FlowApiTest, UnknownFlowsAreNotFound) {
  flows_.fail = Error::notFound("there is no flow \"other\"");
  for (const char* name : {"other", "a%20b", "%c3%a9", "a%2Fb"}) {
    const std::string path = std::string("/api/v1/flows/").append(name);
    SCOPED_TRACE(path);
    expectProblem(get(path), 404, "not_found");
    expectProblem(get(path + "/versions"), 404, "not_found");
    expectProblem(send("DELETE", path), 404, "not_found");
    for (const char* action : {"/online", "/offline", "/trigger"}) {
      expectProblem(post(path + action), 404, "not_found");
    }
    expectProblem(post(path + "/backfill", R"({"plan_times":["2026-01-01T00:00:00Z"]})"), 404,
                  "not_found");
  }
}

// Filters and pages of the list reach the port; lists have no texts.
TEST_F(FlowApiTest, FlowsAreListedByPages) {
  flows_.list.items = {sample("alpha"), sample("Beta")};
  flows_.list.more = true;
  flows_.list.total = 9;
  const Json page = jsonOf(get("/api/v1/flows?online=false&q=et&limit=2"));
  EXPECT_EQ(flows_.last_query.online, false);
  EXPECT_EQ(flows_.last_query.text, "et");
  EXPECT_EQ(flows_.last_query.limit, 2U);
  ASSERT_EQ(page["items"].size(), 2U);
  EXPECT_EQ(page["total"], 9);
  EXPECT_FALSE(page["items"][0].contains("text"));
  flows_.list.more = false;
  const std::string cursor = page["next_cursor"];
  EXPECT_TRUE(jsonOf(get("/api/v1/flows?cursor=" + cursor))["next_cursor"].is_null());
  EXPECT_EQ(flows_.last_query.after, "beta");
  EXPECT_FALSE(flows_.last_query.online.has_value());
  for (const auto& [query, field] :
       std::vector<std::pair<const char*, const char*>>{{"online=yes", "online"},
                                                        {"cursor=x", "cursor"},
                                                        {"cursor=f-", "cursor"},
                                                        {"limit=0", "limit"},
                                                        {"q=", "q"},
                                                        {"who=me", "who"}}) {
    expectProblem(get(std::string("/api/v1/flows?").append(query)), 400, "invalid_argument", field);
  }
}

// Everything that an apply says reaches the port.
TEST_F(FlowApiTest, AnAppliedDefinitionReachesThePort) {
  const auto response =
      put("/api/v1/flows/nightly?online=true", {{"If-Match", "\"v2\""}, {"Idempotency-Key", "k1"}});
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.headers.get("ETag"), "\"v3\"");
  const auto& apply = flows_.applies.at(0);
  EXPECT_EQ(apply.name, "nightly");
  EXPECT_EQ(apply.text, kFlowText);
  EXPECT_EQ(apply.if_version, 2U);
  EXPECT_EQ(apply.online, true);
  EXPECT_FALSE(apply.dry_run);
  EXPECT_EQ(apply.request.principal, "client");
  EXPECT_EQ(apply.request.idempotency_key, "k1");
  EXPECT_EQ(apply.request.request_hash.size(), 64U);
  const Json answer = jsonOf(response);
  EXPECT_EQ(answer["name"], "Nightly");
  EXPECT_EQ(answer["version"], 3);
  EXPECT_EQ(answer["changes"], Json::array({"task b added"}));
  EXPECT_EQ(answer["created"], false);
  EXPECT_EQ(answer["dry_run"], false);
}

// A new flow is 201 with its place; a dry run makes nothing, so it is 200 without a version.
TEST_F(FlowApiTest, ANewFlowIsCreated) {
  flows_.applied.created = true;
  flows_.applied.flow.warnings = {
      {"nightly", 3, 5, "tasks.a", "is odd", true},
      {"nightly", 4, 5, "tasks.b.flow", "there is no flow x", true, "x"}};
  const auto response = put("/api/v1/flows/nightly", {{"If-None-Match", "*"}});
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.headers.get("Location"), "/api/v1/flows/Nightly");
  EXPECT_EQ(flows_.applies.back().if_version, 0U);
  EXPECT_FALSE(flows_.applies.back().online.has_value());
  EXPECT_EQ(jsonOf(response)["warnings"][0]["message"], "is odd");
  EXPECT_TRUE(jsonOf(response)["warnings"][0]["missing_flow"].is_null());
  EXPECT_EQ(jsonOf(response)["warnings"][1]["missing_flow"], "x");
  const auto dry = put("/api/v1/flows/nightly?dry_run=true");
  EXPECT_EQ(dry.status, 200);
  EXPECT_TRUE(flows_.applies.back().dry_run);
  EXPECT_FALSE(flows_.applies.back().if_version.has_value());
  EXPECT_EQ(jsonOf(dry)["dry_run"], true);
  EXPECT_TRUE(dry.headers.get("ETag").empty());
}

// Several definitions reach the port together, each with its own expectation.
TEST_F(FlowApiTest, ABatchReachesThePort) {
  flows_.all_applied.flows = {flows_.applied, flows_.applied};
  const auto response =
      post("/api/v1/flows/apply", R"({"flows":[{"text":"flow: a","file":"a.yaml","if_version":2},)"
                                  R"({"text":"flow: b","if_version":0},{"text":"flow: c"}],)"
                                  R"("online":true})");
  ASSERT_EQ(response.status, 200) << response.body;
  ASSERT_EQ(flows_.applies.size(), 3U);
  EXPECT_EQ(flows_.applies[0].file, "a.yaml");
  EXPECT_EQ(flows_.applies[0].text, "flow: a");
  EXPECT_EQ(flows_.applies[0].if_version, 2U);
  EXPECT_EQ(flows_.applies[1].file, "flows[1]");
  EXPECT_EQ(flows_.applies[1].if_version, 0U);
  EXPECT_FALSE(flows_.applies[2].if_version.has_value());
  for (const auto& apply : flows_.applies) {
    EXPECT_EQ(apply.online, true);
    EXPECT_FALSE(apply.dry_run);
    EXPECT_EQ(apply.request.principal, "client");
  }
  const Json answer = jsonOf(response);
  ASSERT_EQ(answer["items"].size(), 2U);
  EXPECT_EQ(answer["items"][0]["name"], "Nightly");
  EXPECT_EQ(answer["items"][0]["dry_run"], false);
  post("/api/v1/flows/apply", R"({"flows":[{"text":"flow: a"}],"dry_run":true})");
  EXPECT_TRUE(flows_.applies.at(0).dry_run);
  EXPECT_FALSE(flows_.applies.at(0).online.has_value());
}

// A batch that is wrong is told like one definition, with the files; a batch that can't be read
// names the member.
TEST_F(FlowApiTest, AWrongBatchIsRefused) {
  flows_.all_applied.errors = {{"b.yaml", 1, 1, "flow", "f is the flow of a.yaml as well", false}};
  const auto response = post("/api/v1/flows/apply", R"({"flows":[{"text":"flow: f"}]})");
  expectProblem(response, 400, "invalid_definition");
  EXPECT_EQ(jsonOf(response)["detail"],
            "the definition is wrong: b.yaml, line 1, column 1: flow: f is the flow of a.yaml as "
            "well");
  EXPECT_EQ(jsonOf(response)["errors"][0]["file"], "b.yaml");
  flows_.fail = Error(ErrorCode::Conflict, "flow f is at version 3, and 2 was expected", "version");
  expectProblem(post("/api/v1/flows/apply", R"({"flows":[{"text":"x"}]})"), 412, "version_conflict",
                "version");
  flows_.applies.clear();
  for (const auto& [body, field] : std::vector<std::pair<std::string, const char*>>{
           {"{}", "flows"},
           {R"({"flows":[]})", "flows"},
           {R"({"flows":{}})", "flows"},
           {R"({"flows":[{}]})", "flows[0].text"},
           {R"({"flows":[{"text":"x"},{"text":1}]})", "flows[1].text"},
           {R"({"flows":[{"text":"x","if_version":-1}]})", "flows[0].if_version"},
           {R"({"flows":[{"text":"x","name":"x"}]})", "flows[0].name"},
           {R"({"flows":[{"text":"x"}],"force":true})", "force"}}) {
    SCOPED_TRACE(body);
    expectProblem(post("/api/v1/flows/apply", body), 400, "invalid_argument", field);
  }
  std::string many = R"({"flows":[)";
  for (int i = 0; i < 1'001; ++i) many += R"({"text":"x"},)";
  many.back() = ']';
  EXPECT_EQ(post("/api/v1/flows/apply", many + "}").status, 413);
  EXPECT_TRUE(flows_.applies.empty());
}

// The same key counts for one address and one body alone.
TEST_F(FlowApiTest, TheHashIsThatOfAddressAndBody) {
  put("/api/v1/flows/a");
  put("/api/v1/flows/b");
  put("/api/v1/flows/a?online=true");
  put("/api/v1/flows/a");
  const auto& applies = flows_.applies;
  EXPECT_NE(applies[0].request.request_hash, applies[1].request.request_hash);
  EXPECT_NE(applies[0].request.request_hash, applies[2].request.request_hash);
  EXPECT_EQ(applies[0].request.request_hash, applies[3].request.request_hash);
}

// All that is wrong with a definition is told with its place, warnings beside it.
TEST_F(FlowApiTest, AWrongDefinitionIsRefusedWithAllErrors) {
  flows_.applied.errors = {
      {"nightly", 2, 1, "tasks.a", "is odd", true},
      {"nightly", 3, 21, "tasks.a.timout", "is not a known key; did you mean timeout?", false},
      {"nightly", 4, 26, "tasks.b.needs", "\"c\" is no task of this flow", false}};
  for (const bool stored : {true, false}) {
    const auto response = stored
                              ? put("/api/v1/flows/nightly")
                              : sendText("POST", "/api/v1/flows/validate", kFlowText, "text/yaml");
    expectProblem(response, 400, "invalid_definition");
    const Json problem = jsonOf(response);
    ASSERT_EQ(problem["errors"].size(), 2U);
    EXPECT_EQ(problem["errors"][0], (Json{{"file", "nightly"},
                                          {"line", 3},
                                          {"column", 21},
                                          {"key", "tasks.a.timout"},
                                          {"message", "is not a known key; did you mean timeout?"},
                                          {"missing_flow", nullptr}}));
    EXPECT_EQ(problem["warnings"].size(), 1U);
    EXPECT_EQ(problem["detail"],
              "the definition is wrong in 2 places, first: line 3, column 21: tasks.a.timout: is "
              "not a known key; did you mean timeout?");
  }
  EXPECT_TRUE(flows_.applies.back().dry_run);
  EXPECT_EQ(flows_.applies.back().name, "");
}

// Preconditions, parameters and names that can't be right are refused before the port is asked.
TEST_F(FlowApiTest, BadAppliesAreRefused) {
  const std::string target = "/api/v1/flows/nightly";
  for (const char* tag : {"v2", "\"v0\"", "\"v\"", "\"v2", "W/\"v2\"", "*", "\"v1\", \"v2\"",
                          "\"v99999999999\"", "\"v+2\""}) {
    SCOPED_TRACE(tag);
    expectProblem(put(target, {{"If-Match", tag}}), 400, "invalid_argument", "If-Match");
  }
  expectProblem(put(target, {{"If-None-Match", "\"v2\""}}), 400, "invalid_argument",
                "If-None-Match");
  expectProblem(put(target, {{"If-Match", "\"v2\""}, {"If-None-Match", "*"}}), 400,
                "invalid_argument", "If-Match");
  expectProblem(put(target + "?online=1"), 400, "invalid_argument", "online");
  expectProblem(put(target + "?dry_run="), 400, "invalid_argument", "dry_run");
  expectProblem(put(target + "?force=true"), 400, "invalid_argument", "force");
  expectProblem(put(target, {{"Idempotency-Key", ""}}), 400, "invalid_argument", "Idempotency-Key");
  expectProblem(put("/api/v1/flows/a%20b"), 400, "invalid_argument", "name");
  expectProblem(put(std::string("/api/v1/flows/").append(65, 'a')), 400, "invalid_argument",
                "name");
  expectProblem(sendText("PUT", target, kFlowText, "text/plain"), 415, "unsupported_media_type");
  expectProblem(sendText("PUT", target, "", "text/yaml"), 400, "invalid_argument");
  EXPECT_TRUE(flows_.applies.empty());
}

// A body may be declared as YAML in all its spellings, as JSON, or not at all.
TEST_F(FlowApiTest, KindsOfBodiesAreAccepted) {
  for (const char* type : {"application/yaml", "text/yaml; charset=utf-8", "application/x-yaml",
                           "application/json", "application/flow+yaml", ""}) {
    EXPECT_EQ(sendText("PUT", "/api/v1/flows/n", kFlowText, type).status, 200) << type;
  }
  expectProblem(sendText("POST", "/api/v1/tasks", "command: [a]", "application/yaml"), 415,
                "unsupported_media_type");
}

// The cap of a definition is kept by its length alone.
TEST_F(FlowApiTest, ADefinitionOverOneMegabyteIsTooLarge) {
  const std::string text(1024 * 1024 + 1, '#');
  for (const auto& [method, path] :
       {std::pair("PUT", "/api/v1/flows/n"), std::pair("POST", "/api/v1/flows/validate")}) {
    expectProblem(sendText(method, path, text, "application/yaml"), 413, "body_too_large");
  }
  EXPECT_EQ(sendText("PUT", "/api/v1/flows/n", text.substr(1), "application/yaml").status, 200);
}

// What the master refuses keeps its status; a version that moved on is a failed precondition.
TEST_F(FlowApiTest, RefusalsOfAnApply) {
  flows_.fail = Error(ErrorCode::Conflict, "is 4, expected 3", "version");
  expectProblem(put("/api/v1/flows/n", {{"If-Match", "\"v3\""}}), 412, "version_conflict",
                "version");
  flows_.fail = Error::conflict("Idempotency-Key k was used with another body");
  expectProblem(put("/api/v1/flows/n"), 409, "conflict");
  flows_.fail = Error(ErrorCode::InvalidArgument, "is \"m\", expected \"n\"", "flow");
  expectProblem(put("/api/v1/flows/n"), 400, "invalid_argument", "flow");
  flows_.fail = Error(ErrorCode::NotActive, "");
  expectProblem(put("/api/v1/flows/n"), 503, "not_active");
}

// A flow may be called as an address is, for its own methods.
TEST_F(FlowApiTest, AFlowMayBeCalledValidate) {
  EXPECT_EQ(get("/api/v1/flows/validate").status, 200);
  EXPECT_EQ(flows_.asked.first, "validate");
  EXPECT_EQ(put("/api/v1/flows/validate").status, 200);
  EXPECT_EQ(flows_.applies.back().name, "validate");
}

// Versions are listed without texts, by pages.
TEST_F(FlowApiTest, VersionsAreListed) {
  flows_.version_list.items = {flows_.view.version};
  flows_.version_list.more = true;
  const Json page = jsonOf(get("/api/v1/flows/nightly/versions?limit=1"));
  EXPECT_EQ(page["items"][0], (Json{{"flow", "Nightly"},
                                    {"version", 3},
                                    {"author", "client"},
                                    {"created_at", "2026-11-01T00:00:00Z"}}));
  const std::string cursor = page["next_cursor"];
  EXPECT_EQ(get("/api/v1/flows/nightly/versions?cursor=" + cursor).status, 200);
  EXPECT_EQ(flows_.versions_asked, (std::tuple<std::string, uint32_t, uint32_t>("nightly", 3, 50)));
  for (const char* query : {"cursor=f-3", "cursor=v-0", "cursor=v-1ffffffff"}) {
    expectProblem(get(std::string("/api/v1/flows/nightly/versions?").append(query)), 400,
                  "invalid_argument", "cursor");
  }
}

// Online, offline and delete name the flow and answer it.
TEST_F(FlowApiTest, ActionsReachThePort) {
  EXPECT_EQ(jsonOf(post("/api/v1/flows/nightly/online"))["name"], "Nightly");
  EXPECT_EQ(post("/api/v1/flows/nightly/offline", "{}").status, 200);
  EXPECT_EQ(flows_.onlines,
            (std::vector<std::pair<std::string, bool>>{{"nightly", true}, {"nightly", false}}));
  EXPECT_EQ(jsonOf(send("DELETE", "/api/v1/flows/nightly"))["name"], "Nightly");
  EXPECT_EQ(flows_.removed, std::vector<std::string>{"nightly"});
  expectProblem(post("/api/v1/flows/nightly/online", R"({"now":true})"), 400, "invalid_argument",
                "now");
  expectProblem(send("DELETE", "/api/v1/flows/nightly", "{}"), 400, "invalid_argument");
}

// A trigger may say nothing, or everything.
TEST_F(FlowApiTest, ATriggerBeginsARun) {
  const auto response = post("/api/v1/flows/nightly/trigger");
  EXPECT_EQ(response.status, 201) << response.body;
  EXPECT_EQ(response.headers.get("Location"), "/api/v1/runs/12");
  EXPECT_EQ(jsonOf(response)["id"], "12");
  EXPECT_FALSE(flows_.triggers[0].plan_time.has_value());
  EXPECT_FALSE(flows_.triggers[0].priority.has_value());
  post("/api/v1/flows/nightly/trigger",
       R"({"plan_time":"2026-11-29T02:00:00+01:00","priority":"high","params":{"a":"1","b":null}})",
       {{"Idempotency-Key", "k"}});
  const auto& trigger = flows_.triggers[1];
  EXPECT_EQ(trigger.flow, "nightly");
  EXPECT_EQ(trigger.plan_time, at("2026-11-29T01:00:00Z"));
  EXPECT_EQ(trigger.priority, Priority::High);
  EXPECT_EQ(trigger.params.at("a"), "1");
  EXPECT_FALSE(trigger.params.at("b").has_value());
  EXPECT_EQ(trigger.request.idempotency_key, "k");
}

TEST_F(FlowApiTest, BadTriggersAreRefusedByField) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {R"({"plan_time":"yesterday"})", "plan_time"},
      {R"({"plan_time":7})", "plan_time"},
      {R"({"priority":"urgent"})", "priority"},
      {R"({"priority":null})", "priority"},
      {R"({"params":[]})", "params"},
      {R"({"params":{"a":1}})", "params.a"},
      {R"({"wait":true})", "wait"}};
  for (const auto& [body, field] : bad) {
    SCOPED_TRACE(body);
    expectProblem(post("/api/v1/flows/nightly/trigger", body), 400, "invalid_argument", field);
  }
  expectProblem(post("/api/v1/flows/nightly/trigger", "[]"), 400, "invalid_argument");
  expectProblem(post("/api/v1/flows/nightly/trigger",
                     Json{{"params", {{"a", std::string(128 * 1024, 'x')}}}}.dump()),
                413, "too_large", "params");
  EXPECT_TRUE(flows_.triggers.empty());
  flows_.fail = Error(ErrorCode::Overloaded, "the queue is full");
  expectProblem(post("/api/v1/flows/nightly/trigger"), 503, "overloaded");
}

// A backfill names a range or a list; a dry run is told as that.
TEST_F(FlowApiTest, ABackfillReachesThePort) {
  flows_.backfill_view = {.id = 5, .plan_times = {at("2026-01-01T00:00:00Z")}, .runs = {31}};
  const auto response =
      post("/api/v1/flows/nightly/backfill",
           R"({"from":"2026-01-01T00:00:00Z","to":"2026-01-31T00:00:00Z","parallel":4,)"
           R"("newest_first":true,"keep_going":true,"params":{"a":"1"}})");
  EXPECT_EQ(response.status, 201) << response.body;
  EXPECT_EQ(
      jsonOf(response),
      (Json{{"id", "5"}, {"items", {{{"plan_time", "2026-01-01T00:00:00Z"}, {"run_id", "31"}}}}}));
  const auto& backfill = flows_.backfills[0];
  EXPECT_EQ(backfill.flow, "nightly");
  EXPECT_EQ(backfill.from, at("2026-01-01T00:00:00Z"));
  EXPECT_EQ(backfill.to, at("2026-01-31T00:00:00Z"));
  EXPECT_EQ(backfill.parallel, 4);
  EXPECT_TRUE(backfill.newest_first);
  EXPECT_FALSE(backfill.stop_on_failure);
  flows_.backfill_view = {.id = 0, .plan_times = {at("2026-01-01T00:00:00Z")}, .runs = {}};
  const auto dry = post("/api/v1/flows/nightly/backfill",
                        R"({"plan_times":["2026-01-01T00:00:00Z"],"dry_run":true})");
  EXPECT_EQ(dry.status, 200);
  EXPECT_TRUE(jsonOf(dry)["id"].is_null());
  EXPECT_TRUE(jsonOf(dry)["items"][0]["run_id"].is_null());
  EXPECT_EQ(flows_.backfills[1].plan_times.size(), 1U);
  EXPECT_TRUE(flows_.backfills[1].stop_on_failure);
}

TEST_F(FlowApiTest, BadBackfillsAreRefusedByField) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {R"({})", "plan_times"},
      {R"({"plan_times":[]})", "plan_times"},
      {R"({"plan_times":"2026-01-01T00:00:00Z"})", "plan_times"},
      {R"({"plan_times":["2026-01-01T00:00:00Z","x"]})", "plan_times[1]"},
      {R"({"from":"2026-01-01T00:00:00Z"})", "to"},
      {R"({"to":"2026-01-01T00:00:00Z"})", "from"},
      {R"({"from":"2026-01-02T00:00:00Z","to":"2026-01-01T00:00:00Z"})", "to"},
      {R"({"from":"2026-01-02T00:00:00Z","plan_times":["2026-01-01T00:00:00Z"]})", "plan_times"},
      {R"({"plan_times":["2026-01-01T00:00:00Z"],"parallel":0})", "parallel"},
      {R"({"plan_times":["2026-01-01T00:00:00Z"],"parallel":101})", "parallel"},
      {R"({"plan_times":["2026-01-01T00:00:00Z"],"order":"x"})", "order"}};
  for (const auto& [body, field] : bad) {
    SCOPED_TRACE(body);
    expectProblem(post("/api/v1/flows/nightly/backfill", body), 400, "invalid_argument", field);
  }
  expectProblem(post("/api/v1/flows/nightly/backfill"), 400, "invalid_argument");
  EXPECT_TRUE(flows_.backfills.empty());
}

// The preview answers as the command line does, by the same function.
TEST_F(FlowApiTest, SchedulesArePreviewed) {
  const auto response =
      get("/api/v1/schedules/preview?cron=30%202%20*%20*%20*&timezone=America/New_York"
          "&after=2026-03-07T00:00:00-05:00&limit=2&gap=skip");
  ASSERT_EQ(response.status, 200) << response.body;
  const Json preview = jsonOf(response);
  EXPECT_EQ(preview["items"][0]["utc"], "2026-03-07T07:30:00Z");
  EXPECT_EQ(preview["items"][1]["utc"], "2026-03-09T06:30:00Z");
  EXPECT_EQ(preview["items"][1]["weekday"], "Monday");
  EXPECT_EQ(preview["next_clock_change"]["shift"], "forward by 1h");
  EXPECT_EQ(jsonOf(get("/api/v1/schedules/preview?cron=@daily&timezone=UTC"))["items"].size(), 5U);
  for (const auto& [query, field] : std::vector<std::pair<const char*, const char*>>{
           {"timezone=UTC", "cron"},
           {"cron=@daily", "timezone"},
           {"cron=90%20*%20*%20*%20*&timezone=UTC", "cron"},
           {"cron=@daily&timezone=Mars/Base", "timezone"},
           {"cron=@daily&timezone=UTC&gap=x", "gap"},
           {"cron=@daily&timezone=UTC&overlap=x", "overlap"},
           {"cron=@daily&timezone=UTC&dialect=x", "dialect"},
           {"cron=@daily&timezone=UTC&after=x", "after"},
           {"cron=@daily&timezone=UTC&limit=1001", "limit"},
           {"cron=@daily&timezone=UTC&zone=x", "zone"}}) {
    SCOPED_TRACE(query);
    expectProblem(get(std::string("/api/v1/schedules/preview?").append(query)), 400,
                  "invalid_argument", field);
  }
}

}  // namespace
}  // namespace baton::webapi::test
