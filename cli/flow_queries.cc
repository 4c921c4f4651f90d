#include "cli/flow_queries.h"

#include "cli/stored_definition.h"
#include "common/calendar/time_zone.h"
#include "common/model/task_spec.h"
#include "flow/definition/flow_parser.h"

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
          timeColumn("NEXT", "next_at"),
          timeColumn("LAST_SUCCESS", "last_success"),
          timeColumn("CHANGED", "changed_at")};
}

std::string sourceText(const flow::EventSource& source) {
  if (!source.name.empty()) return "event " + source.name;
  std::string text = "end of flow " + source.flow;
  if (!source.task.empty()) text += ", task " + source.task;
  return text;
}

// The same in the flow's own zone, if that has another clock.
std::string timeIn(const std::string& utc, const std::string& zone_name) {
  const auto time = parseRfc3339(utc);
  const auto zone = TimeZone::load(zone_name);
  if (!time.ok() || !zone.ok() || zone->offsetAt(*time) == Seconds(0)) return shortTime(utc);
  return fmt::format("{}  {}", shortTime(utc), formatRfc3339(*time, *zone));
}

// What the definition says and the rest of the answer does not.
Facts definitionFacts(const flow::FlowSpec& spec) {
  std::string params;
  for (const auto& [name, value] : spec.params) params += (params.empty() ? "" : ", ") + name;
  std::string deadline = spec.finish_by;
  if (!deadline.empty()) deadline = fmt::format("{} {}", spec.finish_by, spec.timezone);
  return {{"description", spec.description},
          {"begun by", spec.trigger ? sourceText(*spec.trigger) : std::string()},
          {"finish by", deadline},
          {"overlap", std::string(toString(spec.overlap.policy))},
          {"parameters", params},
          {"tasks", std::to_string(spec.tasks.size())}};
}

Facts flowFacts(const Json& flow) {
  const flow::ParsedFlow parsed =
      flow::parseFlow(memberText(flow, "name"), memberText(flow, "text"), {.stored = true});
  const std::string zone = parsed.flow ? parsed.flow->timezone : std::string("UTC");
  std::string version = memberText(flow, "version");
  const std::string newest = memberText(flow, "newest_version");
  if (newest != version) version += fmt::format(" (the newest is {})", newest);
  const std::string author = memberText(flow, "author");
  if (!author.empty()) version += " by " + author;
  const std::string changed = shortTime(memberText(flow, "changed_at"));
  if (!changed.empty()) version += " at " + changed;
  std::string state = onlineText(flow);
  const std::string since = shortTime(memberText(flow, "online_since"));
  if (!since.empty()) state += " since " + since;
  Facts facts = {{"flow", memberText(flow, "name")},
                 {"version", version},
                 {"owner", memberText(flow, "owner")},
                 {"tags", memberText(flow, "tags")},
                 {"state", state},
                 {"schedule", memberText(flow, "schedule")}};
  const auto add_instants = [&](const std::string& label, const Json& instants) {
    for (size_t i = 0; i < instants.size(); ++i) {
      facts.emplace_back(i == 0 ? label : "", timeIn(instants[i].get<std::string>(), zone));
    }
  };
  const auto found = flow.find("next_instants");
  const Json instants = found != flow.end() && found->is_array() ? *found : Json(Json::array());
  // What comes next by the definition says more than the next alone, and is known offline too.
  if (instants.empty() || newest != memberText(flow, "version")) {
    const std::string next = memberText(flow, "next_at");
    if (!next.empty()) add_instants("next", Json::array({next}));
    add_instants("by this version", instants);
  } else {
    add_instants(state.starts_with("online") ? "next" : "next if online", instants);
  }
  if (parsed.flow) {
    const Facts more = definitionFacts(*parsed.flow);
    facts.insert(facts.end(), more.begin(), more.end());
  }
  const Facts rest = {{"dealt with up to", shortTime(memberText(flow, "last_instant"))},
                      {"last success", shortTime(memberText(flow, "last_success"))},
                      {"live runs", memberText(flow, "live_runs")},
                      {"created", shortTime(memberText(flow, "created_at"))}};
  facts.insert(facts.end(), rest.begin(), rest.end());
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
                    timeColumn("CREATED", "created_at")},
                   options);
}

}  // namespace baton::cli
