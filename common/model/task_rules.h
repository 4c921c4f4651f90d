#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/base/json.h"

// What a field of a task may be, for submissions and for flow definitions alike.
namespace baton {

inline constexpr Millis kTimeoutMax{366LL * 86'400'000};  // Also of delays between attempts.
inline constexpr Millis kKillGraceMax{86'400'000};
inline constexpr int64_t kRetriesMax = 1'000;
inline constexpr double kBackoffMax = 100.0;
inline constexpr size_t kLabelsMax = 32;
inline constexpr size_t kTagsMax = 32;
inline constexpr size_t kArgsMax = 4'096;
inline constexpr size_t kInterpreterArgsMax = 64;
inline constexpr size_t kMembersMax = 4'096;  // Of env and params.
inline constexpr int64_t kWeightMax = 1'000;
inline constexpr size_t kDirCharsMax = 4'096;
inline constexpr size_t kUrlCharsMax = 2'000;
inline constexpr size_t kParamsBytesMax = 128 * 1024;
inline constexpr size_t kKindCharsMax = 32;  // As the column has it.
inline constexpr int kWithDepthMax = 16;

inline constexpr std::string_view kLabelRule = "names and values have 1 to 64 of A-Z a-z 0-9 . _ -";
// Labels of this form say which kinds of task a worker carries ("kind.http": "true"): workers
// announce them, the master asks for them, and nobody else may use the names.
inline constexpr std::string_view kKindLabelPrefix = "kind.";
inline constexpr std::string_view kKindAnnounced = "true";
inline constexpr std::string_view kKindLabelRule =
    "names beginning with kind. are announced by workers themselves";

inline constexpr std::string_view kGroupRule =
    "expected a name of 1 to 64 of A-Z a-z 0-9 . _ -, and not . or ..";

// What is wrong with the name of an environment variable or parameter; empty: nothing.
std::string_view wrongVariableName(std::string_view name);
// finished, failed, terminated or skipped.
bool isCallbackEvent(std::string_view word);
// What is wrong with the name of a plug-in's kind (baton-task-KIND); empty: nothing.
std::string_view wrongPlugInKind(std::string_view kind);
// The label that a worker must announce for tasks of this kind: "kind.http"; empty for command and
// script, which every worker carries.
std::string kindLabel(std::string_view kind);
// What is wrong with a plug-in's own keys (an object, its depth and size); nothing if ok. `with`
// may be null: none.
Status checkWith(const Json& with);

}  // namespace baton
