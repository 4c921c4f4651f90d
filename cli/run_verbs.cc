#include "cli/run_verbs.h"

#include "cli/exit_code.h"
#include "cli/run_wait.h"
#include "cli/task_verbs.h"

namespace baton::cli {
namespace {

// In one word; run explain has the sentence.
std::string runWhy(const Json& run) {
  const std::string status = memberText(run, "status");
  if (status == "PAUSED") return "paused";
  if (status == "WAITING" && !memberText(run, "waiting_text").empty()) return "place";
  return memberText(run, "reason");
}

std::vector<Column> runColumns(WallTime now) {
  return {memberColumn("ID", "id"),
          memberColumn("FLOW", "flow"),
          timeColumn("PLAN_TIME", "plan_time"),
          memberColumn("STATUS", "status"),
          {"WHY", runWhy},
          memberColumn("TRIGGER", "trigger"),
          memberColumn("VERSION", "version"),
          timeColumn("STARTED", "started_at"),
          tookColumn(now)};
}

std::vector<Column> nodeColumns(WallTime now) {
  return {memberColumn("TASK", "name"),        memberColumn("ID", "id"),
          memberColumn("STATUS", "status"),    {"WHY", whyText},
          memberColumn("NEEDS", "needs"),      memberColumn("ATTEMPT", "attempt"),
          memberColumn("RUNNER", "runner_id"), memberColumn("SUB_RUN", "sub_run"),
          timeColumn("STARTED", "started_at"), tookColumn(now)};
}

std::string yesOrNothing(const Json& run, const char* name) {
  return memberText(run, name) == "true" ? "yes" : "";
}

Facts runFacts(const Json& run, WallTime now) {
  const std::string reruns = memberText(run, "reruns");
  return {
      {"run", memberText(run, "id")},
      {"flow", fmt::format("{} version {}", memberText(run, "flow"), memberText(run, "version"))},
      {"plan time", memberText(run, "plan_time")},
      {"status", memberText(run, "status")},
      {"waits for", memberText(run, "waiting_text")},
      {"reason", memberText(run, "reason")},
      {"", memberText(run, "reason_text")},
      {"trigger", memberText(run, "trigger")},
      {"begun by", memberText(run, "begun_by")},
      {"by", memberText(run, "principal")},
      {"priority", memberText(run, "priority")},
      {"params", memberText(run, "params")},
      {"part of run", memberText(run, "parent_run")},
      {"backfill", memberText(run, "backfill")},
      {"compensates", yesOrNothing(run, "compensates")},
      {"reruns", reruns == "0" ? "" : reruns},
      {"due", shortTime(memberText(run, "due_at"))},
      {"late", yesOrNothing(run, "late")},
      {"created", shortTime(memberText(run, "created_at"))},
      {"started", shortTime(memberText(run, "started_at"))},
      {"finished", shortTime(memberText(run, "finished_at"))},
      {"took", tookText(run, now)}};
}

}  // namespace

int runGet(Session& session, const std::string& id) {
  const auto run = session.api().get(runPath(id));
  if (!run.ok()) return session.fail(run.error());
  if (session.format() == Format::Table) {
    printFacts(session.out(), runFacts(*run, session.clock().wallNow()));
  } else {
    session.printObject(*run);
  }
  return kExitOk;
}

int runList(Session& session, const RunListOptions& options) {
  QueryFields fields = {{"flow", options.flow},
                        {"q", options.text},
                        {"status", joinedWords(options.statuses)},
                        {"reason", joinedWords(options.reasons)},
                        {"trigger", joinedWords(options.triggers)},
                        {"backfill", options.backfill},
                        {"principal", options.principal},
                        {"late", options.late ? "true" : ""}};
  const Status timed = addTimes(fields, session.clock().wallNow(),
                                {{"--since", "plan_from", options.since},
                                 {"--before", "plan_before", options.before},
                                 {"--created-since", "created_from", options.created_since},
                                 {"--created-before", "created_before", options.created_before}});
  if (!timed.ok()) return session.fail(timed.error());
  return listPages(session, "/api/v1/runs", std::move(fields),
                   runColumns(session.clock().wallNow()), options.pages);
}

int runTasks(Session& session, const std::string& id) {
  return listPages(session, runPath(id) + "/tasks", {}, nodeColumns(session.clock().wallNow()), {});
}

int runAction(Session& session, const std::string& id, const std::string& action,
              const Json& body) {
  webapi::ApiRequest request;
  request.method = "POST";
  request.target = runPath(id) + "/" + action;
  if (!body.empty()) request.body = dumpJson(body);
  // The others end in the same state when they are carried out twice; a second rerun runs again.
  request.repeatable = action != "rerun" && action != "force-success";
  const auto run = session.api().order(std::move(request), runPath(id));
  if (!run.ok()) return session.fail(run.error());
  const std::string status = memberText(*run, "status");
  const std::string why = status == "FAILED" ? memberText(*run, "reason_text") : std::string();
  session.printLine(printable(fmt::format("run {} {}{}{}", memberText(*run, "id"), status,
                                          why.empty() ? "" : ": ", why)),
                    *run);
  return kExitOk;
}

int backfillStop(Session& session, const std::string& backfill) {
  // One stop after the other: those that wait are named before those that run, so that none begins
  // meanwhile in the place of another.
  std::vector<std::string> ids;
  for (const char* statuses : {"WAITING", "RUNNING,PAUSED,TERMINATING"}) {
    std::string cursor;
    do {
      const auto page =
          session.api().get("/api/v1/runs?" + webapi::queryString({{"backfill", backfill},
                                                                   {"status", statuses},
                                                                   {"limit", "1000"},
                                                                   {"cursor", cursor}}));
      if (!page.ok()) return session.fail(page.error());
      for (const Json& run : page->value("items", Json::array())) {
        ids.push_back(memberText(run, "id"));
      }
      cursor = memberText(*page, "next_cursor");
    } while (!cursor.empty());
  }
  if (ids.empty()) {
    return session.fail(
        Error::notFound("backfill {} has no run that waits or runs", truncateUtf8(backfill, 40)));
  }
  Json stopped = Json::array();
  int code = kExitOk;
  for (const std::string& id : ids) {
    webapi::ApiRequest request;
    request.method = "POST";
    request.target = runPath(id) + "/stop";
    auto run = session.api().order(std::move(request), runPath(id));
    if (!run.ok()) {
      // It has ended meanwhile.
      if (run.error().code() == ErrorCode::Conflict) continue;
      code = session.fail(run.error());
      continue;
    }
    if (session.format() == Format::Table) {
      session.out() << printable(fmt::format("run {} {}", memberText(*run, "id"),
                                             memberText(*run, "status")))
                    << "\n";
    }
    stopped.push_back(std::move(*run));
  }
  if (session.format() != Format::Table) session.printObject({{"items", stopped}});
  return code;
}

int runRerun(Session& session, const RunRerunOptions& options) {
  const int chosen = static_cast<int>(options.all) + static_cast<int>(options.failed) +
                     static_cast<int>(!options.from.empty()) +
                     static_cast<int>(!options.task.empty());
  if (chosen > 1) {
    return session.fail(
        Error::invalidArgument("--all, --failed, --from and --task contradict each other"));
  }
  Json body = {{"scope", options.all             ? "all"
                         : !options.from.empty() ? "from"
                         : !options.task.empty() ? "one"
                                                 : "failed"}};
  if (!options.from.empty()) body["task"] = options.from;
  if (!options.task.empty()) body["task"] = options.task;
  if (options.force) body["force"] = true;
  return runAction(session, options.id, "rerun", body);
}

}  // namespace baton::cli
