#include <array>

#include "webapi/route_spec.h"

namespace baton::webapi {
namespace {

constexpr size_t kDefinitionBytesMax = 1024 * 1024;  // As the reader of definitions has it.

constexpr QueryParam kFlowPageLimit{"limit", R"({"type":"integer","minimum":1,"maximum":1000})",
                                    "Items at most, default 50."};
constexpr QueryParam kFlowPageCursor{"cursor", R"({"type":"string"})",
                                     "next_cursor of the page before."};

constexpr std::array kFlowListQuery{
    QueryParam{"online", R"({"type":"boolean"})", "Only those that are online, or offline."},
    QueryParam{"q", R"({"type":"string"})", "A part of the name."},
    kFlowPageLimit,
    kFlowPageCursor,
};
constexpr std::array kFlowQuery{
    QueryParam{"version", R"({"type":"integer","minimum":1})", "Default: the newest."},
};
constexpr std::array kFlowApplyQuery{
    QueryParam{"online", R"({"type":"boolean"})", "Online afterwards; default: as it was."},
    QueryParam{"dry_run", R"({"type":"boolean"})", "Check and compare, and change nothing."},
};
constexpr std::array kCalendarListQuery{kFlowPageLimit, kFlowPageCursor};
constexpr std::array kCalendarApplyQuery{
    QueryParam{"dry_run", R"({"type":"boolean"})", "Check and compare, and change nothing."},
};
constexpr std::array kFlowVersionsQuery{kFlowPageLimit, kFlowPageCursor};
constexpr std::array kPreviewQuery{
    QueryParam{"cron", R"({"type":"string"})", "Five fields (Unix), or six or seven (Quartz)."},
    QueryParam{"timezone", R"({"type":"string"})", "Zone, such as Europe/Berlin."},
    QueryParam{"dialect", R"({"type":"string","enum":["unix5","quartz"]})",
               "Default: by the number of fields."},
    QueryParam{"gap", R"({"type":"string","enum":["run_after","skip"]})",
               "What a time does that a clock set forward leaves out; default run_after."},
    QueryParam{"overlap", R"({"type":"string","enum":["first","second","both"]})",
               "Which of two passes counts when a clock is set back; default first."},
    QueryParam{"name", R"({"type":"string"})", "Name of the flow, for the slots of H."},
    QueryParam{"after", R"({"type":"string","format":"date-time"})",
               "Look behind this instant; default: now."},
    QueryParam{"limit", R"({"type":"integer","minimum":1,"maximum":1000})", "How many, default 5."},
};

constexpr RouteSpec flowAction(std::string_view operation, std::string_view pattern,
                               std::string_view summary) {
  return {.operation = operation,
          .method = "POST",
          .pattern = pattern,
          .tag = "flows",
          .summary = summary,
          .body = BodyRule::Optional,
          .body_schema = "Empty",
          .answer_schema = "Flow"};
}

constexpr std::array kFlowRoutes{
    RouteSpec{.operation = "listFlows",
              .method = "GET",
              .pattern = "/api/v1/flows",
              .tag = "flows",
              .summary = "Flows by name, without their texts.",
              .query = kFlowListQuery,
              .answer_schema = "FlowList"},
    RouteSpec{.operation = "validateFlow",
              .method = "POST",
              .pattern = "/api/v1/flows/validate",
              .tag = "flows",
              .summary = "Checks a definition and compares it with the stored one of its name.",
              .body = BodyRule::Required,
              .body_bytes_max = kDefinitionBytesMax,
              .yaml_body = true,
              .body_schema = "FlowDefinition",
              .answer_schema = "FlowApplied"},
    RouteSpec{.operation = "getFlow",
              .method = "GET",
              .pattern = "/api/v1/flows/{name}",
              .tag = "flows",
              .summary = "One flow with its definition; as YAML the text as it was stored.",
              .query = kFlowQuery,
              .yaml_answer = true,
              .answer_schema = "Flow"},
    RouteSpec{.operation = "applyFlow",
              .method = "PUT",
              .pattern = "/api/v1/flows/{name}",
              .tag = "flows",
              .summary = "Stores a definition; one that differs is the next version.",
              .query = kFlowApplyQuery,
              .body = BodyRule::Required,
              .body_bytes_max = kDefinitionBytesMax,
              .yaml_body = true,
              .body_schema = "FlowDefinition",
              .idempotency_key = true,
              .preconditions = true,
              .other_ok_status = 201,
              .answer_schema = "FlowApplied"},
    RouteSpec{.operation = "deleteFlow",
              .method = "DELETE",
              .pattern = "/api/v1/flows/{name}",
              .tag = "flows",
              .summary = "Deletes a flow; its runs that wait or run are stopped.",
              .answer_schema = "Flow"},
    RouteSpec{.operation = "listFlowVersions",
              .method = "GET",
              .pattern = "/api/v1/flows/{name}/versions",
              .tag = "flows",
              .summary = "Versions of a definition, newest first, without their texts.",
              .query = kFlowVersionsQuery,
              .answer_schema = "FlowVersionList"},
    flowAction("onlineFlow", "/api/v1/flows/{name}/online", "Lets the flow fire."),
    flowAction("offlineFlow", "/api/v1/flows/{name}/offline", "The flow fires no more."),
    RouteSpec{.operation = "triggerFlow",
              .method = "POST",
              .pattern = "/api/v1/flows/{name}/trigger",
              .tag = "flows",
              .summary = "Begins a run by hand.",
              .body = BodyRule::Optional,
              .body_bytes_max = kDefinitionBytesMax,
              .body_schema = "FlowTrigger",
              .idempotency_key = true,
              .ok_status = 201,
              .answer_schema = "Run"},
    RouteSpec{.operation = "backfillFlow",
              .method = "POST",
              .pattern = "/api/v1/flows/{name}/backfill",
              .tag = "flows",
              .summary = "Makes runs for plan times of the past; 200: a dry run.",
              .body = BodyRule::Required,
              .body_bytes_max = kDefinitionBytesMax,
              .body_schema = "FlowBackfill",
              .idempotency_key = true,
              .ok_status = 201,
              .other_ok_status = 200,
              .answer_schema = "Backfill"},
    RouteSpec{.operation = "listCalendars",
              .method = "GET",
              .pattern = "/api/v1/calendars",
              .tag = "schedules",
              .summary = "Calendars of workdays by name, without their days.",
              .query = kCalendarListQuery,
              .answer_schema = "CalendarList"},
    RouteSpec{.operation = "getCalendar",
              .method = "GET",
              .pattern = "/api/v1/calendars/{name}",
              .tag = "schedules",
              .summary = "One calendar with its days; as YAML the text as it was stored.",
              .yaml_answer = true,
              .answer_schema = "Calendar"},
    RouteSpec{.operation = "applyCalendar",
              .method = "PUT",
              .pattern = "/api/v1/calendars/{name}",
              .tag = "schedules",
              .summary = "Stores a calendar; flows that follow it are planned anew.",
              .query = kCalendarApplyQuery,
              .body = BodyRule::Required,
              .body_bytes_max = kDefinitionBytesMax,
              .yaml_body = true,
              .body_schema = "CalendarDefinition",
              .preconditions = true,
              .other_ok_status = 201,
              .answer_schema = "CalendarApplied"},
    RouteSpec{.operation = "deleteCalendar",
              .method = "DELETE",
              .pattern = "/api/v1/calendars/{name}",
              .tag = "schedules",
              .summary = "Deletes a calendar that no flow follows.",
              .answer_schema = "Calendar"},
    RouteSpec{.operation = "previewSchedule",
              .method = "GET",
              .pattern = "/api/v1/schedules/preview",
              .tag = "schedules",
              .summary = "When a cron expression fires next, found by the function that fires.",
              .query = kPreviewQuery,
              .answer_schema = "SchedulePreview"},
};

}  // namespace

std::span<const RouteSpec> flowRoutes() { return kFlowRoutes; }

}  // namespace baton::webapi
