#include "cli/limit_verbs.h"

#include "cli/exit_code.h"
#include "common/model/limit_records.h"
#include "common/model/task_status.h"

namespace baton::cli {
namespace {

constexpr std::string_view kEndWord = "none";

std::string shownLimit(const Json& row) {
  const std::string limit = memberText(row, "limit");
  return limit.empty() ? std::string(kEndWord) : limit;
}

std::vector<Column> groupColumns() {
  return {memberColumn("GROUP", "name"),
          Column{"LIMIT", shownLimit},
          memberColumn("IN_USE", "weight_in_use"),
          memberColumn("RUNNING", "running"),
          memberColumn("QUEUED", "queued"),
          memberColumn("WINDOW", "window"),
          memberColumn("ZONE", "time_zone"),
          memberColumn("OPEN", "open"),
          memberColumn("MIN_PRIORITY", "min_priority"),
          memberColumn("DESCRIPTION", "description")};
}

std::vector<Column> limitColumns() {
  return {memberColumn("KIND", "kind"),     memberColumn("NAME", "name"),
          memberColumn("LIMIT", "limit"),   memberColumn("RUNNING", "running"),
          memberColumn("QUEUED", "queued"), memberColumn("DESCRIPTION", "description")};
}

std::string groupTarget(const std::string& name) {
  return "/api/v1/groups/" + webapi::pathSegment(name);
}
std::string limitTarget(const std::string& kind, const std::string& name) {
  return "/api/v1/limits/" + webapi::pathSegment(kind) + "/" + webapi::pathSegment(name);
}

Result<int64_t> readNumber(std::string_view option, const std::string& text) {
  int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || value > kLimitMax) {
      value = -1;
      break;
    }
    value = value * 10 + (c - '0');
  }
  if (text.empty() || value < 0 || value > kLimitMax) {
    return Error::invalidArgument("{}: is \"{}\", expected a number from 0 to {}", option,
                                  truncateUtf8(text, 40), kLimitMax);
  }
  return value;
}

Status checkPriority(const std::string& word) {
  if (parsePriority(word)) return {};
  return Error::invalidArgument("--min-priority: is \"{}\", expected low, normal, high or critical",
                                truncateUtf8(word, 40));
}

// Puts a given option into the row under its wire name.
void putText(Json& row, std::string_view name, const std::string& option) {
  if (option.empty()) return;
  row[std::string(name)] = option == kEndWord ? Json(nullptr) : Json(option);
}

int showLimit(Session& session, const Result<Json>& answer) {
  if (!answer.ok()) return session.fail(answer.error());
  Json shown = *answer;
  // Of the cluster 0 means that nothing limits it; elsewhere, that nothing starts.
  for (const char* name : {"running_max", "configured_running_max"}) {
    if (session.format() == Format::Table && shown.is_object() && shown.value(name, Json()) == 0) {
      shown[name] = std::string(kEndWord);
    }
  }
  session.printObject(shown);
  return kExitOk;
}

// The same behind a line that says what was done.
int showChanged(Session& session, const Result<Json>& answer, const std::string& done) {
  if (answer.ok() && session.format() == Format::Table) session.out() << printable(done) << "\n";
  return showLimit(session, answer);
}

int tellDone(Session& session, const Result<Json>& answer, const std::string& done) {
  if (!answer.ok()) return session.fail(answer.error());
  session.printLine(printable(done), *answer);
  return kExitOk;
}

}  // namespace

