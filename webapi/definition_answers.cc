#include "webapi/definition_answers.h"

#include <algorithm>

#include "webapi/flow_json.h"
#include "webapi/request_gate.h"

namespace baton::webapi {
namespace {

using master::api::DefinitionIssue;

// "line 3, column 5: tasks.load.needs: "x" is no task of this flow"
std::string issueText(const DefinitionIssue& issue, bool with_file) {
  std::string text = with_file ? issue.file + ", " : std::string();
  if (issue.line > 0) text += fmt::format("line {}, column {}: ", issue.line, issue.column);
  if (!issue.key.empty()) text += issue.key + ": ";
  return text + issue.message;
}

}  // namespace

net::HttpResponse wrongDefinition(const std::vector<DefinitionIssue>& issues, bool with_file) {
  const auto first = std::find_if(issues.begin(), issues.end(),
                                  [](const DefinitionIssue& issue) { return !issue.warning; });
  const Json json = issuesToJson(issues);
  const size_t count = json.at("errors").size();
  const std::string detail = fmt::format(
      "the definition is wrong{}: {}", count > 1 ? fmt::format(" in {} places, first", count) : "",
      issueText(first == issues.end() ? issues.front() : *first, with_file));
  return problem(400, "invalid_definition", detail, {}, json);
}

void failDefinition(const Call& call, const Error& error) {
  if (error.code() != ErrorCode::Conflict || error.field() != "version") return call.fail(error);
  call.reply(problem(412, "version_conflict", error.told(), error.field()));
}

bool wantsYaml(const net::HttpRequest& request) {
  std::string_view rest = request.headers.get("Accept");
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string_view kind = rest.substr(0, comma);
    if (isYamlContentType(kind)) return true;
    if (isJsonContentType(kind)) return false;
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace baton::webapi
