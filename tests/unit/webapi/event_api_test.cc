#include <gtest/gtest.h>

#include "tests/unit/webapi/web_fixture.h"

namespace baton::webapi::test {
namespace {

class EventApiTest : public WebTest {
 protected:
  void SetUp() override {
    WebTest::SetUp();
    EventRecord& event = events_.answer.event;
    event.id = 9;
    event.name = "fx-rates";
    event.key = "2026-11-29";
    event.data = R"({"rows":"5"})";
    event.happened_at = *parseRfc3339("2026-11-29T06:00:00Z");
    event.created_at = *parseRfc3339("2026-11-29T06:00:01Z");
  }
};

// A new event is 201, one that was there 200; both answer the stored one.
TEST_F(EventApiTest, AnEventIsSent) {
  const auto response = post("/api/v1/events",
                             R"({"name":"fx-rates","key":"2026-11-29","data":{"rows":"5"},)"
                             R"("happened_at":"2026-11-29T07:00:00+01:00"})",
                             {{"Idempotency-Key", "k"}});
  EXPECT_EQ(response.status, 201) << response.body;
  EXPECT_EQ(jsonOf(response), (Json{{"id", "9"},
                                    {"name", "fx-rates"},
                                    {"key", "2026-11-29"},
                                    {"data", {{"rows", "5"}}},
                                    {"happened_at", "2026-11-29T06:00:00Z"},
                                    {"principal", nullptr},
                                    {"created_at", "2026-11-29T06:00:01Z"},
                                    {"known", false}}));
  const auto& sent = events_.sent.at(0);
  EXPECT_EQ(sent.name, "fx-rates");
  EXPECT_EQ(sent.key, "2026-11-29");
  EXPECT_EQ(sent.data.at("rows"), "5");
  EXPECT_EQ(sent.happened_at, events_.answer.event.happened_at);
  EXPECT_EQ(sent.request.idempotency_key, "k");
  EXPECT_EQ(sent.request.principal, "client");
  EXPECT_EQ(response.headers.find("Idempotency-Replayed"), nullptr);
  events_.answer.replayed = true;
  const auto repeated =
      post("/api/v1/events", R"({"name":"fx-rates","key":"k"})", {{"Idempotency-Key", "k"}});
  EXPECT_EQ(repeated.status, 201);
  EXPECT_EQ(repeated.headers.get("Idempotency-Replayed"), "true");
  events_.answer.replayed = false;
  events_.answer.known = true;
  const auto again = post("/api/v1/events", R"({"name":"fx-rates","key":"2026-11-29"})");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(jsonOf(again)["known"], true);
  EXPECT_FALSE(events_.sent.at(2).happened_at.has_value());
}

TEST_F(EventApiTest, BadEventsAreRefusedByField) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {R"({"key":"k"})", "name"},
      {R"({"name":"","key":"k"})", "name"},
      {R"({"name":"a b","key":"k"})", "name"},
      {R"({"name":"a"})", "key"},
      {R"({"name":"a","key":""})", "key"},
      {R"({"name":"a","key":"a\nb"})", "key"},
      {R"({"name":"a","key":5})", "key"},
      {Json{{"name", "a"}, {"key", std::string(129, 'k')}}.dump(), "key"},
      {R"({"name":"a","key":"k","data":[]})", "data"},
      {R"({"name":"a","key":"k","data":{"n":1}})", "data.n"},
      {R"({"name":"a","key":"k","happened_at":"now"})", "happened_at"},
      {R"({"name":"a","key":"k","at":"now"})", "at"}};
  for (const auto& [body, field] : bad) {
    SCOPED_TRACE(body);
    expectProblem(post("/api/v1/events", body), 400, "invalid_argument", field);
  }
  expectProblem(
      post("/api/v1/events",
           Json{{"name", "a"}, {"key", "k"}, {"data", {{"x", std::string(65'536, 'x')}}}}.dump()),
      413, "too_large", "data");
  expectProblem(post("/api/v1/events", std::string(512 * 1024 + 1, ' ')), 413, "body_too_large");
  EXPECT_TRUE(events_.sent.empty());
  events_.fail = Error(ErrorCode::NotActive, "");
  expectProblem(post("/api/v1/events", R"({"name":"a","key":"k"})"), 503, "not_active");
}

TEST_F(EventApiTest, EventsAreListedByPages) {
  events_.list.items = {events_.answer.event};
  events_.list.more = true;
  const Json page = jsonOf(get("/api/v1/events?name=fx-rates&limit=1"));
  EXPECT_EQ(page["items"][0]["id"], "9");
  EXPECT_FALSE(page["items"][0].contains("known"));
  events_.list.more = false;
  const std::string cursor = page["next_cursor"];
  EXPECT_TRUE(jsonOf(get("/api/v1/events?cursor=" + cursor))["next_cursor"].is_null());
  EXPECT_EQ(events_.asked.name, "");
  EXPECT_EQ(events_.asked.before, 9u);
  EXPECT_EQ(events_.asked.limit, 50u);
  events_.list.total = 12;
  EXPECT_EQ(jsonOf(get("/api/v1/events?q=rate&key=2026-11-29&happened_from=2026-11-29T00:00:00Z"
                       "&happened_before=2026-11-30T00:00:00Z&total=true"))["total"],
            12);
  EXPECT_EQ(events_.asked.text, "rate");
  EXPECT_EQ(events_.asked.key, "2026-11-29");
  EXPECT_EQ(events_.asked.happened_from, *parseRfc3339("2026-11-29T00:00:00Z"));
  EXPECT_EQ(events_.asked.happened_before, *parseRfc3339("2026-11-30T00:00:00Z"));
  EXPECT_TRUE(events_.asked.total);
  expectProblem(get("/api/v1/events?cursor=9"), 400, "invalid_argument", "cursor");
  expectProblem(get("/api/v1/events?name="), 400, "invalid_argument", "name");
  expectProblem(get("/api/v1/events?keys=x"), 400, "invalid_argument", "keys");
  expectProblem(get("/api/v1/events?happened_from=x"), 400, "invalid_argument", "happened_from");
  events_.list.items[0].data = "broken";
  expectProblem(get("/api/v1/events"), 500, "internal");
}

// A standby refuses all that belongs to the active one.
TEST_F(EventApiTest, AStandbyNamesTheActiveMaster) {
  cluster_.active = false;
  for (const char* target :
       {"/api/v1/flows", "/api/v1/flows/a", "/api/v1/runs", "/api/v1/runs/1", "/api/v1/missed",
        "/api/v1/events", "/api/v1/schedules/preview?cron=@daily&timezone=UTC"}) {
    expectProblem(get(target), 503, "not_active");
  }
}

}  // namespace
}  // namespace baton::webapi::test
