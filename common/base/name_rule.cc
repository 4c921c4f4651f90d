#include "common/base/name_rule.h"

#include <algorithm>

namespace baton {

bool isPathPart(std::string_view text) {
  return !text.empty() && text != "." && text != ".." && text.find('/') == text.npos;
}

bool isValidName(std::string_view text, bool colon) {
  return isPathPart(text) && text.size() <= 64 &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-' || (colon && c == ':');
         });
}

}  // namespace baton
