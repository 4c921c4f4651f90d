// What a repeated request is told, and who refuses its key.
#include <gtest/gtest.h>

#include "tests/unit/webapi/web_fixture.h"
#include "webapi/route_spec.h"

namespace baton::webapi::test {
namespace {

class IdempotencyApiTest : public WebTest {
 protected:
  static std::string replayedOf(const net::HttpResponse& response) {
    return std::string(response.headers.get("Idempotency-Replayed"));
  }
};

// Whatever makes something says whether it is the answer to an earlier request.
TEST_F(IdempotencyApiTest, ARepeatIsMarked) {
  const std::string text = "flow: n\ntasks: {a: {command: [x]}}\n";
  const Json batch = {{"flows", {{{"text", text}}}}};
  for (const bool replayed : {false, true}) {
    flows_.replayed = runs_.replayed = replayed;
    flows_.applied.replayed = flows_.backfill_view.replayed = replayed;
    flows_.all_applied.flows = {flows_.applied};
    const std::string expected = replayed ? "true" : "";
    EXPECT_EQ(replayedOf(post("/api/v1/flows/n/trigger", "{}")), expected);
    EXPECT_EQ(
        replayedOf(post("/api/v1/flows/n/backfill", R"({"plan_times":["2026-01-01T00:00:00Z"]})")),
        expected);
    EXPECT_EQ(replayedOf(post("/api/v1/flows/apply", batch.dump())), expected);
    EXPECT_EQ(replayedOf(send("PUT", "/api/v1/flows/n", Json(text).dump())), expected);
    EXPECT_EQ(replayedOf(
                  post("/api/v1/missed/run", R"({"flow":"n","plan_time":"2026-01-01T00:00:00Z"})")),
              expected);
  }
}

// Where nobody looks at a key it is refused: who sends it counts on a repeat being known.
TEST_F(IdempotencyApiTest, AKeyThatNobodyLooksAtIsRefused) {
  size_t refused = 0;
  for (const RouteSpec& spec : routeSpecs()) {
    if (spec.method == "GET" || spec.idempotency_key) continue;
    std::string path(spec.pattern);
    for (size_t at; (at = path.find('{')) != path.npos;) {
      path.replace(at, path.find('}') - at + 1, "1");
    }
    const bool worker = spec.access == Access::Worker;
    const auto response =
        sendRaw(std::string(spec.method), path, {},
                {{"Authorization", std::string("Bearer ") + (worker ? kWorkerToken : kClientToken)},
                 {"Idempotency-Key", "k"}});
    SCOPED_TRACE(spec.operation);
    expectProblem(response, 400, "invalid_argument", "Idempotency-Key");
    ++refused;
  }
  EXPECT_GT(refused, 20U);
  EXPECT_EQ(
      sendRaw("GET", "/api/v1/calendars", {},
              {{"Authorization", std::string("Bearer ") + kClientToken}, {"Idempotency-Key", "k"}})
          .status,
      200);
}

}  // namespace
}  // namespace baton::webapi::test
