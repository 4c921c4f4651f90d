#include "common/model/task_rules.h"

#include <algorithm>
#include <array>

#include "common/model/ids.h"

namespace baton {
namespace {

constexpr std::array<std::string_view, 6> kBuiltInKinds{"command", "script", "http",
                                                        "flow",    "event",  "noop"};

int depthOf(const Json& json) {
  int depth = 0;
  if (json.is_structured()) {
    for (const Json& inner : json) depth = std::max(depth, depthOf(inner));
    ++depth;
  }
  return depth;
}

}  // namespace

std::string_view wrongVariableName(std::string_view name) {
  const bool plain = !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
                     std::all_of(name.begin(), name.end(), [](char c) {
                       return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9');
                     });
  if (!plain) return "is not a variable name; expected letters, digits and _";
  if (name.starts_with("BATON_")) return "names beginning with BATON_ are set by baton";
  return {};
}

bool isCallbackEvent(std::string_view word) {
  return word == "finished" || word == "failed" || word == "terminated" || word == "skipped";
}

std::string_view wrongPlugInKind(std::string_view kind) {
  if (!isValidName(kind) || kind.size() > kKindCharsMax) {
    return "expected 1 to 32 of A-Z a-z 0-9 . _ -";
  }
  const bool built_in =
      std::find(kBuiltInKinds.begin(), kBuiltInKinds.end(), kind) != kBuiltInKinds.end();
  return built_in ? "that kind is built in" : std::string_view();
}

std::string kindLabel(std::string_view kind) {
  if (kind == "command" || kind == "script") return {};
  return std::string(kKindLabelPrefix) + std::string(kind);
}

Status checkWith(const Json& with) {
  if (with.is_null()) return {};
  if (!with.is_object()) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("is {}, expected a map of the plug-in's own keys", jsonTypeName(with)),
                 "with");
  }
  if (const int depth = depthOf(with); depth > kWithDepthMax) {
    return Error(
        ErrorCode::InvalidArgument,
        fmt::format("is nested {} levels deep, at most {} are accepted", depth, kWithDepthMax),
        "with");
  }
  if (const size_t bytes = dumpJson(with).size(); bytes > kParamsBytesMax) {
    return Error(ErrorCode::TooLarge,
                 fmt::format("has {} bytes, at most {} are accepted", bytes, kParamsBytesMax),
                 "with");
  }
  return {};
}

}  // namespace baton
