#include "cli/flow_verbs.h"

#include <algorithm>
#include <map>

#include "cli/exit_code.h"
#include "cli/output.h"
#include "common/model/ids.h"
#include "conf/yaml_file.h"
#include "flow/definition/flow_circle.h"
#include "flow/definition/flow_diff.h"

namespace baton::cli {
namespace {

// Without a master their values are not known.
flow::FlowSurroundings knownTo(const Surroundings& surroundings, const FlowFileOptions& options) {
  flow::FlowSurroundings known;
  for (const std::string& name : options.project_params) known.project_params[name] = std::nullopt;
  known.now = surroundings.clock.wallNow();
  return known;
}

Json issueToJson(const flow::FlowIssue& issue) {
  return {{"file", issue.file},       {"line", issue.line},
          {"column", issue.column},   {"key", issue.key},
          {"message", issue.message}, {"severity", issue.warning ? "warning" : "error"}};
}

// Collects what is wrong with the files, one after the other.
struct Validation {
  std::vector<flow::FlowIssue> issues;
  std::vector<std::string> well;            // Lines about files that are.
  std::map<std::string, std::string> seen;  // Key of the flow: file.
  std::vector<flow::FlowSpec> flows;

  void add(const std::string& file, flow::ParsedFlow parsed) {
    issues.insert(issues.end(), parsed.issues.begin(), parsed.issues.end());
    if (!parsed.flow) return;
    const auto [it, first] = seen.emplace(nameKey(parsed.flow->name), file);
    if (first) {
      well.push_back(fmt::format("{}: well (flow {}, {} task{})", file, parsed.flow->name,
                                 parsed.flow->tasks.size(),
                                 parsed.flow->tasks.size() == 1 ? "" : "s"));
      flows.push_back(std::move(*parsed.flow));
    } else {
      issues.push_back(
          {file, 1, 1, "flow",
           fmt::format("{} is the flow of {} as well", parsed.flow->name, it->second)});
    }
  }
};

// Empty: they would not begin each other.
std::string circleText(const std::vector<flow::FlowSpec>& flows) {
  std::vector<const flow::FlowSpec*> all;
  for (const flow::FlowSpec& flow : flows) all.push_back(&flow);
  const std::string circle = flow::beginningCircle(all);
  return circle.empty() ? circle
                        : "runs of these flows would begin each other, for ever: " + circle;
}

}  // namespace

Result<std::string> readDefinition(Surroundings& surroundings, const std::string& file) {
  if (file != "-") return conf::readConfigFile(file);
  std::string text;
  char buffer[16 * 1024];
  while (surroundings.in.read(buffer, sizeof buffer) || surroundings.in.gcount() > 0) {
    text.append(buffer, static_cast<size_t>(surroundings.in.gcount()));
    if (text.size() > conf::kConfigFileBytesMax) {
      return Error::invalidArgument("{}: is over {} bytes", shownFile(file),
                                    conf::kConfigFileBytesMax);
    }
  }
  if (surroundings.in.bad()) return Error::invalidArgument("{}: can't be read", shownFile(file));
  return text;
}

std::string shownFile(const std::string& file) { return file == "-" ? "standard input" : file; }

void printIssues(std::ostream& out, const std::vector<flow::FlowIssue>& issues) {
  for (const flow::FlowIssue& issue : issues) out << printable(issue.text()) << "\n";
}

void printChanges(std::ostream& out, Format format, const std::vector<std::string>& changes) {
  if (format == Format::Table) {
    for (const std::string& change : changes) out << printable(change) << "\n";
    return;
  }
  const Json whole = {{"items", changes}};
  format == Format::Json ? printJson(out, whole) : printYaml(out, whole);
}

int flowValidate(Surroundings& surroundings, const FlowFileOptions& options) {
  const auto format = parseFormat(options.output);
  if (!format.ok()) return reportError(surroundings.err, format.error());
  Validation validation;
  int code = kExitOk;
  for (const std::string& file : options.files) {
    const auto text = readDefinition(surroundings, file);
    if (text.ok()) {
      validation.add(shownFile(file),
                     flow::parseFlow(shownFile(file), *text, knownTo(surroundings, options)));
    } else {
      code = std::max(code, reportError(surroundings.err, text.error()));
    }
  }
  if (const std::string circle = circleText(validation.flows); !circle.empty()) {
    validation.issues.push_back({.file = shownFile(options.files.front()), .message = circle});
  }
  const bool wrong = std::any_of(validation.issues.begin(), validation.issues.end(),
                                 [](const flow::FlowIssue& issue) { return !issue.warning; });
  if (*format == Format::Table) {
    printIssues(surroundings.err, validation.issues);
    for (const std::string& line : validation.well) surroundings.out << printable(line) << "\n";
  } else {
    Json items = Json::array();
    for (const flow::FlowIssue& issue : validation.issues) items.push_back(issueToJson(issue));
    const Json whole = {{"items", std::move(items)}};
    *format == Format::Json ? printJson(surroundings.out, whole)
                            : printYaml(surroundings.out, whole);
  }
  return std::max(code, wrong ? kExitUsage : kExitOk);
}

int flowDiff(Surroundings& surroundings, const FlowFileOptions& options) {
  const auto format = parseFormat(options.output);
  if (!format.ok()) {
    reportError(surroundings.err, format.error());
    return kExitDiffFailed;
  }
  std::vector<flow::FlowSpec> flows;
  for (const std::string& file : options.files) {
    const auto text = readDefinition(surroundings, file);
    if (!text.ok()) {
      reportError(surroundings.err, text.error());
      continue;
    }
    flow::ParsedFlow parsed =
        flow::parseFlow(shownFile(file), *text, knownTo(surroundings, options));
    if (parsed.flow) {
      flows.push_back(std::move(*parsed.flow));
    } else {
      printIssues(surroundings.err, parsed.issues);
    }
  }
  if (flows.size() != 2) return kExitDiffFailed;
  const std::vector<std::string> changes = flow::diffFlows(flows[0], flows[1]);
  printChanges(surroundings.out, *format, changes);
  return changes.empty() ? kExitOk : kExitDiffers;
}

}  // namespace baton::cli
