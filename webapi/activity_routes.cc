#include <array>

#include "webapi/route_spec.h"

namespace baton::webapi {
namespace {

constexpr std::array kAuditQuery{
    QueryParam{"kind", R"({"type":"string"})", "task, run, flow, missed, event, …"},
    QueryParam{"action", R"({"type":"string"})", "Such as task.stop."},
    QueryParam{"object", R"({"type":"string"})", "Id or name of what it was about."},
    QueryParam{"principal", R"({"type":"string"})", "Who asked."},
    QueryParam{"request_id", R"({"type":"string"})", "X-Request-Id of the request."},
    QueryParam{"outcome", R"({"type":"string","enum":["done","refused"]})", "Default: both."},
    QueryParam{"from", R"({"type":"string","format":"date-time"})", "Included."},
    QueryParam{"before", R"({"type":"string","format":"date-time"})", "Excluded."},
    kPageLimit,
    kPageCursor,
    kPageTotal,
};

constexpr std::array kWatchQuery{
    QueryParam{"kind", R"({"type":"string"})", "task, run, flow; comma separated or repeated.",
               true},
    QueryParam{"task", R"({"type":"string"})", "This task alone."},
    QueryParam{"run", R"({"type":"string"})", "A run and its tasks."},
    QueryParam{"flow", R"({"type":"string"})", "A flow, its runs and their tasks."},
    QueryParam{"last_event_id", R"({"type":"string"})",
               "Goes on behind that event, as the field Last-Event-ID does."},
};

constexpr std::array kActivityRoutes{
    RouteSpec{.operation = "listAudit",
              .method = "GET",
              .pattern = "/api/v1/audit",
              .tag = "audit",
              .summary = "Who ordered what, newest first.",
              .query = kAuditQuery,
              .answer_schema = "AuditList"},
    RouteSpec{.operation = "watch",
              .method = "GET",
              .pattern = "/api/v1/watch",
              .tag = "watch",
              .summary = "Changes of tasks, runs and flows as server-sent events.",
              .held = true,
              .query = kWatchQuery,
              .answer_type = "text/event-stream"},
};

}  // namespace

std::span<const RouteSpec> activityRoutes() { return kActivityRoutes; }

}  // namespace baton::webapi
