#include "cli/host_verbs.h"

#include <algorithm>

#include "cli/exit_code.h"
#include "common/model/ids.h"

namespace baton::cli {
namespace {

constexpr Millis kDrainLook{1'000};

// What a person should know about the host: why it takes no tasks, or what is wrong with it.
std::string noteText(const Json& host) {
  for (const char* member : {"held_back", "reason", "findings"}) {
    std::string text = memberText(host, member);
    if (!text.empty()) return text;
  }
  return {};
}

std::vector<Column> hostColumns() {
  return {memberColumn("WORKER", "worker_id"),
          memberColumn("HOST", "host"),
          memberColumn("HEALTH", "health"),
          memberColumn("SCORE", "score"),
          memberColumn("STATE", "state"),
          memberColumn("RUNNERS", "runners"),
          memberColumn("BUSY", "busy"),
          memberColumn("LABELS", "labels"),
          memberColumn("PLAIN", "plain"),
          memberColumn("SILENT_MS", "silent_ms"),
          memberColumn("VERSION", "version"),
          memberColumn("ADDRESS", "address"),
          {"NOTE", noteText}};
}

std::vector<Column> slotColumns() {
  return {memberColumn("RUNNER", "runner_id"),    memberColumn("WORKER", "worker_id"),
          memberColumn("STATE", "state"),         memberColumn("TASK", "task_id"),
          memberColumn("LABELS", "labels"),       memberColumn("PLAIN", "plain"),
          memberColumn("SILENT_MS", "silent_ms"), memberColumn("LAST_SEEN", "last_seen")};
}

Result<Json> itemsOf(const Result<Json>& list) {
  RETURN_IF_ERROR(list.status());
  const auto items = list->find("items");
  if (list->is_object() && items != list->end() && items->is_array()) return Json(*items);
  return Error(ErrorCode::Corrupt, "the master's answer is no list");
}

std::string_view doneWord(const std::string& action) {
  for (const auto& [verb, word] :
       {std::pair("drain", "gets no new tasks"), std::pair("exclude", "is on the black list"),
        std::pair("include", "gets tasks"), std::pair("unregister", "unregistered"),
        std::pair("labels", "labels set")}) {
    if (action == verb) return word;
  }
  return "";
}

// What was done to whom, and how the hosts are now; those that are gone are not shown.
int printChanged(Session& session, const Result<Json>& list, const std::string& action) {
  const auto items = itemsOf(list);
  if (!items.ok()) return session.fail(items.error());
  if (session.format() == Format::Table) {
    for (const Json& item : *items) {
      const std::string worker = memberText(item, "worker_id");
      session.out() << printable(fmt::format("{} {}: {}", worker.empty() ? "host" : "worker",
                                             worker.empty() ? memberText(item, "host") : worker,
                                             doneWord(action)))
                    << "\n";
    }
    if (action == "unregister") return kExitOk;
  }
  session.printRows(hostColumns(), *items, *list);
  return kExitOk;
}

std::string hostPath(const std::string& host, const std::string& action) {
  return "/api/v1/hosts/" + webapi::pathSegment(host) + "/" + action;
}

// Looks until no runner that the name covers is busy.
Status awaitDrained(Session& session, const std::string& host) {
  while (true) {
    const std::string query = webapi::queryString({{"name", host}, {"limit", "1000"}});
    ASSIGN_OR_RETURN(const Json items, itemsOf(session.api().get("/api/v1/hosts?" + query)));
    const bool busy = std::any_of(items.begin(), items.end(), [&](const Json& item) {
      return memberText(item, "busy") != "0";
    });
    if (!busy) return {};
    session.sleep(kDrainLook);
  }
}

Result<Json> labelChanges(const std::vector<std::string>& changes) {
  Json labels = Json::object();
  for (const std::string& change : changes) {
    const size_t equals = change.find('=');
    const bool removes = equals == change.npos && change.size() > 1 && change.back() == '-';
    const std::string name =
        change.substr(0, removes ? change.size() - 1 : std::min(equals, change.size()));
    const std::string value = equals == change.npos ? std::string() : change.substr(equals + 1);
    if (!isValidName(name) || (!removes && !isValidName(value))) {
      return Error::invalidArgument(
          "\"{}\" is no change of a label; expected name=value or name-, both of A-Z a-z 0-9 . _ -",
          truncateUtf8(change, 60));
    }
    labels[name] = removes ? Json(nullptr) : Json(value);
  }
  return labels;
}

int printPolicy(Session& session, const Result<Json>& policy) {
  if (!policy.ok()) return session.fail(policy.error());
  const std::string version = memberText(*policy, "min_version");
  std::string line =
      fmt::format("white list {}, {}", memberText(*policy, "white_list") == "true" ? "on" : "off",
                  version.empty() ? "any version" : "version at least " + version);
  const auto add = [&](const char* member, const char* text) {
    const std::string count = memberText(*policy, member);
    if (!count.empty() && count != "0") line += fmt::format("; {} workers {}", count, text);
  };
  add("unapproved", "are not on it");
  add("outdated", "are older");
  session.printLine(printable(line), *policy);
  return kExitOk;
}

}  // namespace

int hostList(Session& session, const HostListOptions& options) {
  if (options.runners && !options.health.empty()) {
    return session.fail(
        Error::invalidArgument("--health is of hosts, and --runners lists runners"));
  }
  if (!options.runners && !(options.worker.empty() && options.host.empty())) {
    return session.fail(Error::invalidArgument("{} goes with --runners; hosts have --name",
                                               options.worker.empty() ? "--host" : "--worker"));
  }
  QueryFields fields = {
      {"state", joinedWords(options.states)},  {"name", options.name},     {"q", options.text},
      {"health", joinedWords(options.health)}, {"worker", options.worker}, {"host", options.host}};
  return listPages(session, options.runners ? "/api/v1/runners" : "/api/v1/hosts",
                   std::move(fields), options.runners ? slotColumns() : hostColumns(),
                   options.pages);
}

int hostAction(Session& session, const std::string& host, const std::string& action,
               const std::string& reason, bool wait) {
  const Json body = reason.empty() ? Json(nullptr) : Json{{"reason", reason}};
  const auto list = session.api().post(hostPath(host, action), body);
  if (list.ok() && wait) {
    const Status drained = awaitDrained(session, host);
    if (!drained.ok()) return session.fail(drained.error());
    return hostList(session, {.name = host, .pages = {.all = true}});
  }
  return printChanged(session, list, action);
}

int hostLabel(Session& session, const std::string& host, const std::vector<std::string>& changes) {
  const auto labels = labelChanges(changes);
  if (!labels.ok()) return session.fail(labels.error());
  return printChanged(session, session.api().post(hostPath(host, "labels"), {{"labels", *labels}}),
                      "labels");
}

int hostPolicy(Session& session) {
  return printPolicy(session, session.api().get("/api/v1/hosts/policy"));
}

int hostWhiteList(Session& session, const std::string& word) {
  return printPolicy(session,
                     session.api().post("/api/v1/hosts/policy", {{"white_list", word == "on"}}));
}

int hostMinVersion(Session& session, const std::string& version) {
  const Json wanted = version == "none" ? Json(nullptr) : Json(version);
  return printPolicy(session,
                     session.api().post("/api/v1/hosts/policy", {{"min_version", wanted}}));
}

}  // namespace baton::cli
