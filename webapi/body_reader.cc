#include "webapi/body_reader.h"

#include "common/model/task_spec.h"

namespace baton::webapi {

Result<Json> readObjectBody(const net::HttpRequest& request) {
  if (request.body.empty()) return Json(Json::object());
  return parseJson(request.body);
}

bool readTime(JsonReader& reader, std::string_view name, WallTime& out) {
  if (!reader.has(name)) return false;
  std::string text;
  reader.string(name, text);
  const auto time = parseRfc3339(text);
  if (time.ok() && *time == WallTime{}) {
    reader.fail(name, "is the beginning of 1970, which stands for no time; expected a later one");
    return false;
  }
  if (time.ok()) {
    out = *time;
    return true;
  }
  reader.fail(name, time.error().message());  // Nothing new if it is no string.
  return false;
}

bool readName(JsonReader& reader, std::string_view name, std::string& out) {
  if (!reader.has(name)) return false;
  std::string text;
  reader.string(name, text);
  if (isValidName(text)) {
    out = std::move(text);
    return true;
  }
  reader.fail(name, fmt::format("is \"{}\", expected {}", truncateUtf8(text, 80), kNameRule));
  return false;
}

bool readPriority(JsonReader& reader, std::string_view name, Priority& out) {
  if (!reader.has(name)) return false;
  std::string word;
  reader.string(name, word);
  if (const auto priority = parsePriority(word)) {
    out = *priority;
    return true;
  }
  reader.fail(name, fmt::format("is \"{}\", expected low, normal, high or critical",
                                truncateUtf8(word, 40)));
  return false;
}

void readParams(JsonReader& reader, std::string_view name,
                std::map<std::string, std::optional<std::string>>& out) {
  const Json* params = reader.object(name);
  if (params == nullptr) return;
  const std::string path = reader.pathOf(name);
  size_t bytes = 0;
  for (const auto& [key, value] : params->items()) {
    bytes += key.size();
    if (value.is_null()) {
      out[key] = std::nullopt;
    } else if (value.is_string()) {
      bytes += value.get_ref<const std::string&>().size();
      out[key] = value.get<std::string>();
    } else {
      return reader.fail(Error(ErrorCode::InvalidArgument,
                               fmt::format("is {} ({}), expected a string or null",
                                           jsonTypeName(value), truncateUtf8(dumpJson(value), 40)),
                               fmt::format("{}.{}", path, truncateUtf8(key, 80))));
    }
  }
  if (bytes <= kParamsBytesMax) return;
  reader.fail(Error(ErrorCode::TooLarge,
                    fmt::format("has {} bytes, at most {} are accepted", bytes, kParamsBytesMax),
                    path));
}

void require(JsonReader& reader, std::string_view name) {
  if (!reader.has(name)) reader.fail(name, "is missing");
}

}  // namespace baton::webapi
