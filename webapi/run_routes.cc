#include <array>

#include "webapi/route_spec.h"

namespace baton::webapi {
namespace {

constexpr size_t kEventBytesMax = 512 * 1024;

constexpr QueryParam kRunPageLimit{"limit", R"({"type":"integer","minimum":1,"maximum":1000})",
                                   "Items at most, default 50."};
constexpr QueryParam kRunPageCursor{"cursor", R"({"type":"string"})",
                                    "next_cursor of the page before."};

constexpr std::array kRunListQuery{
    QueryParam{"flow", R"({"type":"string"})", "Name of the flow."},
    QueryParam{"status", R"({"type":"string"})", "Statuses, comma separated or repeated.", true},
    QueryParam{"trigger", R"({"type":"string"})",
               "schedule, manual, backfill, event, sub_flow; comma separated or repeated.", true},
    QueryParam{"backfill", R"({"type":"string"})", "Id of the backfill that made it."},
    QueryParam{"plan_from", R"({"type":"string","format":"date-time"})", "Included."},
    QueryParam{"plan_before", R"({"type":"string","format":"date-time"})", "Excluded."},
    QueryParam{"late", R"({"type":"boolean"})", "true: only those that missed their deadline."},
    kRunPageLimit,
    kRunPageCursor,
    QueryParam{"total", R"({"type":"boolean"})", "Count all that match, too."},
};
constexpr std::array kMissedQuery{
    QueryParam{"flow", R"({"type":"string"})", "Name of the flow."},
    kRunPageLimit,
    kRunPageCursor,
};
constexpr std::array kInstantQuery{
    QueryParam{"flow", R"({"type":"string"})", "Name of the flow."},
    QueryParam{"plan_time", R"({"type":"string","format":"date-time"})", "The instant."},
};
constexpr std::array kEventQuery{
    QueryParam{"name", R"({"type":"string"})", "Name of the event."},
    kRunPageLimit,
    kRunPageCursor,
};

constexpr RouteSpec runAction(std::string_view operation, std::string_view pattern,
                              std::string_view summary, std::string_view schema = "Empty",
                              BodyRule body = BodyRule::Optional) {
  return {.operation = operation,
          .method = "POST",
          .pattern = pattern,
          .tag = "runs",
          .summary = summary,
          .body = body,
          .body_schema = schema,
          .answer_schema = "Run"};
}

constexpr std::array kRunRoutes{
    RouteSpec{.operation = "listRuns",
              .method = "GET",
              .pattern = "/api/v1/runs",
              .tag = "runs",
              .summary = "Runs, newest first, without their parameters.",
              .query = kRunListQuery,
              .answer_schema = "RunList"},
    RouteSpec{.operation = "getRun",
              .method = "GET",
              .pattern = "/api/v1/runs/{id}",
              .tag = "runs",
              .summary = "One run, and what it waits for.",
              .answer_schema = "Run"},
    RouteSpec{.operation = "listRunTasks",
              .method = "GET",
              .pattern = "/api/v1/runs/{id}/tasks",
              .tag = "runs",
              .summary = "The tasks of a run in the order of the definition.",
              .answer_schema = "RunTaskList"},
    RouteSpec{.operation = "explainRun",
              .method = "GET",
              .pattern = "/api/v1/runs/{id}/explain",
              .tag = "runs",
              .summary = "Why a run is as it is, from the outside in.",
              .answer_schema = "Explanation"},
    runAction("stopRun", "/api/v1/runs/{id}/stop", "Stops a run and what runs of it."),
    runAction("pauseRun", "/api/v1/runs/{id}/pause",
              "Nothing of it starts any more; what runs goes on."),
    runAction("resumeRun", "/api/v1/runs/{id}/resume", "Ends a pause."),
    runAction("rerunRun", "/api/v1/runs/{id}/rerun", "Runs an ended run, or parts of it, again.",
              "RunRerun"),
    runAction("skipRun", "/api/v1/runs/{id}/skip",
              "A run that waits will not run; or one task of it.", "RunSkip"),
    runAction("forceSuccessRun", "/api/v1/runs/{id}/force-success",
              "Declares a failed task of it successful; the run goes on behind it.", "RunTaskName",
              BodyRule::Required),
    runAction("setRunPriority", "/api/v1/runs/{id}/priority", "Changes the priority of a run.",
              "RunPriority", BodyRule::Required),
    RouteSpec{.operation = "listMissed",
              .method = "GET",
              .pattern = "/api/v1/missed",
              .tag = "schedules",
              .summary = "Instants of schedules that were not run, and why; newest first.",
              .query = kMissedQuery,
              .answer_schema = "MissedList"},
    RouteSpec{.operation = "explainMissed",
              .method = "GET",
              .pattern = "/api/v1/missed/explain",
              .tag = "schedules",
              .summary = "What became of an instant of a schedule, and why.",
              .query = kInstantQuery,
              .answer_schema = "Explanation"},
    RouteSpec{.operation = "runMissed",
              .method = "POST",
              .pattern = "/api/v1/missed/run",
              .tag = "schedules",
              .summary = "Runs a missed instant by hand.",
              .body = BodyRule::Required,
              .body_schema = "MissedRun",
              .idempotency_key = true,
              .ok_status = 201,
              .answer_schema = "Run"},
    RouteSpec{.operation = "sendEvent",
              .method = "POST",
              .pattern = "/api/v1/events",
              .tag = "events",
              .summary = "Stores an event once; 200: it was there already.",
              .body = BodyRule::Required,
              .body_bytes_max = kEventBytesMax,
              .body_schema = "EventSubmission",
              .idempotency_key = true,
              .ok_status = 201,
              .other_ok_status = 200,
              .answer_schema = "EventSent"},
    RouteSpec{.operation = "listEvents",
              .method = "GET",
              .pattern = "/api/v1/events",
              .tag = "events",
              .summary = "Events, newest first.",
              .query = kEventQuery,
              .answer_schema = "EventList"},
};

}  // namespace

std::span<const RouteSpec> runRoutes() { return kRunRoutes; }

}  // namespace baton::webapi
