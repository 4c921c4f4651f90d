#include "cli/flow_actions.h"

#include <algorithm>

#include "cli/exit_code.h"
#include "cli/flow_queries.h"
#include "cli/options.h"
#include "cli/run_wait.h"
#include "cli/stored_definition.h"
#include "common/base/duration_text.h"
#include "common/base/nearest_word.h"
#include "flow/definition/flow_parser.h"

namespace baton::cli {
namespace {

// The definition of a flow as the master has it; none: it can't be had, or not be read.
std::optional<flow::FlowSpec> definitionOf(Session& session, const std::string& name) {
  const auto flow = session.api().get(flowPath(name));
  if (!flow.ok() || !flow->is_object()) return std::nullopt;
  return flow::parseFlow(name, memberText(*flow, "text"), {.stored = true}).flow;
}

// A parameter that the definition does not declare reaches the tasks as a variable, but most often
// it is a slip of the keys. What can't be found out is not said.
void warnOfUndeclared(Session& session, const std::string& name, const Json& params) {
  const auto flow = definitionOf(session, name);
  if (!flow) return;
  std::vector<std::string_view> known;
  for (const auto& [declared, value] : flow->params) known.push_back(declared);
  for (const auto& [used, needed] : flow->project_params) known.push_back(used);
  for (const auto& [given, value] : params.items()) {
    if (std::find(known.begin(), known.end(), given) != known.end()) continue;
    session.err() << printable(fmt::format("baton: warning: flow {} declares no parameter {}{}",
                                           name, given, hintFor(given, known)))
                  << "\n";
  }
}

// Says when the flow's own rule lets fewer runs go at once than were asked for.
void warnOfOverlap(Session& session, const FlowBackfillOptions& options) {
  if (options.parallel <= 1) return;
  const auto flow = definitionOf(session, options.flow);
  if (!flow) return;
  const flow::OverlapSpec& overlap = flow->overlap;
  const bool parallel = overlap.policy == flow::OverlapSpec::Policy::Parallel;
  const int64_t places = parallel ? overlap.max_runs : 1;
  if (places >= options.parallel) return;
  session.err() << printable(fmt::format(
                       "baton: warning: overlap of flow {} is {}: {} of its runs at a time, "
                       "whatever --parallel says",
                       options.flow, toString(overlap.policy),
                       places == 1 ? "one" : std::to_string(places)))
                << "\n";
}

}  // namespace

int flowSetOnline(Session& session, const std::vector<std::string>& names, bool online) {
  int code = kExitOk;
  for (const std::string& name : names) {
    const auto flow = session.api().post(flowPath(name) + (online ? "/online" : "/offline"));
    if (!flow.ok()) {
      const int failed = session.fail(flow.error());
      if (code == kExitOk) code = failed;
      continue;
    }
    const std::string next = online ? memberText(*flow, "next_at") : "";
    session.printLine(
        printable(fmt::format("flow {} {}{}", memberText(*flow, "name"),
                              online ? "online" : "offline", next.empty() ? "" : ", next " + next)),
        *flow);
  }
  return code;
}

int flowDelete(Session& session, const std::string& name, bool yes) {
  return deleteStored(session, flowPath(name), "flow", name,
                      " with its schedule, and stop its runs that wait or run", yes);
}

int flowTrigger(Session& session, const FlowTriggerOptions& options) {
  if (!options.wait_timeout.empty()) {
    if (!options.wait) {
      return session.fail(Error::invalidArgument("--wait-timeout belongs to --wait"));
    }
    auto timeout = parseDuration(options.wait_timeout);
    if (!timeout.ok()) return session.fail(Error(timeout.error()).withContext("--wait-timeout"));
  }
  Json body = Json::object();
  if (const Status added = addPairs(body, "params", "--param", options.params); !added.ok()) {
    return session.fail(added.error());
  }
  if (!options.plan_time.empty()) body["plan_time"] = options.plan_time;
  if (!options.priority.empty()) body["priority"] = options.priority;
  const auto run =
      session.api().create(flowPath(options.flow) + "/trigger", body, options.idempotency_key);
  if (!run.ok()) return session.fail(run.error());
  if (body.contains("params")) warnOfUndeclared(session, options.flow, body["params"]);
  const std::string id = memberText(*run, "id");
  if (session.format() == Format::Table) {
    session.out() << printable(id) << "\n" << std::flush;
  } else if (!options.wait) {
    session.printObject(*run);
  }
  return options.wait ? runWait(session, {.id = id, .timeout = options.wait_timeout}) : kExitOk;
}

int flowBackfill(Session& session, const FlowBackfillOptions& options) {
  const bool range = !options.from.empty() || !options.to.empty();
  if (range == !options.at.empty() || (range && (options.from.empty() || options.to.empty()))) {
    return session.fail(
        Error::invalidArgument("which plan times? expected --from T --to T, or --at T..."));
  }
  Json body = {{"parallel", options.parallel},
               {"newest_first", options.newest_first},
               {"keep_going", options.keep_going},
               {"dry_run", options.dry_run}};
  if (range) {
    body["from"] = options.from;
    body["to"] = options.to;
  } else {
    body["plan_times"] = options.at;
  }
  if (const Status added = addPairs(body, "params", "--param", options.params); !added.ok()) {
    return session.fail(added.error());
  }
  const auto backfill =
      session.api().create(flowPath(options.flow) + "/backfill", body, options.idempotency_key);
  if (!backfill.ok()) return session.fail(backfill.error());
  const auto items = backfill->find("items");
  const Json rows = items == backfill->end() ? Json::array() : *items;
  session.printRows({memberColumn("PLAN_TIME", "plan_time"), memberColumn("RUN", "run_id")}, rows,
                    *backfill);
  if (session.format() != Format::Table) return kExitOk;
  const std::string id = printable(memberText(*backfill, "id"));
  const char* const runs = rows.size() == 1 ? "run" : "runs";
  session.err() << (options.dry_run
                        ? fmt::format("{} {} would be made\n", rows.size(), runs)
                        : fmt::format("backfill {}: {} {}; baton run list --backfill {}\n", id,
                                      rows.size(), runs, id));
  warnOfOverlap(session, options);
  const auto to = parseRfc3339(options.to);
  if (to.ok() && *to > session.clock().wallNow()) {
    session.err() << "baton: --to lies in the future: instants that have not passed are left to "
                     "the schedule\n";
  }
  return kExitOk;
}

}  // namespace baton::cli
