#include <gtest/gtest.h>

#include "tests/unit/webapi/web_fixture.h"

namespace baton::webapi::test {
namespace {

constexpr const char* kCalendarText = "calendar: De\nholidays: [2026-12-25]\n";

class CalendarApiTest : public WebTest {
 protected:
  void SetUp() override {
    WebTest::SetUp();
    master::api::CalendarView& view = calendars_.view;
    view.record = {.name = "De",
                   .version = 3,
                   .text = kCalendarText,
                   .author = "client",
                   .created_at = *parseRfc3339("2026-11-01T00:00:00Z"),
                   .updated_at = *parseRfc3339("2026-11-02T00:00:00Z"),
                   .deleted = false};
    view.description = "Germany";
    view.workdays = {"mon", "fri"};
    view.holidays = {"2026-12-25..2026-12-27"};
    view.holiday_count = 3;
    view.last_day = "2026-12-27";
    calendars_.applied.calendar = view;
    calendars_.applied.changed = true;
    calendars_.applied.changes = {"holidays +2026-12-25"};
    calendars_.applied.flows = 2;
  }
  net::HttpResponse put(const std::string& target, Headers more = {}) {
    more.emplace_back("Authorization", std::string("Bearer ").append(kClientToken));
    more.emplace_back("Content-Type", "application/yaml");
    return sendRaw("PUT", target, kCalendarText, more);
  }
};

TEST_F(CalendarApiTest, ACalendarIsShownWithItsDays) {
  const auto response = get("/api/v1/calendars/de");
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.headers.get("ETag"), "\"v3\"");
  EXPECT_EQ(calendars_.asked, "de");
  const Json json = jsonOf(response);
  EXPECT_EQ(json["name"], "De");
  EXPECT_EQ(json["workdays"], Json({"mon", "fri"}));
  EXPECT_EQ(json["holidays"], Json::array({"2026-12-25..2026-12-27"}));
  EXPECT_EQ(json["last_day"], "2026-12-27");
  EXPECT_EQ(json["text"], kCalendarText);
  const auto yaml = send("GET", "/api/v1/calendars/de", "", {{"Accept", "application/yaml"}});
  EXPECT_EQ(yaml.body, kCalendarText);
}

TEST_F(CalendarApiTest, CalendarsAreListedByPages) {
  calendars_.list.items = {calendars_.view};
  calendars_.list.more = true;
  const Json page = jsonOf(get("/api/v1/calendars?limit=1"));
  EXPECT_EQ(calendars_.list_asked, (std::pair<std::string, uint32_t>("", 1)));
  EXPECT_EQ(page["items"][0]["holiday_count"], 3);
  EXPECT_FALSE(page["items"][0].contains("text"));
  const std::string cursor = page["next_cursor"];
  calendars_.list.more = false;
  EXPECT_TRUE(jsonOf(get("/api/v1/calendars?cursor=" + cursor))["next_cursor"].is_null());
  EXPECT_EQ(calendars_.list_asked.first, "de");
  for (const auto& [query, field] : std::vector<std::pair<const char*, const char*>>{
           {"cursor=x", "cursor"}, {"cursor=c-", "cursor"}, {"limit=0", "limit"}, {"q=x", "q"}}) {
    expectProblem(get(std::string("/api/v1/calendars?").append(query)), 400, "invalid_argument",
                  field);
  }
}

TEST_F(CalendarApiTest, AnAppliedCalendarReachesThePort) {
  // Where nobody looks at a condition it is not taken for met.
  expectProblem(send("DELETE", "/api/v1/calendars/de", {}, {{"If-Match", "\"v2\""}}), 400,
                "invalid_argument", "If-Match");
  auto response = put("/api/v1/calendars/de", {{"If-Match", "\"v2\""}});
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.headers.get("ETag"), "\"v3\"");
  EXPECT_EQ(calendars_.applies.at(0).name, "de");
  EXPECT_EQ(calendars_.applies.at(0).text, kCalendarText);
  EXPECT_EQ(calendars_.applies.at(0).if_version, 2U);
  EXPECT_EQ(calendars_.applies.at(0).request.principal, "client");
  const Json json = jsonOf(response);
  EXPECT_EQ(json["flows"], 2);
  EXPECT_EQ(json["changes"], Json::array({"holidays +2026-12-25"}));
  calendars_.applied.created = true;
  response = put("/api/v1/calendars/de", {{"If-None-Match", "*"}});
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.headers.get("Location"), "/api/v1/calendars/De");
  response = put("/api/v1/calendars/de?dry_run=true");
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(calendars_.applies.back().dry_run);
  EXPECT_TRUE(response.headers.get("ETag").empty());
}

