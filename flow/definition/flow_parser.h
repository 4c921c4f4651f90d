#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "flow/definition/flow_spec.h"

namespace baton::flow {

// Something wrong in a definition, or (warning) something that is probably not meant.
struct FlowIssue {
  std::string file = {};
  int line = 0;  // From 1, as the column (in characters); 0: nowhere.
  int column = 0;
  std::string key = {};  // "tasks.load.timeout"; empty: the whole.
  std::string message = {};
  bool warning = false;
  std::string missing_flow = {};  // A flow that is named and is not there; empty: it is not that.

  // "file:line:column: key: message"
  std::string text() const;
};

// What is known of the surroundings of a flow; what is not known is not checked.
struct FlowSurroundings {
  // Parameters of the project, with their values as far as those are known.
  ParamMap project_params = {};
  // Of the groups that are set, in units of weight (none: unlimited); nothing: not known.
  std::optional<std::map<std::string, std::optional<int64_t>>> group_limits = {};
  // By key (nameKey); nothing: not known.
  std::optional<std::map<std::string, std::shared_ptr<const WorkCalendar>>> calendars = {};
  // The sets of labels that runners have, those of the kinds that they carry included.
  std::optional<std::vector<LabelMap>> offered = {};
  // Says why callbacks to that address can't be sent; empty text: they can. Null: not known.
  std::function<std::string(const std::string& url)> callback_fault = {};
  // A schedule without an instant behind it is told of.
  std::optional<WallTime> now = {};
  // The text was accepted once, perhaps by an earlier version: what is refused only since then is
  // no error here, so that no upgrade makes a flow unreadable. It fails where it is to run.
  bool stored = false;
};

// Another flow that a definition names.
struct FlowReference {
  enum class Use : uint8_t { SubFlow, Wait, Trigger };
  Use use = Use::SubFlow;
  std::string flow;
  std::string task;  // Of that flow; empty: the flow as a whole.
  std::string by;    // Task that names it; empty: the flow itself (trigger).
  int line = 0;      // Where, as in FlowIssue.
  int column = 0;
  std::string key;
};

struct ParsedFlow {
  std::optional<FlowSpec> flow;   // If nothing is wrong; warnings are no hindrance.
  std::vector<FlowIssue> issues;  // By place; at most 200.
  std::vector<FlowReference> references = {};
};

// Flows that are there, by key (nameKey), with the names of their tasks; none: can't be read.
using KnownFlows = std::map<std::string, std::optional<std::set<std::string>>>;

// Warns of flows that are named and not there, and of tasks that those have not: one issue for all
// tasks that name the same. `known`: at least those of parsed.references that are there. A
// definition may come before what it names, so none of this is an error.
std::vector<FlowIssue> unmetReferences(const std::string& file, const ParsedFlow& parsed,
                                       const KnownFlows& known);

// Reads and checks a definition, YAML or JSON, up to 1 MB. Everything that is wrong is told, not
// the first thing alone. Pure; any thread. `file` is for messages.
ParsedFlow parseFlow(const std::string& file, std::string_view text,
                     const FlowSurroundings& surroundings = {});

}  // namespace baton::flow
