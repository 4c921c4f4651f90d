#include "cli/task_verbs.h"

#include "cli/exit_code.h"
#include "cli/task_wait.h"
#include "common/base/duration_text.h"

namespace baton::cli {
namespace {

// Why a task that does not run waits, or why it failed.
std::string whyText(const Json& task) {
  const auto waiting = task.find("waiting_for");
  if (waiting != task.end() && waiting->is_object()) return memberText(*waiting, "code");
  // A task that ended well may still name why an earlier attempt failed.
  if (memberText(task, "status") == "FINISHED") return {};
  const std::string reason = memberText(task, "reason");
  if (reason == "exit_code") return "exit_code " + memberText(task, "return_code");
  if (reason == "signal") return "signal " + memberText(task, "signal");
  return reason;
}

std::vector<Column> taskColumns() {
  return {memberColumn("ID", "id"),
          memberColumn("NAME", "name"),
          memberColumn("STATUS", "status"),
          {"WHY", whyText},
          memberColumn("PRIORITY", "priority"),
          memberColumn("ATTEMPT", "attempt"),
          memberColumn("RUNNER", "runner_id"),
          memberColumn("CREATED", "created_at"),
          memberColumn("FINISHED", "finished_at")};
}

std::vector<Column> attemptColumns() {
  return {memberColumn("ATTEMPT", "attempt"),
          memberColumn("STATUS", "status"),
          {"WHY", whyText},
          memberColumn("RUNNER", "runner_id"),
          memberColumn("EPOCH", "epoch"),
          memberColumn("DISPATCHED", "dispatched_at"),
          memberColumn("STARTED", "started_at"),
          memberColumn("FINISHED", "finished_at"),
          memberColumn("STDOUT", "stdout_bytes"),
          memberColumn("STDERR", "stderr_bytes")};
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ","));
}

// A time as given, or "1h" as that long before now.
Result<std::string> timeFrom(const char* option, const std::string& text, WallTime now) {
  const bool dated = text.size() > 10 && (text[10] == 'T' || text[10] == 't');
  if (text.empty() || dated) return text;
  auto ago = parseDuration(text);
  if (!ago.ok()) {
    return Error::invalidArgument(
        "{} is \"{}\", expected a time such as 2026-11-29T12:00:00Z or an age such as 2h", option,
        truncateUtf8(text, 40));
  }
  return formatRfc3339(now - *ago);
}

Result<Json> listPages(Session& session, const TaskListOptions& options) {
  const WallTime now = session.clock().wallNow();
  ASSIGN_OR_RETURN(const std::string since, timeFrom("--since", options.since, now));
  ASSIGN_OR_RETURN(const std::string before, timeFrom("--before", options.before, now));
  std::string cursor = options.cursor;
  const std::string limit = !options.limit.empty() ? options.limit : options.all ? "1000" : "";
  Json whole;
  while (true) {
    const std::string query = webapi::queryString({{"status", joined(options.statuses)},
                                                   {"priority", joined(options.priorities)},
                                                   {"reason", options.reason},
                                                   {"name", options.name},
                                                   {"q", options.text},
                                                   {"tag", options.tag},
                                                   {"host", options.host},
                                                   {"runner", options.runner},
                                                   {"created_from", since},
                                                   {"created_before", before},
                                                   {"limit", limit},
                                                   {"cursor", cursor},
                                                   {"total", options.total ? "true" : ""}});
    ASSIGN_OR_RETURN(Json page,
                     session.api().get("/api/v1/tasks" + (query.empty() ? "" : "?" + query)));
    if (!page.is_object() || !page.contains("items") || !page["items"].is_array()) {
      return Error::make(ErrorCode::Corrupt, "the master's answer is no list");
    }
    cursor = memberText(page, "next_cursor");
    if (whole.is_null()) {
      whole = std::move(page);
    } else {
      for (Json& item : page["items"]) whole["items"].push_back(std::move(item));
      whole["next_cursor"] = page["next_cursor"];
    }
    if (!options.all || cursor.empty()) return whole;
  }
}

}  // namespace

int taskGet(Session& session, const std::string& id, bool attempts) {
  auto task = session.api().get(taskPath(id));
  if (!task.ok()) return session.fail(task.error());
  if (!attempts) {
    session.printObject(*task);
    return kExitOk;
  }
  auto list = session.api().get(taskPath(id) + "/attempts");
  if (!list.ok()) return session.fail(list.error());
  session.printRows(attemptColumns(), (*list)["items"], *list);
  return kExitOk;
}

int taskList(Session& session, const TaskListOptions& options) {
  const auto whole = listPages(session, options);
  if (!whole.ok()) return session.fail(whole.error());
  session.printRows(taskColumns(), (*whole)["items"], *whole);
  if (session.format() == Format::Table) {
    const std::string total = memberText(*whole, "total");
    const std::string cursor = memberText(*whole, "next_cursor");
    if (!total.empty()) session.err() << total << " in all\n";
    if (!cursor.empty()) {
      session.err() << fmt::format("more: --cursor {} for the next page, --all for the rest\n",
                                   printable(cursor));
    }
  }
  return kExitOk;
}

int taskAction(Session& session, const std::string& id, const std::string& action, bool force) {
  webapi::ApiRequest request;
  request.method = "POST";
  request.target = taskPath(id) + "/" + action;
  if (force) request.body = R"({"force":true})";
  // The others end in the same state when they are carried out twice; a second rerun runs again.
  request.repeatable = action != "rerun" && action != "force-success";
  const auto reply = session.api().call(request);
  if (!reply.ok()) return session.fail(reply.error());
  const auto task = reply->json();
  if (!task.ok()) return session.fail(task.error());
  session.printLine(
      printable(fmt::format("task {} {}", memberText(*task, "id"), memberText(*task, "status"))),
      *task);
  return kExitOk;
}

}  // namespace baton::cli
