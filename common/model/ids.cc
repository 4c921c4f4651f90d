#include "common/model/ids.h"

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

std::string nameKey(std::string_view name) {
  std::string key(name);
  for (char& c : key) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return key;
}

}  // namespace baton
