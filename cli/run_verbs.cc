#include "cli/run_verbs.h"

#include "cli/exit_code.h"
#include "cli/run_wait.h"
#include "cli/task_verbs.h"

namespace baton::cli {
namespace {

std::string runWhy(const Json& run) {
  const std::string waiting = memberText(run, "waiting_text");
  return waiting.empty() ? memberText(run, "reason") : waiting;
}

std::vector<Column> runColumns() {
  return {memberColumn("ID", "id"),
          memberColumn("FLOW", "flow"),
          memberColumn("PLAN_TIME", "plan_time"),
          memberColumn("STATUS", "status"),
          {"WHY", runWhy},
          memberColumn("TRIGGER", "trigger"),
          memberColumn("VERSION", "version"),
          memberColumn("STARTED", "started_at"),
          memberColumn("FINISHED", "finished_at")};
}

std::vector<Column> nodeColumns() {
  return {memberColumn("TASK", "name"),          memberColumn("ID", "id"),
          memberColumn("STATUS", "status"),      {"WHY", whyText},
          memberColumn("NEEDS", "needs"),        memberColumn("ATTEMPT", "attempt"),
          memberColumn("RUNNER", "runner_id"),   memberColumn("SUB_RUN", "sub_run"),
          memberColumn("STARTED", "started_at"), memberColumn("FINISHED", "finished_at")};
}

std::string yesOrNothing(const Json& run, const char* name) {
  return memberText(run, name) == "true" ? "yes" : "";
}

Facts runFacts(const Json& run) {
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
      {"by", memberText(run, "principal")},
      {"priority", memberText(run, "priority")},
      {"params", memberText(run, "params")},
      {"part of run", memberText(run, "parent_run")},
      {"backfill", memberText(run, "backfill")},
      {"compensates", yesOrNothing(run, "compensates")},
      {"reruns", reruns == "0" ? "" : reruns},
      {"due", memberText(run, "due_at")},
      {"late", yesOrNothing(run, "late")},
      {"created", memberText(run, "created_at")},
      {"started", memberText(run, "started_at")},
      {"finished", memberText(run, "finished_at")}};
}

}  // namespace

int runGet(Session& session, const std::string& id) {
  const auto run = session.api().get(runPath(id));
  if (!run.ok()) return session.fail(run.error());
  if (session.format() == Format::Table) {
    printFacts(session.out(), runFacts(*run));
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
  return listPages(session, "/api/v1/runs", std::move(fields), runColumns(), options.pages);
}

int runTasks(Session& session, const std::string& id) {
  return listPages(session, runPath(id) + "/tasks", {}, nodeColumns(), {});
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
  session.printLine(
      printable(fmt::format("run {} {}", memberText(*run, "id"), memberText(*run, "status"))),
      *run);
  return kExitOk;
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
