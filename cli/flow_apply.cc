#include "cli/flow_apply.h"

#include <algorithm>

#include "cli/exit_code.h"
#include "cli/flow_queries.h"
#include "cli/flow_verbs.h"
#include "cli/stored_definition.h"
#include "common/base/random.h"
#include "common/model/ids.h"

namespace baton::cli {
namespace {

constexpr const char* kYaml = "application/yaml";  // JSON is YAML, too.

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

// The issues of an answer, each under the name of its file.
void printAllIssues(Session& session, const Json& answer, const char* member) {
  const auto list = answer.find(member);
  if (list == answer.end() || !list->is_array()) return;
  for (const Json& issue : *list) {
    Json one = Json::object();
    one[member].push_back(issue);
    printIssues(session.err(), issuesIn(one, member, memberText(issue, "file")));
  }
}

}  // namespace

int flowApply(Surroundings& surroundings, Session& session, const FlowApplyOptions& options) {
  if (options.online && options.offline) {
    return session.fail(Error::invalidArgument("--online and --offline contradict each other"));
  }
  Json body = {{"flows", Json::array()}};
  int code = kExitOk;
  for (const std::string& file : options.files) {
    auto text = readDefinition(surroundings, file);
    if (text.ok() && !isValidUtf8(*text)) {
      text = Error::invalidArgument("{}: is no UTF-8 text", shownFile(file));
    }
    if (text.ok()) {
      if (const std::string other = otherKind(*text, "flow"); !other.empty()) {
        text = Error::invalidArgument("{}: {}", shownFile(file), other);
      }
    }
    if (text.ok()) {
      body["flows"].push_back({{"file", shownFile(file)}, {"text", std::move(*text)}});
    } else {
      code = std::max(code, session.fail(text.error()));
    }
  }
  if (code != kExitOk) return nothingApplied(session, code);
  if (options.online || options.offline) body["online"] = options.online;
  if (options.dry_run) body["dry_run"] = true;
  webapi::ApiRequest request;
  request.target = "/api/v1/flows/apply";
  request.body = dumpJson(body);
  request.idempotency_key = makeUuid();
  const AppliedTogether done = applyTogether(session, std::move(request), [&] {
    if (!isTold(session)) return false;
    printAllIssues(session, session.api().problem(), "errors");
    printAllIssues(session, session.api().problem(), "warnings");
    return true;
  });
  if (done.code != kExitOk) return done.code;
  for (const Json& applied : done.items) printAllIssues(session, applied, "warnings");
  if (session.format() != Format::Table) {
    session.printObject({{"items", done.items}});
    return kExitOk;
  }
  for (const Json& applied : done.items) printApplied(session, applied, options.dry_run);
  return kExitOk;
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
