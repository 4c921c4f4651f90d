#include "common/model/task_rules.h"

#include <algorithm>

namespace baton {

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

bool isWebAddress(std::string_view url) {
  return url.starts_with("http://") || url.starts_with("https://");
}

}  // namespace baton
