#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace baton::webapi {

// Who may use a route. A worker token opens nothing but Worker and Any.
enum class Access : uint8_t { Open, Client, Worker, Any };
enum class BodyRule : uint8_t { None, Optional, Required };

struct QueryParam {
  std::string_view name;
  std::string_view schema;  // JSON Schema text.
  std::string_view doc;
  bool repeatable = false;
};

// Parameters that lists have in common.
inline constexpr QueryParam kPageLimit{"limit", R"({"type":"integer","minimum":1,"maximum":1000})",
                                       "Items at most, default 50."};
// Of lists that the master holds in memory.
inline constexpr QueryParam kHeldLimit{"limit", R"({"type":"integer","minimum":1,"maximum":1000})",
                                       "Items at most, default 1000."};
inline constexpr QueryParam kPageCursor{"cursor", R"({"type":"string"})",
                                        "next_cursor of the page before."};
inline constexpr QueryParam kPageTotal{"total", R"({"type":"boolean"})",
                                       "Count all that match, too."};
constexpr QueryParam textParam(std::string_view name, std::string_view doc) {
  return {.name = name, .schema = R"({"type":"string"})", .doc = doc};
}
// Words by commas or repetition.
constexpr QueryParam wordsParam(std::string_view name, std::string_view doc) {
  return {.name = name, .schema = R"({"type":"string"})", .doc = doc, .repeatable = true};
}
constexpr QueryParam flagParam(std::string_view name, std::string_view doc) {
  return {.name = name, .schema = R"({"type":"boolean"})", .doc = doc};
}
constexpr QueryParam timeParam(std::string_view name, std::string_view doc) {
  return {.name = name, .schema = R"({"type":"string","format":"date-time"})", .doc = doc};
}

// One row of the table from which the router, the checks before a handler and the OpenAPI document
// are made.
struct RouteSpec {
  std::string_view operation;  // Unique; names the handler and is the operationId.
  std::string_view method;
  std::string_view pattern;  // "/api/v1/tasks/{id}"; a parameter is a whole segment.
  std::string_view tag;
  std::string_view summary;
  Access access = Access::Client;
  bool on_io = false;    // Runs on the I/O thread: the handler never blocks.
  bool standby = false;  // Answered by a master that does not lead, too.
  bool held = false;     // The answer may be held on purpose: never counted as slow.
  std::span<const QueryParam> query = {};
  BodyRule body = BodyRule::None;
  bool any_content_type = false;   // The body is JSON whatever its Content-Type says.
  size_t body_bytes_max = 0;       // 0: the cap of the server if a body is required, else 64 KB.
  bool yaml_body = false;          // The body may be YAML as well; the handler reads it.
  std::string_view body_schema{};  // Name under components/schemas.
  bool idempotency_key = false;
  bool preconditions = false;  // If-Match and If-None-Match are heard.
  int ok_status = 200;
  int other_ok_status = 0;  // Another good one; 0: none.
  std::string_view answer_type = "application/json";
  bool yaml_answer = false;          // YAML for who accepts that.
  std::string_view answer_schema{};  // Name under components/schemas; empty: not JSON.
};

// Every route of the master. The heartbeat stands first: it is most of the traffic.
std::span<const RouteSpec> routeSpecs();

// Its parts by noun.
std::span<const RouteSpec> coreRoutes();      // Tasks, runners, the cluster and the service itself.
std::span<const RouteSpec> flowRoutes();      // Flows and schedules.
std::span<const RouteSpec> runRoutes();       // Runs, missed instants and events.
std::span<const RouteSpec> activityRoutes();  // The audit log and the stream of changes.

}  // namespace baton::webapi
