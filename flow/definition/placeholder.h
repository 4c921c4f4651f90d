#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/calendar/time_zone.h"
#include "flow/definition/plan_date.h"

namespace baton::flow {

// All parameters of one task, or all of its texts with them, resolved.
inline constexpr size_t kTaskBytesMax = 1024 * 1024;

// Parameters by name. One without a value (null) is known but empty: it stands for no text, and
// gives no environment variable.
using ParamMap = std::map<std::string, std::optional<std::string>>;
// Outputs of tasks that have ended: task, key, value.
using OutputMap = std::map<std::string, std::map<std::string, std::string>>;
// By task: which of its outputs are not there and why, for people; absent: none was left out.
using OutputNotes = std::map<std::string, std::string>;

// From the strongest to the weakest. Values of Startup, Upstream and Project come from outside of
// the definition and are never looked into; the others may hold placeholders. Within the values of
// Flow, which are known before any task has run, Upstream is not seen.
enum class ParamLevel : uint8_t { Startup, Task, Upstream, Flow, Project };
inline constexpr size_t kParamLevelCount = 5;

// A date within a text.
struct DateText {
  enum class Base : uint8_t { PlanTime, PrevSuccessTime };
  Base base = Base::PlanTime;
  std::vector<DateStep> steps;
  std::string format;  // Checked (plan_date.h).
};

// A piece of a text with placeholders.
struct TextPart {
  enum class Kind : uint8_t { Literal, Name, Output, Date };
  Kind kind = Kind::Literal;
  std::string text;    // Literal: the text; Name: the parameter; Output: the task.
  std::string key;     // Output.
  DateText date;       // Date.
  std::string source;  // As written, for messages.
};

// Reads a text with placeholders:
//   ${name}                          a parameter, or flow, run_id, task
//   ${task.key}                      an output of an upstream task
//   ${plan_time:FORMAT,STEP,…}       a date (also prev_success_time); without format RFC 3339
//   $[yyyyMMdd-1], $[add_months(yyyyMM,-1)], ${system.biz.date}, …   as other schedulers write it
// "$${" and "$$[" stand for "${" and "$["; any other "$" for itself.
// Errors: InvalidArgument (names the placeholder and what is expected).
Result<std::vector<TextPart>> parsePlaceholders(std::string_view text);

// "flow", "run_id", "task", "plan_time", …: names that baton fills in, not to be used by
// parameters.
bool isBuiltInName(std::string_view name);

// Whether the parts hold nothing but literal text.
bool isLiteral(const std::vector<TextPart>& parts);

// What placeholders are resolved with. All that it points to outlives it.
struct PlaceholderContext {
  WallTime plan_time{};
  TimeZone zone = TimeZone::utc();                 // Of the flow: dates are those of its calendar.
  std::optional<WallTime> prev_success_time = {};  // None: dates of it are empty text.
  std::string flow = {};
  std::string run_id = {};
  std::string task = {};
  std::array<const ParamMap*, kParamLevelCount> params = {};  // By ParamLevel; nullptr: none.
  const OutputMap* outputs = nullptr;
  const OutputNotes* output_notes = nullptr;

  const ParamMap*& at(ParamLevel level) { return params[static_cast<size_t>(level)]; }
};

// Resolves a text. A name means its strongest level; within the value of that name itself the same
// name means the next weaker level ("${path}:/opt" adds to the flow's path). Pure.
// Errors: InvalidArgument: cannot be read, an unknown name, output or task, parameters that refer
// to each other, over 128 KB or 10,000 steps.
Result<std::string> resolveText(std::string_view text, const PlaceholderContext& context);

// The value of one parameter, resolved; none for null. Errors: as resolveText.
Result<std::optional<std::string>> resolveParam(const std::string& name,
                                                const PlaceholderContext& context);

// Every parameter of Startup, Task, Flow and Project, resolved (by an output, if one of that name
// is stronger): what a task gets as environment. Errors: as resolveText, with the name of the
// parameter as field; over kTaskBytesMax.
Result<ParamMap> resolveParams(const PlaceholderContext& context);

}  // namespace baton::flow
