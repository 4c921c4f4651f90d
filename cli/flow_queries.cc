#include "cli/flow_queries.h"

#include "cli/stored_definition.h"

namespace baton::cli {
namespace {

std::string onlineText(const Json& flow) {
  return memberText(flow, "online") == "true" ? "online" : "offline";
}

std::vector<Column> flowColumns() {
  return {memberColumn("NAME", "name"),
          memberColumn("VERSION", "version"),
          {"STATE", onlineText},
          memberColumn("SCHEDULE", "schedule"),
          memberColumn("OWNER", "owner"),
          memberColumn("NEXT", "next_at"),
          memberColumn("LAST_SUCCESS", "last_success"),
          memberColumn("CHANGED", "changed_at")};
}

Facts flowFacts(const Json& flow) {
  std::string version = memberText(flow, "version");
  const std::string newest = memberText(flow, "newest_version");
  if (newest != version) version += fmt::format(" (the newest is {})", newest);
  const std::string author = memberText(flow, "author");
  if (!author.empty()) version += " by " + author;
  const std::string changed = memberText(flow, "changed_at");
  if (!changed.empty()) version += " at " + changed;
  std::string state = onlineText(flow);
  const std::string since = memberText(flow, "online_since");
  if (!since.empty()) state += " since " + since;
  Facts facts = {{"flow", memberText(flow, "name")},
                 {"version", version},
                 {"state", state},
                 {"schedule", memberText(flow, "schedule")},
                 {"next", memberText(flow, "next_at")},
                 {"dealt with up to", memberText(flow, "last_instant")},
                 {"last success", memberText(flow, "last_success")},
                 {"live runs", memberText(flow, "live_runs")},
                 {"created", memberText(flow, "created_at")}};
  const auto instants = flow.find("next_instants");
  if (instants == flow.end() || !instants->is_array() || instants->empty()) return facts;
  // What comes next by the definition says more than the next alone, and is known offline too.
  const bool online = state.starts_with("online");
  auto at = facts.begin() + 4;
  if (newest != memberText(flow, "version")) {
    at = facts.insert(at + 1, {"by this version", instants->front().get<std::string>()});
  } else {
    *at = {online ? "next" : "next if online", instants->front().get<std::string>()};
  }
  for (size_t i = 1; i < instants->size(); ++i) {
    at = facts.insert(at + 1, {"", (*instants)[i].get<std::string>()});
  }
  return facts;
}

}  // namespace

std::string flowPath(const std::string& name) {
  return "/api/v1/flows/" + webapi::pathSegment(name);
}

int flowGet(Session& session, const std::string& name, const std::string& version) {
  const std::string query = webapi::queryString({{"version", version}});
  return showStored(session, flowPath(name) + (query.empty() ? "" : "?" + query), flowFacts);
}

int flowList(Session& session, const FlowListOptions& options) {
  if (options.online && options.offline) {
    return session.fail(Error::invalidArgument("--online and --offline contradict each other"));
  }
  const char* online = options.online ? "true" : options.offline ? "false" : "";
  return listPages(
      session, "/api/v1/flows",
      {{"q", options.text}, {"owner", options.owner}, {"tag", options.tag}, {"online", online}},
      flowColumns(), options.pages);
}

int flowVersions(Session& session, const std::string& name, const PageOptions& options) {
  return listPages(session, flowPath(name) + "/versions", {},
                   {memberColumn("VERSION", "version"), memberColumn("AUTHOR", "author"),
                    memberColumn("CREATED", "created_at")},
                   options);
}

}  // namespace baton::cli
