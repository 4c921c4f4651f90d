#include <array>

#include "webapi/route_spec.h"

namespace baton::webapi {
namespace {

constexpr size_t kEventBytesMax = 512 * 1024;

constexpr std::array kRunListQuery{
    textParam("flow", "Name of the flow."),
    textParam("q", "A part of the flow's name."),
    wordsParam("status", "Statuses, comma separated or repeated."),
    wordsParam("reason", "Why it ended otherwise than well, or never began: task_failed, …"),
    wordsParam("trigger",
               "schedule, manual, backfill, event, sub_flow; comma separated or repeated."),
    textParam("backfill", "Id of the backfill that made it."),
    textParam("principal", "Who asked for it."),
    timeParam("plan_from", "Plan time; included."),
    timeParam("plan_before", "Plan time; excluded."),
    timeParam("created_from", "Included."),
    timeParam("created_before", "Excluded."),
    flagParam("late", "true: only those that missed their deadline."),
    kPageLimit,
    kPageCursor,
    kPageTotal,
};
constexpr std::array kMissedQuery{
    textParam("flow", "Name of the flow."),
    textParam("q", "A part of the flow's name."),
    wordsParam("reason", "policy_none, too_old, …; comma separated or repeated."),
    timeParam("plan_from", "Included."),
    timeParam("plan_before", "Excluded."),
    kPageLimit,
    kPageCursor,
    kPageTotal,
};
constexpr std::array kInstantQuery{
    textParam("flow", "Name of the flow."),
    timeParam("plan_time", "The instant."),
};
constexpr std::array kEventQuery{
    textParam("name", "Name of the event."),
    textParam("q", "A part of the name."),
    textParam("key", "The whole key."),
    timeParam("happened_from", "Included."),
    timeParam("happened_before", "Excluded."),
    kPageLimit,
    kPageCursor,
    kPageTotal,
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