int groupSet(Session& session, const GroupSetOptions& options) {
  if (options.limit.empty() && options.window.empty() && options.time_zone.empty() &&
      options.min_priority.empty() && options.description.empty()) {
    return session.fail(Error::invalidArgument(
        "nothing is to be set; expected --limit, --window, --time-zone, --min-priority or "
        "--description"));
  }
  if (!options.min_priority.empty() && options.min_priority != kEndWord) {
    if (const Status known = checkPriority(options.min_priority); !known.ok()) {
      return session.fail(known.error());
    }
  }
  // What is not named stays as it is.
  const auto current = session.api().get(groupTarget(options.name));
  if (!current.ok() && current.error().code() != ErrorCode::NotFound) {
    return session.fail(current.error());
  }
  Json row = Json::object();
  for (const std::string_view name :
       {"limit", "window", "time_zone", "min_priority", "description"}) {
    if (current.ok() && current->contains(name)) row[std::string(name)] = (*current)[name];
  }
  if (!options.limit.empty() && options.limit != kEndWord) {
    const auto limit = readNumber("--limit", options.limit);
    if (!limit.ok()) return session.fail(limit.error());
    row["limit"] = *limit;
  } else if (options.limit == kEndWord) {
    row["limit"] = nullptr;
  }
  putText(row, "window", options.window);
  putText(row, "time_zone", options.time_zone);
  if (options.window == kEndWord) row["time_zone"] = nullptr;
  putText(row, "min_priority", options.min_priority);
  putText(row, "description", options.description);
  return showChanged(session, session.api().put(groupTarget(options.name), row),
                     fmt::format("group {} set", options.name));
}

int groupList(Session& session, const LimitListOptions& options) {
  if (options.set && options.unset) {
    return session.fail(Error::invalidArgument("--set and --unset contradict each other"));
  }
  if (options.open && options.closed) {
    return session.fail(Error::invalidArgument("--open and --closed contradict each other"));
  }
  const char* set = options.set ? "true" : options.unset ? "false" : "";
  const char* open = options.open ? "true" : options.closed ? "false" : "";
  return listPages(session, "/api/v1/groups",
                   {{"name", options.name}, {"q", options.text}, {"set", set}, {"open", open}},
                   groupColumns(), options.pages);
}

int groupGet(Session& session, const std::string& name) {
  return showLimit(session, session.api().get(groupTarget(name)));
}

int groupDelete(Session& session, const std::string& name) {
  return tellDone(session, session.api().remove(groupTarget(name)),
                  fmt::format("group {} deleted: nothing limits its tasks", name));
}

int limitSet(Session& session, const std::string& kind, const std::string& name,
             const std::string& limit, const std::string& description) {
  const auto max = readNumber("LIMIT", limit);
  if (!max.ok()) return session.fail(max.error());
  Json row = {{"limit", *max}};
  if (!description.empty()) row["description"] = description;
  return tellDone(session, session.api().put(limitTarget(kind, name), row),
                  fmt::format("limit of {} {} set to {}", kind, name, *max));
}

int limitList(Session& session, const LimitListOptions& options) {
  return listPages(
      session, "/api/v1/limits",
      {{"kind", joinedWords(options.kinds)}, {"name", options.name}, {"q", options.text}},
      limitColumns(), options.pages);
}

int limitDelete(Session& session, const std::string& kind, const std::string& name) {
  return tellDone(session, session.api().remove(limitTarget(kind, name)),
                  fmt::format("limit of {} {} deleted", kind, name));
}

int clusterLimit(Session& session, const std::string& limit) {
  if (limit.empty()) return showLimit(session, session.api().get("/api/v1/cluster/limits"));
  Json max(nullptr);
  if (limit != "default") {
    const auto number = readNumber("LIMIT", limit);
    if (!number.ok()) return session.fail(number.error());
    max = *number;
  }
  return showChanged(session, session.api().post("/api/v1/cluster/limit", {{"running_max", max}}),
                     fmt::format("limit of the cluster set to {}", limit));
}

int clusterDegrade(Session& session, const DegradeOptions& options) {
  if (options.off != options.min_priority.empty()) {
    return session.fail(
        Error::invalidArgument("expected either --min-priority low|normal|high|critical or --off"));
  }
  Json body = {{"min_priority", nullptr}};
  if (!options.off) {
    if (const Status known = checkPriority(options.min_priority); !known.ok()) {
      return session.fail(known.error());
    }
    body["min_priority"] = options.min_priority;
  }
  if (!options.group.empty()) body["group"] = options.group;
  const std::string who =
      options.group.empty() ? std::string("the cluster") : "group " + options.group;
  return showChanged(session, session.api().post("/api/v1/cluster/degrade", body),
                     options.off ? fmt::format("{} starts tasks of every priority again", who)
                                 : fmt::format("{} starts only tasks of priority {} and above", who,
                                               options.min_priority));
}

}  // namespace baton::cli
