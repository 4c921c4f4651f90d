#include "common/model/ids.h"

#include <algorithm>
#include <charconv>

namespace baton {

std::optional<TaskId> parseTaskId(std::string_view text) {
  if (text.empty() || text.front() == '0' || text.front() == '-' || text.front() == '+') {
    return std::nullopt;
  }
  TaskId id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc{} || end != text.data() + text.size() || id > INT64_MAX) {
    return std::nullopt;
  }
  return id;
}

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

std::string nameKey(std::string_view name) {
  std::string key(name);
  for (char& c : key) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return key;
}

}  // namespace baton
