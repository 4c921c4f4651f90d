#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "flow/definition/flow_spec.h"

namespace baton::flow {

// Something wrong in a definition, or (warning) something that is probably not meant.
struct FlowIssue {
  std::string file;
  int line = 0;  // From 1, as the column (in characters); 0: nowhere.
  int column = 0;
  std::string key;  // "tasks.load.timeout"; empty: the whole.
  std::string message;
  bool warning = false;

  // "file:line:column: key: message"
  std::string text() const;
};

// What is known of the surroundings of a flow; what is not known is not checked.
struct FlowSurroundings {
  std::set<std::string> project_params;  // Names that the project gives values to.
  // Of the groups that are set, in units of weight (none: unlimited); nothing: not known.
  std::optional<std::map<std::string, std::optional<int64_t>>> group_limits;
  std::optional<std::set<std::string>> calendars;  // Keys (nameKey).
};

struct ParsedFlow {
  std::optional<FlowSpec> flow;   // If nothing is wrong; warnings are no hindrance.
  std::vector<FlowIssue> issues;  // By place; at most 200.
};

// Reads and checks a definition, YAML or JSON, up to 1 MB. Everything that is wrong is told, not
// the first thing alone. Pure; any thread. `file` is for messages.
ParsedFlow parseFlow(const std::string& file, std::string_view text,
                     const FlowSurroundings& surroundings = {});

}  // namespace baton::flow
