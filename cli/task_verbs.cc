#include "cli/task_verbs.h"

#include <algorithm>

#include "cli/exit_code.h"
#include "cli/list_pages.h"
#include "cli/task_wait.h"

namespace baton::cli {
namespace {

std::vector<Column> taskColumns(WallTime now) {
  return {memberColumn("ID", "id"),
          memberColumn("NAME", "name"),
          memberColumn("STATUS", "status"),
          {"WHY", whyText},
          memberColumn("PRIORITY", "priority"),
          memberColumn("ATTEMPT", "attempt"),
          memberColumn("RUNNER", "runner_id"),
          timeColumn("CREATED", "created_at"),
          tookColumn(now)};
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

bool isTrue(const Json& task, const char* name) { return task.value(name, Json(false)) == true; }

// As one would write it in a shell.
std::string shellWords(const Json& words) {
  if (!words.is_array()) return {};
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  std::string line;
  for (const Json& word : words) {
    if (!word.is_string()) return {};
    std::string text = word.get<std::string>();
    if (text.empty() || text.find_first_not_of(kPlain) != text.npos) {
      std::string quoted = "'";
      for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
      text = quoted + "'";
    }
    line += (line.empty() ? "" : " ") + text;
  }
  return line;
}

// What one looks for first, then the rest by name; what is false says nothing.
Facts taskFacts(const Json& task, WallTime now) {
  Facts facts;
  std::vector<std::string> told;
  for (const char* name :
       {"id", "name", "status", "reason", "reason_text", "waiting_for", "command", "attempt",
        "runner_id", "created_at", "started_at", "finished_at"}) {
    told.emplace_back(name);
    std::string text = memberText(task, name);
    const auto at = task.find(name);
    if (at != task.end() && at->is_object()) {
      const std::string why = memberText(*at, "text");
      text = memberText(*at, "code") + (why.empty() ? "" : ": " + why);
    } else if (std::string_view(name) == "command" && at != task.end()) {
      text = shellWords(*at);
    }
    facts.emplace_back(name, std::move(text));
  }
  facts.emplace_back("took", tookText(task, now));
  for (const auto& [name, value] : task.items()) {
    if (std::find(told.begin(), told.end(), name) != told.end()) continue;
    if (value == false || (value.is_structured() && value.empty())) continue;
    facts.emplace_back(name, memberText(task, name));
  }
  return facts;
}

}  // namespace

std::string whyText(const Json& task) {
  const auto waiting = task.find("waiting_for");
  if (waiting != task.end() && waiting->is_object()) return memberText(*waiting, "code");
  if (isTrue(task, "stuck")) return "stuck";
  // A try that is under way has nothing to do with why the one before it failed.
  const std::string status = memberText(task, "status");
  if (status == "RUNNING" || status == "DISPATCHED") return "";
  // A task that ended well may still name why an earlier attempt failed.
  if (status == "FINISHED") return isTrue(task, "forced") ? "forced" : "";
  std::string why = memberText(task, "reason");
  if (why == "exit_code") why += " " + memberText(task, "return_code");
  if (why == "signal") why += " " + memberText(task, "signal");
  if (isTrue(task, "ignored")) why += ", ignored";
  return why;
}

int taskGet(Session& session, const std::string& id, bool attempts) {
  auto task = session.api().get(taskPath(id));
  if (!task.ok()) return session.fail(task.error());
  if (!attempts) {
    if (session.format() == Format::Table && task->is_object()) {
      printFacts(session.out(), taskFacts(*task, session.clock().wallNow()));
    } else {
      session.printObject(*task);
    }
    return kExitOk;
  }
  auto list = session.api().get(taskPath(id) + "/attempts");
  if (!list.ok()) return session.fail(list.error());
  session.printRows(attemptColumns(), (*list)["items"], *list);
  return kExitOk;
}

int taskList(Session& session, const TaskListOptions& options) {
  QueryFields fields = {{"status", joinedWords(options.statuses)},
                        {"priority", joinedWords(options.priorities)},
                        {"reason", options.reason},
                        {"ignored", options.ignored ? "true" : ""},
                        {"name", options.name},
                        {"q", options.text},
                        {"tag", options.tag},
                        {"group", options.group},
                        {"host", options.host},
                        {"runner", options.runner},
                        {"run", options.run},
                        {"flow", options.flow}};
  const Status timed = addTimes(
      fields, session.clock().wallNow(),
      {{"--since", "created_from", options.since}, {"--before", "created_before", options.before}});
  if (!timed.ok()) return session.fail(timed.error());
  return listPages(session, "/api/v1/tasks", std::move(fields),
                   taskColumns(session.clock().wallNow()), options.pages);
}

int taskAction(Session& session, const std::string& id, const std::string& action, bool force) {
  webapi::ApiRequest request;
  request.method = "POST";
  request.target = taskPath(id) + "/" + action;
  if (force) request.body = R"({"force":true})";
  // The others end in the same state when they are carried out twice; a second rerun runs again.
  request.repeatable = action != "rerun" && action != "force-success";
  const auto task = session.api().order(std::move(request), taskPath(id));
  if (!task.ok()) return session.fail(task.error());
  session.printLine(
      printable(fmt::format("task {} {}", memberText(*task, "id"), memberText(*task, "status"))),
      *task);
  return kExitOk;
}

}  // namespace baton::cli
