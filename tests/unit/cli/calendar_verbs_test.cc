#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "tests/unit/cli/fake_cluster.h"
#include "tests/unit/conf/temporary_folder.h"

namespace baton::cli {
namespace {

const std::string kStored =
    "calendar: De\ndescription: \"ours\"\nworkdays: [mon, tue]\n"
    "holidays: [2025-12-25, 2026-01-01, 2030-01-01]\n";
const std::string kIcal =
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n"
    "BEGIN:VEVENT\r\nUID:a\r\nSUMMARY:Labour\r\nDTSTART;VALUE=DATE:20260501\r\nRRULE:FREQ="
    "YEARLY\r\n"
    "END:VEVENT\r\n"
    "BEGIN:VEVENT\r\nUID:b\r\nSUMMARY:worked\r\nDTSTART;VALUE=DATE:20260502\r\nEND:VEVENT\r\n"
    "BEGIN:VEVENT\r\nUID:c\r\nSUMMARY:lunch\r\nDTSTART:20260503T120000Z\r\nEND:VEVENT\r\n"
    "END:VCALENDAR\r\n";

std::string appliedAs(bool created, bool changed) {
  return Json{{"name", "De"},
              {"version", 2},
              {"created", created},
              {"changed", changed},
              {"changes", Json::array({"holidays +2026-05-01"})},
              {"flows", 2}}
      .dump();
}

class CalendarVerbsTest : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    return folder_.write(name, text);
  }
  FakeCluster cluster_;
  conf::TemporaryFolder folder_;
};

// All files must be well before the first is stored, and their faults are told with their places.
TEST_F(CalendarVerbsTest, ApplyChecksAllFilesFirst) {
  cluster_.on("POST /api/v1/calendars/apply",
              {{200, R"({"items":[)" + appliedAs(false, true) + "]}"}, {412, "version_conflict"}});
  const std::string good = file("de.yaml", kStored);
  const std::string bad = file("bad.yaml", "calendar: x\nholidays: [2026-02-30]\n");
  EXPECT_EQ(cluster_.run({"calendar", "apply", good, bad}), kExitUsage);
  EXPECT_NE(cluster_.err.str().find("bad.yaml:2:12: holidays[0]: is \"2026-02-30\""),
            std::string::npos)
      << cluster_.err.str();
  EXPECT_NE(cluster_.err.str().find("nothing was applied"), std::string::npos);
  EXPECT_TRUE(cluster_.requests().empty());
  EXPECT_EQ(cluster_.run({"calendar", "apply", good, good}), kExitUsage);
  EXPECT_EQ(cluster_.run({"calendar", "apply", good}), kExitOk) << cluster_.err.str();
  EXPECT_EQ(cluster_.out.str(),
            "calendar De version 2 stored, 2 flows were planned anew\n  holidays +2026-05-01\n");
  ASSERT_EQ(cluster_.requests().size(), 1U);
  EXPECT_EQ(*parseJson(cluster_.requests().at(0).body),
            (Json{{"calendars", Json::array({{{"file", good}, {"text", kStored}}})}}));
  // One answer for all of them: nobody has to find out which were stored.
  const std::string other = file("fr.yaml", "calendar: Fr\n");
  EXPECT_EQ(cluster_.run({"calendar", "apply", good, other}), kExitRefused);
  EXPECT_NE(cluster_.err.str().find("baton: nothing was applied\n"), std::string::npos);
  EXPECT_EQ((*parseJson(cluster_.requests().at(1).body))["calendars"].size(), 2U);
  EXPECT_EQ(cluster_.run({"calendar", "apply", "/nonexistent.yaml"}), kExitNotFound);
}

