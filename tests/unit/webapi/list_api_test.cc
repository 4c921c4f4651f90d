// Lists that a port gives whole: of runners, hosts, groups and limits.
#include <gtest/gtest.h>

#include "tests/unit/webapi/web_fixture.h"
#include "webapi/list_cursor.h"

namespace baton::webapi::test {
namespace {

using master::api::HostView;
using master::api::LimitView;
using master::api::RunnerView;

HostView hostOf(const std::string& worker, const std::string& host, const std::string& state,
                const std::string& health) {
  HostView view;
  view.worker_id = worker;
  view.host = host;
  view.state = state;
  view.health = health;
  return view;
}

RunnerView runnerOf(const std::string& worker, int number, const std::string& state) {
  RunnerView view;
  view.record.runner_id = fmt::format("{}:{}", worker, number);
  view.record.worker_id = worker;
  view.record.host = "host-of-" + worker;
  view.state = state;
  return view;
}

LimitView limitOf(LimitKind kind, const std::string& name) {
  LimitView view;
  view.record.kind = kind;
  view.record.name = name;
  return view;
}

class ListApiTest : public WebTest {
 protected:
  // The items' members of a page, with their total behind.
  std::string shown(const std::string& target, const char* member) {
    const Json page = jsonOf(get(target));
    if (!page.contains("items")) return page.dump();
    std::string text;
    for (const Json& item : page["items"]) {
      text += (item[member].is_null() ? "null" : item[member].get<std::string>()) + " ";
    }
    if (page.contains("total")) text += "of " + page["total"].dump();
    return text;
  }
  // The same of all pages, one item each.
  std::string paged(const std::string& target, const char* member) {
    std::string text;
    std::string cursor;
    for (int i = 0; i < 20; ++i) {
      const Json page = jsonOf(get(target + "?limit=1" + cursor));
      for (const Json& item : page.at("items")) text += item[member].dump() + " ";
      if (page["next_cursor"].is_null()) return text;
      cursor = "&cursor=" + page["next_cursor"].get<std::string>();
    }
    return text + "without end";
  }
};

// What a port does not give whole it is asked for.
TEST_F(ListApiTest, FlowsAreAskedForByOwnerAndTag) {
  master::api::FlowView flow;
  flow.record.name = "f";
  flow.owner = "me";
  flow.tags = {"nightly", "dwh"};
  flows_.list.items = {flow};
  flows_.list.total = 3;
  const Json page = jsonOf(get("/api/v1/flows?owner=me&tag=dwh&total=true"));
  EXPECT_EQ(flows_.last_query.owner, "me");
  EXPECT_EQ(flows_.last_query.tag, "dwh");
  EXPECT_TRUE(flows_.last_query.total);
  EXPECT_EQ(page["total"], 3);
  EXPECT_EQ(page["items"][0]["owner"], "me");
  EXPECT_EQ(page["items"][0]["tags"], (Json{"nightly", "dwh"}));
  flows_.fail = Error(ErrorCode::Overloaded, "repeat in a moment");
  expectProblem(get("/api/v1/flows?owner=me"), 503, "overloaded");
}

TEST_F(ListApiTest, HostsAreFilteredAndPaged) {
  hosts_.host_list = {hostOf("w2", "b", "drained", "healthy"), hostOf("w1", "a", "active", "dead"),
                      hostOf("", "absent", "excluded", "unknown"),
                      hostOf("w3", "a", "draining", "suspect")};
  // Workers by their ids, and then names that no worker has.
  EXPECT_EQ(paged("/api/v1/hosts", "worker_id"), R"("w1" "w2" "w3" null )");
  EXPECT_EQ(shown("/api/v1/hosts?limit=2&total=true", "worker_id"), "w1 w2 of 4");
  EXPECT_EQ(shown("/api/v1/hosts?state=draining,drained", "worker_id"), "w2 w3 ");
  EXPECT_EQ(shown("/api/v1/hosts?state=draining&state=active&total=true", "worker_id"),
            "w1 w3 of 2");
  EXPECT_EQ(shown("/api/v1/hosts?health=dead,unknown", "host"), "a absent ");
  EXPECT_EQ(shown("/api/v1/hosts?name=a", "worker_id"), "w1 w3 ");
  EXPECT_EQ(shown("/api/v1/hosts?name=w2", "worker_id"), "w2 ");
  EXPECT_EQ(shown("/api/v1/hosts?name=w", "worker_id"), "");
  EXPECT_EQ(shown("/api/v1/hosts?q=w", "worker_id"), "w1 w2 w3 ");
  EXPECT_EQ(shown("/api/v1/hosts?q=sent", "host"), "absent ");
}

TEST_F(ListApiTest, RunnersAreFilteredAndPaged) {
  hosts_.runner_list = {runnerOf("w1", 0, "idle"), runnerOf("w1", 1, "busy"),
                        runnerOf("w2", 0, "lost")};
  EXPECT_EQ(paged("/api/v1/runners", "runner_id"), R"("w1:0" "w1:1" "w2:0" )");
  EXPECT_EQ(shown("/api/v1/runners?state=busy,lost&total=true", "runner_id"), "w1:1 w2:0 of 2");
  EXPECT_EQ(shown("/api/v1/runners?worker=w1", "runner_id"), "w1:0 w1:1 ");
  EXPECT_EQ(shown("/api/v1/runners?host=host-of-w2", "runner_id"), "w2:0 ");
  EXPECT_EQ(shown("/api/v1/runners?name=w1:1", "runner_id"), "w1:1 ");
  EXPECT_EQ(shown("/api/v1/runners?q=:0&worker=w1", "runner_id"), "w1:0 ");
  EXPECT_EQ(shown("/api/v1/runners?limit=1&total=true", "runner_id"), "w1:0 of 3");
}

TEST_F(ListApiTest, GroupsAreFilteredAndPaged) {
  groups_.views = {limitOf(LimitKind::Group, "etl"), limitOf(LimitKind::Group, "dwh"),
                   limitOf(LimitKind::Group, "night")};
  groups_.views[0].has_row = false;
  groups_.views[2].open = false;
  EXPECT_EQ(paged("/api/v1/groups", "name"), R"("dwh" "etl" "night" )");
  EXPECT_EQ(shown("/api/v1/groups?set=true&total=true", "name"), "dwh night of 2");
  EXPECT_EQ(shown("/api/v1/groups?set=false", "name"), "etl ");
  EXPECT_EQ(shown("/api/v1/groups?open=false", "name"), "night ");
  EXPECT_EQ(shown("/api/v1/groups?open=true&q=t", "name"), "etl ");
  EXPECT_EQ(shown("/api/v1/groups?name=dwh", "name"), "dwh ");
}

// By kind and name, and names may be of any characters.
TEST_F(ListApiTest, LimitsAreFilteredAndPaged) {
  groups_.views = {limitOf(LimitKind::Host, "db-1"), limitOf(LimitKind::User, "ann/& ä~"),
                   limitOf(LimitKind::Flow, "nightly"), limitOf(LimitKind::User, "bob")};
  EXPECT_EQ(paged("/api/v1/limits", "name"), R"("nightly" "db-1" "ann/& ä~" "bob" )");
  EXPECT_EQ(shown("/api/v1/limits?kind=user,host&total=true", "name"), "db-1 ann/& ä~ bob of 3");
  EXPECT_EQ(shown("/api/v1/limits?q=b", "name"), "db-1 bob ");
  EXPECT_EQ(shown("/api/v1/limits?name=bob&kind=user", "name"), "bob ");
}

// What is wrong is refused by its name, and what is unknown with the names of those that are known.
TEST_F(ListApiTest, WrongParametersAreRefusedByName) {
  for (const auto& [target, field] :
       std::vector<std::pair<std::string, std::string>>{{"hosts?state=idle", "state"},
                                                        {"hosts?health=well", "health"},
                                                        {"hosts?limit=0", "limit"},
                                                        {"hosts?limit=010", "limit"},
                                                        {"hosts?cursor=n-w1", "cursor"},
                                                        {"hosts?cursor=h-", "cursor"},
                                                        {"hosts?cursor=h-a%20b", "cursor"},
                                                        {"hosts?cursor=h-a~", "cursor"},
                                                        {"hosts?cursor=h-a~2", "cursor"},
                                                        {"hosts?cursor=h-a~zz", "cursor"},
                                                        {"hosts?total=yes", "total"},
                                                        {"hosts?q=", "q"},
                                                        {"runners?state=active", "state"},
                                                        {"runners?health=dead", "health"},
                                                        {"groups?set=1", "set"},
                                                        {"groups?state=open", "state"},
                                                        {"limits?kind=group", "kind"}}) {
    SCOPED_TRACE(target);
    expectProblem(get("/api/v1/" + target), 400, "invalid_argument", field);
  }
  EXPECT_EQ(jsonOf(get("/api/v1/groups?state=open"))["detail"],
            "state: is not a parameter of this address; known are name, q, set, open, limit, "
            "cursor, total");
}

// The longest name still makes a cursor that is understood.
TEST_F(ListApiTest, ALongNameMakesAReadableCursor) {
  const std::string longest(255, '/');
  groups_.views = {limitOf(LimitKind::Flow, longest), limitOf(LimitKind::Host, "x")};
  const Json page = jsonOf(get("/api/v1/limits?limit=1"));
  EXPECT_EQ(page["items"][0]["name"], longest);
  const std::string cursor = page["next_cursor"];
  EXPECT_EQ(shown("/api/v1/limits?cursor=" + cursor, "name"), "x ");
}

}  // namespace
}  // namespace baton::webapi::test
