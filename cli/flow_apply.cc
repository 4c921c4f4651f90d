#include "cli/flow_apply.h"

#include <algorithm>
#include <map>

#include "cli/exit_code.h"
#include "cli/flow_queries.h"
#include "cli/flow_verbs.h"
#include "common/base/random.h"
#include "common/model/ids.h"

namespace baton::cli {
namespace {

constexpr const char* kYaml = "application/yaml";  // JSON is YAML, too.

struct Definition {
  std::string file;
  std::string text;
  Json checked;  // What the master said of it.
};

int64_t numberIn(const Json& json, const char* name) {
  const auto it = json.find(name);
  return it != json.end() && it->is_number_integer() ? it->get<int64_t>() : 0;
}

// Issues as the master tells them, under the name of the file.
std::vector<flow::FlowIssue> issuesIn(const Json& json, const char* member,
                                      const std::string& file) {
  std::vector<flow::FlowIssue> issues;
  const auto list = json.find(member);
  if (list == json.end() || !list->is_array()) return issues;
  for (const Json& issue : *list) {
    issues.push_back({file, static_cast<int>(numberIn(issue, "line")),
                      static_cast<int>(numberIn(issue, "column")), memberText(issue, "key"),
                      memberText(issue, "message"), std::string_view(member) == "warnings",
                      memberText(issue, "missing_flow")});
  }
  return issues;
}

// Asks the master about a definition. Errors of the definition are printed.
Result<Json> checkDefinition(Session& session, const std::string& file, const std::string& text) {
  webapi::ApiRequest request;
  request.method = "POST";
  request.target = "/api/v1/flows/validate";
  request.content_type = kYaml;
  request.body = text;
  const auto reply = session.api().call(request);
  if (reply.ok()) return reply->json();
  const Json& problem = session.api().problem();
  if (!problem.contains("errors")) return Error(reply.error()).withContext(file);
  printIssues(session.err(), issuesIn(problem, "errors", file));
  printIssues(session.err(), issuesIn(problem, "warnings", file));
  return reply.error();
}

// Whether the error was printed, issue by issue.
bool isTold(Session& session) { return session.api().problem().contains("errors"); }

Result<Json> storeDefinition(Session& session, const Definition& definition,
                             const FlowApplyOptions& options) {
  webapi::ApiRequest request;
  request.method = "PUT";
  request.target = flowPath(memberText(definition.checked, "name"));
  if (options.online) request.target += "?online=true";
  if (options.offline) request.target += "?online=false";
  request.content_type = kYaml;
  request.body = definition.text;
  request.idempotency_key = makeUuid();
  request.timeout = Millis(30'000);
  const auto reply = session.api().call(request);
  if (!reply.ok()) return Error(reply.error()).withContext(definition.file);
  return reply->json();
}

void printApplied(Session& session, const Json& applied, bool dry_run) {
  const bool created = memberText(applied, "created") == "true";
  const bool changed = memberText(applied, "changed") == "true";
  std::string line = fmt::format("flow {}", memberText(applied, "name"));
  if (dry_run) {
    line += created ? " would be created" : changed ? " would change" : " would stay as it is";
  } else {
    const bool online = memberText(applied, "online") == "true";
    line += fmt::format(" version {} {}, {}", memberText(applied, "version"),
                        created   ? "created"
                        : changed ? "stored"
                                  : "unchanged",
                        online ? "online" : "offline");
    const std::string next = memberText(applied, "next_at");
    if (online && !next.empty()) line += ", next " + next;
  }
  session.out() << printable(line) << "\n";
  const auto changes = applied.find("changes");
  if (changes == applied.end() || created) return;
  for (const Json& change : *changes) {
    if (change.is_string()) session.out() << "  " << printable(change.get<std::string>()) << "\n";
  }
}

// Reads and checks all; the exit code, and 0 if nothing is wrong.
int checkAll(Surroundings& surroundings, Session& session, const FlowApplyOptions& options,
             std::vector<Definition>& definitions) {
  std::map<std::string, std::string> seen;
  int code = kExitOk;
  for (const std::string& file : options.files) {
    auto text = readDefinition(surroundings, file);
    if (!text.ok()) {
      code = std::max(code, session.fail(text.error()));
      continue;
    }
    const std::string shown = shownFile(file);
    auto checked = checkDefinition(session, shown, *text);
    if (!checked.ok()) {
      if (!isTold(session)) return session.fail(checked.error());
      code = std::max(code, kExitUsage);
      continue;
    }
    const std::string name = memberText(*checked, "name");
    const auto [it, first] = seen.emplace(nameKey(name), shown);
    if (!first) {
      code = std::max(code, session.fail(Error::invalidArgument("{}: {} is the flow of {} as well",
                                                                shown, name, it->second)));
    }
    definitions.push_back({shown, std::move(*text), std::move(*checked)});
  }
  std::vector<flow::FlowSpec> flows;
  for (const Definition& definition : definitions) {
    flow::ParsedFlow parsed = flow::parseFlow(definition.file, definition.text);
    if (parsed.flow) flows.push_back(std::move(*parsed.flow));
  }
  if (const std::string circle = circleText(flows); !circle.empty()) {
    code = std::max(code, session.fail(Error::invalidArgument("{}", circle)));
  }
  for (const Definition& definition : definitions) {
    auto warnings = issuesIn(definition.checked, "warnings", definition.file);
    // What comes with the same order is not missing.
    std::erase_if(warnings, [&](const flow::FlowIssue& issue) {
      return !issue.missing_flow.empty() && seen.contains(nameKey(issue.missing_flow));
    });
    printIssues(session.err(), warnings);
  }
  return code;
}

}  // namespace

int flowApply(Surroundings& surroundings, Session& session, const FlowApplyOptions& options) {
  if (options.online && options.offline) {
    return session.fail(Error::invalidArgument("--online and --offline contradict each other"));
  }
  std::vector<Definition> definitions;
  if (const int wrong = checkAll(surroundings, session, options, definitions); wrong != kExitOk) {
    session.err() << "baton: nothing was applied\n";
    return wrong;
  }
  Json items = Json::array();
  int code = kExitOk;
  for (const Definition& definition : definitions) {
    auto applied = options.dry_run ? Result<Json>(definition.checked)
                                   : storeDefinition(session, definition, options);
    if (!applied.ok()) {
      code = session.fail(applied.error());
      const size_t left = definitions.size() - items.size() - 1;
      if (left > 0) session.err() << fmt::format("baton: {} more not applied\n", left);
      break;
    }
    if (session.format() == Format::Table) printApplied(session, *applied, options.dry_run);
    items.push_back(std::move(*applied));
  }
  if (session.format() != Format::Table) session.printObject({{"items", std::move(items)}});
  return code;
}

int flowDiffStored(Surroundings& surroundings, Session& session, const std::string& file) {
  const auto text = readDefinition(surroundings, file);
  if (!text.ok()) {
    session.fail(text.error());
    return kExitDiffFailed;
  }
  const auto checked = checkDefinition(session, shownFile(file), *text);
  if (!checked.ok()) {
    if (!isTold(session)) session.fail(checked.error());
    return kExitDiffFailed;
  }
  std::vector<std::string> changes;
  if (memberText(*checked, "created") == "true") {
    changes.push_back(fmt::format("flow {} is new", memberText(*checked, "name")));
  } else if (const auto list = checked->find("changes"); list != checked->end()) {
    for (const Json& change : *list) {
      if (change.is_string()) changes.push_back(change.get<std::string>());
    }
  }
  printChanges(session.out(), session.format(), changes);
  return changes.empty() ? kExitOk : kExitDiffers;
}

}  // namespace baton::cli