TEST_F(CalendarApiTest, SeveralReachThePortTogether) {
  calendars_.all_applied.calendars = {calendars_.applied, calendars_.applied};
  const auto response =
      post("/api/v1/calendars/apply", R"({"calendars":[{"text":"calendar: De","file":"de.yaml"},)"
                                      R"({"text":"calendar: Fr","if_version":0}]})");
  ASSERT_EQ(response.status, 200) << response.body;
  ASSERT_EQ(calendars_.applies.size(), 2U);
  EXPECT_EQ(calendars_.applies[0].file, "de.yaml");
  EXPECT_FALSE(calendars_.applies[0].if_version.has_value());
  EXPECT_EQ(calendars_.applies[1].file, "calendars[1]");
  EXPECT_EQ(calendars_.applies[1].if_version, 0U);
  for (const auto& apply : calendars_.applies) {
    EXPECT_FALSE(apply.dry_run);
    EXPECT_EQ(apply.request.principal, "client");
  }
  const Json answer = jsonOf(response);
  ASSERT_EQ(answer["items"].size(), 2U);
  EXPECT_EQ(answer["items"][0]["name"], "De");
  post("/api/v1/calendars/apply", R"({"calendars":[{"text":"calendar: De"}],"dry_run":true})");
  EXPECT_TRUE(calendars_.applies.at(0).dry_run);
  calendars_.all_applied.errors = {{"b.yaml", 1, 1, "calendar", "is not there", false}};
  const auto wrong = post("/api/v1/calendars/apply", R"({"calendars":[{"text":"x"}]})");
  expectProblem(wrong, 400, "invalid_definition");
  EXPECT_EQ(jsonOf(wrong)["errors"][0]["file"], "b.yaml");
  calendars_.fail = Error(ErrorCode::Conflict, "is at version 4", "version");
  expectProblem(post("/api/v1/calendars/apply", R"({"calendars":[{"text":"x"}]})"), 412,
                "version_conflict", "version");
  calendars_.applies.clear();
  for (const auto& [body, field] : std::vector<std::pair<std::string, const char*>>{
           {"{}", "calendars"},
           {R"({"calendars":[]})", "calendars"},
           {R"({"calendars":[{}]})", "calendars[0].text"},
           {R"({"calendars":[{"text":"x","name":"x"}]})", "calendars[0].name"},
           {R"({"calendars":[{"text":"x"}],"online":true})", "online"}}) {
    SCOPED_TRACE(body);
    expectProblem(post("/api/v1/calendars/apply", body), 400, "invalid_argument", field);
  }
  EXPECT_TRUE(calendars_.applies.empty());
}

TEST_F(CalendarApiTest, RefusalsSayWhatIsWrong) {
  expectProblem(put("/api/v1/calendars/a%20b"), 400, "invalid_argument", "name");
  expectProblem(put("/api/v1/calendars/a?x=1"), 400, "invalid_argument", "x");
  calendars_.applied.errors = {{"de", 2, 12, "holidays[0]", "is \"x\"", false}};
  const auto wrong = put("/api/v1/calendars/de");
  expectProblem(wrong, 400, "invalid_definition");
  EXPECT_EQ(jsonOf(wrong)["errors"][0]["line"], 2);
  calendars_.fail = Error(ErrorCode::Conflict, "is at version 4", "version");
  expectProblem(put("/api/v1/calendars/de"), 412, "version_conflict", "version");
  calendars_.fail = Error::conflict("calendar De is followed by F");
  expectProblem(send("DELETE", "/api/v1/calendars/de"), 409, "conflict");
  calendars_.fail = Error::notFound("there is no calendar x");
  expectProblem(get("/api/v1/calendars/x"), 404, "not_found");
  expectProblem(get("/api/v1/calendars/a%20b"), 404, "not_found");
  calendars_.fail.reset();
  EXPECT_EQ(jsonOf(send("DELETE", "/api/v1/calendars/de"))["name"], "De");
  EXPECT_EQ(calendars_.removed.back().first, "de");
}

}  // namespace
}  // namespace baton::webapi::test
