#include <gtest/gtest.h>

#include "tests/unit/webapi/web_fixture.h"

namespace baton::webapi::test {
namespace {

class ParamApiTest : public WebTest {
 protected:
  void SetUp() override {
    WebTest::SetUp();
    params_.is_set.param = {.name = "region",
                            .version = 3,
                            .value = "eu",
                            .author = "client",
                            .updated_at = *parseRfc3339("2026-11-02T00:00:00Z"),
                            .deleted = false};
    params_.is_set.changed = true;
  }
};

TEST_F(ParamApiTest, ParametersAreShown) {
  const auto response = get("/api/v1/params/region");
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(params_.asked, "region");
  EXPECT_EQ(response.headers.get("ETag"), "\"v3\"");
  EXPECT_EQ(jsonOf(response), (Json{{"name", "region"},
                                    {"version", 3},
                                    {"value", "eu"},
                                    {"author", "client"},
                                    {"updated_at", "2026-11-02T00:00:00Z"}}));
  const Json list = jsonOf(get("/api/v1/params"));
  EXPECT_EQ(list["items"].size(), 1U);
  EXPECT_TRUE(list["next_cursor"].is_null());
  expectProblem(get("/api/v1/params?limit=3"), 400, "invalid_argument", "limit");
  params_.fail = Error::notFound("there is no parameter x of the project");
  expectProblem(get("/api/v1/params/x"), 404, "not_found");
}

// A value is text, and a version may be asked for as of definitions.
TEST_F(ParamApiTest, AParameterIsSet) {
  auto response =
      send("PUT", "/api/v1/params/region", R"({"value":"eu"})", {{"If-Match", "\"v2\""}});
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.headers.get("ETag"), "\"v3\"");
  EXPECT_EQ(jsonOf(response)["changed"], true);
  ASSERT_EQ(params_.sets.size(), 1U);
  EXPECT_EQ(params_.sets[0].name, "region");
  EXPECT_EQ(params_.sets[0].value, "eu");
  EXPECT_EQ(params_.sets[0].if_version, 2U);
  EXPECT_EQ(params_.sets[0].request.principal, "client");
  params_.is_set.created = true;
  response = send("PUT", "/api/v1/params/region", R"({"value":""})", {{"If-None-Match", "*"}});
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.headers.get("Location"), "/api/v1/params/region");
  EXPECT_EQ(params_.sets[1].if_version, 0U);
  for (const auto& [body, field] :
       std::vector<std::pair<const char*, const char*>>{{"{}", "value"},
                                                        {R"({"value":1})", "value"},
                                                        {R"({"value":null})", "value"},
                                                        {R"({"value":"x","more":1})", "more"}}) {
    expectProblem(send("PUT", "/api/v1/params/region", body), 400, "invalid_argument", field);
  }
  EXPECT_EQ(params_.sets.size(), 2U);
  params_.fail = Error(ErrorCode::Conflict, "parameter region is at version 3", "version");
  expectProblem(send("PUT", "/api/v1/params/region", R"({"value":"x"})"), 412, "version_conflict",
                "version");
}

TEST_F(ParamApiTest, AParameterIsDeleted) {
  EXPECT_EQ(send("DELETE", "/api/v1/params/region").status, 200);
  ASSERT_EQ(params_.removed.size(), 1U);
  EXPECT_EQ(params_.removed[0].first, "region");
  params_.fail = Error::conflict("parameter region is used by F");
  const auto refused = send("DELETE", "/api/v1/params/region");
  EXPECT_EQ(refused.status, 409);
  EXPECT_NE(refused.body.find("is used by F"), std::string::npos) << refused.body;
}

}  // namespace
}  // namespace baton::webapi::test