// The years of the file are replaced; other years, the week and the description stay. What somebody
// else changed meanwhile is read again.
TEST_F(CalendarVerbsTest, ImportReplacesItsYears) {
  FakeCluster::Answer stored{200, kStored};
  stored.etag = "\"v1\"";
  FakeCluster::Answer conflict{412, ""};
  conflict.problem = R"({"status":412,"code":"version_conflict","detail":"version is 2"})";
  cluster_.on("GET /api/v1/calendars/de", {stored});
  cluster_.on("PUT /api/v1/calendars/de", {conflict, {200, appliedAs(false, true)}});
  EXPECT_EQ(cluster_.run({"calendar", "import", "de", "-", "--from", "2026", "--until", "2027",
                          "--workday", "worked"},
                         kIcal),
            kExitOk)
      << cluster_.err.str();
  EXPECT_NE(cluster_.err.str().find("left out, as it does not last whole days: lunch"),
            std::string::npos);
  const auto requests = cluster_.requests();
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_EQ(requests[1].headers.get("If-Match"), "\"v1\"");
  EXPECT_EQ(requests[3].body,
            "calendar: \"De\"\ndescription: \"ours\"\nworkdays: [mon, tue]\nholidays:\n"
            "  - 2025-12-25\n  - 2026-05-01\n  - 2027-05-01\n  - 2030-01-01\n"
            "adjusted_workdays:\n  - 2026-05-02\n");
}

TEST_F(CalendarVerbsTest, ImportMakesACalendar) {
  cluster_.on("PUT /api/v1/calendars/new", {{201, appliedAs(true, true)}});
  const std::string ics = file("a.ics", kIcal);
  EXPECT_EQ(cluster_.run({"calendar", "import", "new", ics, "--from", "2026"}), kExitOk)
      << cluster_.err.str();
  EXPECT_EQ(cluster_.requests().at(1).headers.get("If-None-Match"), "*");
  EXPECT_EQ(cluster_.run({"calendar", "import", "new", ics, "--from", "2026", "--until", "2025"}),
            kExitUsage);
  EXPECT_EQ(cluster_.run({"calendar", "import", "new", ics, "--from", "1800"}), kExitUsage);
  EXPECT_EQ(cluster_.run({"calendar", "import", "a b", ics}), kExitUsage);
  EXPECT_EQ(cluster_.run({"calendar", "import", "new", ics, "--from", "2000", "--until", "2001"}),
            kExitUsage);
  EXPECT_NE(cluster_.err.str().find("no event lies between 2000-01-01 and 2001-12-31"),
            std::string::npos)
      << cluster_.err.str();
  EXPECT_EQ(cluster_.run({"calendar", "import", "new", "-"}, "rubbish"), kExitUsage);
  EXPECT_NE(cluster_.err.str().find("standard input: this is no whole iCalendar"),
            std::string::npos)
      << cluster_.err.str();
}

TEST_F(CalendarVerbsTest, CalendarsAreShownAndDeleted) {
  cluster_.on("GET /api/v1/calendars",
              R"({"items":[{"name":"De","version":2,"workdays":["mon","tue"],"holiday_count":3,)"
              R"("adjusted_workday_count":0,"last_day":"2030-01-01"}],"next_cursor":null})");
  EXPECT_EQ(cluster_.run({"calendar", "list"}), kExitOk);
  EXPECT_NE(cluster_.out.str().find("mon tue"), std::string::npos) << cluster_.out.str();
  cluster_.on("GET /api/v1/calendars/De",
              R"({"name":"De","version":2,"workdays":["mon"],"author":"ann",)"
              R"("updated_at":"2026-11-01T00:00:00Z","last_day":"2030-01-01",)"
              R"("holidays":["2026-01-01","2030-01-01"],"adjusted_workdays":[]})");
  EXPECT_EQ(cluster_.run({"calendar", "get", "De"}), kExitOk);
  for (const char* words :
       {"2 by ann at 2026-11-01T00:00:00Z", "behind it the week alone counts"}) {
    EXPECT_NE(cluster_.out.str().find(words), std::string::npos) << cluster_.out.str();
  }
  cluster_.on("DELETE /api/v1/calendars/De", R"({"name":"De"})");
  EXPECT_EQ(cluster_.run({"calendar", "delete", "De"}), kExitUsage) << "nobody can be asked";
  EXPECT_EQ(cluster_.run({"calendar", "delete", "nope"}), kExitNotFound);
  EXPECT_EQ(cluster_.run({"calendar", "delete", "De", "-y"}), kExitOk);
  EXPECT_EQ(cluster_.out.str(), "calendar De deleted\n");
  EXPECT_EQ(cluster_.run({"calendar", "delete", "nope", "-y"}), kExitNotFound);
}

}  // namespace
}  // namespace baton::cli
