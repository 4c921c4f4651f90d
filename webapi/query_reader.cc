#include "webapi/query_reader.h"

#include <charconv>

#include "common/base/json.h"
#include "common/model/task_spec.h"

namespace baton::webapi {

Result<int64_t> parseDecimal(std::string_view text, int64_t min, int64_t max) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [read, failure] = std::from_chars(text.data(), end, value);
  const bool digits_only = !text.empty() && text.front() >= '0' && text.front() <= '9' &&
                           (text.size() == 1 || text.front() != '0');
  if (!digits_only || failure != std::errc() || read != end || value < min || value > max) {
    return Error::invalidArgument("is \"{}\", expected a whole number from {} to {}",
                                  truncateUtf8(text, 40), min, max);
  }
  return value;
}

QueryReader& QueryReader::text(std::string_view name, std::string& out, size_t max) {
  const std::string* value = request_.findQuery(name);
  if (value == nullptr) return *this;
  if (value->empty() || utf8Length(*value) > max) {
    fail(name, fmt::format("must have 1 to {} characters", max));
    return *this;
  }
  out = *value;
  return *this;
}

QueryReader& QueryReader::integer(std::string_view name, int64_t& out, int64_t min, int64_t max) {
  const std::string* value = request_.findQuery(name);
  if (value == nullptr) return *this;
  const auto parsed = parseDecimal(*value, min, max);
  if (parsed.ok()) {
    out = *parsed;
  } else {
    fail(name, parsed.error().message());
  }
  return *this;
}

QueryReader& QueryReader::boolean(std::string_view name, bool& out) {
  const std::string* value = request_.findQuery(name);
  if (value == nullptr) return *this;
  if (*value != "true" && *value != "false") {
    fail(name, fmt::format("is \"{}\", expected true or false", truncateUtf8(*value, 40)));
    return *this;
  }
  out = *value == "true";
  return *this;
}

QueryReader& QueryReader::time(std::string_view name, WallTime& out) {
  const std::string* value = request_.findQuery(name);
  if (value == nullptr) return *this;
  const auto parsed = parseRfc3339(*value);
  if (parsed.ok()) {
    out = *parsed;
  } else {
    fail(name, parsed.error().message());
  }
  return *this;
}

QueryReader& QueryReader::words(std::string_view name, std::vector<std::string>& out) {
  for (const auto& [key, value] : request_.query) {
    if (key != name) continue;
    std::string_view rest = value;
    while (true) {
      const size_t comma = rest.find(',');
      const std::string_view word = rest.substr(0, comma);
      if (word.empty()) fail(name, "has an empty word");
      out.emplace_back(word);
      if (comma == rest.npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  if (out.size() > 64) fail(name, "has more than 64 words");
  return *this;
}

QueryReader& QueryReader::knownWords(std::string_view name,
                                     const std::vector<std::string_view>& known,
                                     std::vector<std::string>& out) {
  const auto parse = [&](const std::string& word) -> std::optional<std::string> {
    if (std::find(known.begin(), known.end(), word) == known.end()) return std::nullopt;
    return word;
  };
  return choices(name, fmt::format("{}", fmt::join(known, ", ")), parse, out);
}

void QueryReader::failWord(std::string_view name, std::string_view word,
                           std::string_view expected) {
  fail(name, fmt::format("\"{}\" is not one of {}", truncateUtf8(word, 40), expected));
}

void QueryReader::fail(std::string_view name, std::string message) {
  if (!error_) error_ = Error(ErrorCode::InvalidArgument, std::move(message), std::string(name));
}

Status QueryReader::finish() const {
  if (error_) return *error_;
  return {};
}

}  // namespace baton::webapi
