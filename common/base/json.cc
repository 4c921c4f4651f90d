#include "common/base/json.h"

#include <algorithm>
#include <set>

#include "common/base/duration_text.h"

namespace baton {
namespace {

// Finds the first over-deep bracket without recursion, before the recursive parser sees the text.
bool tooDeep(std::string_view text, size_t depth_max) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > depth_max) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

std::string position(std::string_view text, size_t byte) {
  byte = std::min(byte, text.size());
  size_t line = 1;
  size_t column = 1;
  for (size_t i = 0; i + 1 < byte; ++i) {
    if (text[i] == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  return fmt::format("line {}, column {}", line, column);
}

std::string shown(const Json& json) { return truncateUtf8(dumpJson(json), 60); }

}  // namespace

Result<Json> parseJson(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes_max) {
    return Error::make(ErrorCode::TooLarge, "JSON text of {} bytes; at most {} are accepted",
                       text.size(), limits.bytes_max);
  }
  if (tooDeep(text, limits.depth_max)) {
    return Error::invalidArgument("JSON nested deeper than {} levels", limits.depth_max);
  }
  std::vector<std::set<std::string>> keys;
  std::string duplicate;
  const auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys.back().insert(key).second && duplicate.empty()) duplicate = key;
    }
    return true;
  };
  // The parser would take it for the end of the text.
  if (const size_t zero = text.find('\0'); zero != text.npos) {
    return Error::invalidArgument("not JSON at {}: a zero byte", position(text, zero + 1));
  }
  try {
    Json json = Json::parse(text, watch);
    if (!duplicate.empty()) {
      return Error::invalidArgument("JSON key \"{}\" stands twice in one object", duplicate);
    }
    return json;
  } catch (const Json::parse_error& e) {
    std::string_view what = e.what();
    const size_t cause = what.find(": ");
    if (cause != what.npos) what.remove_prefix(cause + 2);
    return Error::invalidArgument("not JSON at {}: {}", position(text, e.byte),
                                  truncateUtf8(what, 160));
  } catch (const Json::exception& e) {
    return Error::invalidArgument("not JSON: {}", e.what());
  }
}

std::string dumpJson(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string_view jsonTypeName(const Json& json) {
  switch (json.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::boolean:
      return "a boolean";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::object:
      return "an object";
    default:
      return "a number";
  }
}

JsonReader::JsonReader(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
  if (!json.is_object()) {
    error_ = Error(ErrorCode::InvalidArgument,
                   fmt::format("is {}, expected an object", jsonTypeName(json)), path_);
  }
}

std::string JsonReader::pathOf(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void JsonReader::fail(std::string_view name, std::string message) {
  if (!error_) error_ = Error(ErrorCode::InvalidArgument, std::move(message), pathOf(name));
}

void JsonReader::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

bool JsonReader::has(std::string_view name) const {
  return json_.is_object() && json_.contains(name);
}

const Json* JsonReader::find(std::string_view name) {
  known_.push_back(name);
  if (error_ || !json_.is_object()) return nullptr;
  const auto it = json_.find(name);
  return it == json_.end() ? nullptr : &*it;
}

const Json* JsonReader::any(std::string_view name) { return find(name); }

const Json* JsonReader::object(std::string_view name) {
  const Json* value = find(name);
  if (value != nullptr && !value->is_object()) {
    fail(name, fmt::format("is {}, expected an object", jsonTypeName(*value)));
    return nullptr;
  }
  return value;
}

const Json* JsonReader::array(std::string_view name) {
  const Json* value = find(name);
  if (value != nullptr && !value->is_array()) {
    fail(name, fmt::format("is {}, expected an array", jsonTypeName(*value)));
    return nullptr;
  }
  return value;
}

JsonReader& JsonReader::string(std::string_view name, std::string& out, size_t chars_max) {
  const Json* value = find(name);
  if (value == nullptr) return *this;
  if (!value->is_string()) {
    fail(name, fmt::format("is {} ({}), expected a string", jsonTypeName(*value), shown(*value)));
    return *this;
  }
  const auto& text = value->get_ref<const std::string&>();
  if (utf8Length(text) > chars_max) {
    fail(name,
         fmt::format("has {} characters, at most {} are accepted", utf8Length(text), chars_max));
    return *this;
  }
  out = text;
  return *this;
}

JsonReader& JsonReader::boolean(std::string_view name, bool& out) {
  const Json* value = find(name);
  if (value == nullptr) return *this;
  if (!value->is_boolean()) {
    fail(name,
         fmt::format("is {} ({}), expected true or false", jsonTypeName(*value), shown(*value)));
    return *this;
  }
  out = value->get<bool>();
  return *this;
}

JsonReader& JsonReader::integer(std::string_view name, int64_t& out, int64_t min, int64_t max) {
  const Json* value = find(name);
  if (value == nullptr) return *this;
  const bool fits = value->is_number_integer() &&
                    (!value->is_number_unsigned() || value->get<uint64_t>() <= INT64_MAX);
  if (!fits || value->get<int64_t>() < min || value->get<int64_t>() > max) {
    fail(name,
         fmt::format("is {}, expected a whole number from {} to {}", shown(*value), min, max));
    return *this;
  }
  out = value->get<int64_t>();
  return *this;
}

JsonReader& JsonReader::number(std::string_view name, double& out, double min, double max) {
  const Json* value = find(name);
  if (value == nullptr) return *this;
  if (!value->is_number() || value->get<double>() < min || value->get<double>() > max) {
    fail(name, fmt::format("is {}, expected a number from {} to {}", shown(*value), min, max));
    return *this;
  }
  out = value->get<double>();
  return *this;
}

JsonReader& JsonReader::duration(std::string_view name, Millis& out, Millis max) {
  const Json* value = find(name);
  if (value == nullptr) return *this;
  if (!value->is_string()) {
    fail(name, fmt::format("is {} ({}), expected a duration such as \"90s\"", jsonTypeName(*value),
                           shown(*value)));
    return *this;
  }
  const auto parsed = parseDuration(value->get_ref<const std::string&>());
  if (!parsed.ok()) {
    fail(name, parsed.error().message());
  } else if (*parsed > max) {
    fail(name,
         fmt::format("is {}, expected at most {}", formatDuration(*parsed), formatDuration(max)));
  } else {
    out = *parsed;
  }
  return *this;
}

JsonReader& JsonReader::strings(std::string_view name, std::vector<std::string>& out,
                                size_t count_max) {
  const Json* value = array(name);
  if (value == nullptr) return *this;
  if (value->size() > count_max) {
    fail(name, fmt::format("has {} items, at most {} are accepted", value->size(), count_max));
    return *this;
  }
  std::vector<std::string> items;
  for (size_t i = 0; i < value->size(); ++i) {
    const Json& item = (*value)[i];
    if (!item.is_string()) {
      fail(fmt::format("{}[{}]", name, i),
           fmt::format("is {} ({}), expected a string", jsonTypeName(item), shown(item)));
      return *this;
    }
    items.push_back(item.get<std::string>());
  }
  out = std::move(items);
  return *this;
}

JsonReader& JsonReader::stringMap(std::string_view name, std::map<std::string, std::string>& out,
                                  size_t count_max) {
  const Json* value = object(name);
  if (value == nullptr) return *this;
  if (value->size() > count_max) {
    fail(name, fmt::format("has {} members, at most {} are accepted", value->size(), count_max));
    return *this;
  }
  std::map<std::string, std::string> members;
  for (const auto& [key, item] : value->items()) {
    if (!item.is_string()) {
      fail(fmt::format("{}.{}", name, key),
           fmt::format("is {} ({}), expected a string", jsonTypeName(item), shown(item)));
      return *this;
    }
    members.emplace(key, item.get<std::string>());
  }
  out = std::move(members);
  return *this;
}

Status JsonReader::finish() {
  if (!error_) {
    for (const auto& [key, value] : json_.items()) {
      if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
        fail(truncateUtf8(key, 80), "is not a known field");
        break;
      }
    }
  }
  return finishTolerant();
}

Status JsonReader::finishTolerant() {
  if (error_) return *error_;
  return {};
}

size_t validUtf8Prefix(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    size_t length = 0;
    uint32_t code = 0;
    if (lead < 0x80) {
      ++i;
      continue;
    } else if ((lead & 0xe0) == 0xc0) {
      length = 2;
      code = lead & 0x1f;
    } else if ((lead & 0xf0) == 0xe0) {
      length = 3;
      code = lead & 0x0f;
    } else if ((lead & 0xf8) == 0xf0) {
      length = 4;
      code = lead & 0x07;
    } else {
      return i;
    }
    if (i + length > text.size()) return i;
    for (size_t k = 1; k < length; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + k]);
      if ((byte & 0xc0) != 0x80) return i;
      code = (code << 6) | (byte & 0x3f);
    }
    constexpr uint32_t kSmallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kSmallest[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
      return i;
    }
    i += length;
  }
  return i;
}

bool isValidUtf8(std::string_view text) { return validUtf8Prefix(text) == text.size(); }

size_t utf8Length(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string truncateUtf8(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  constexpr std::string_view kMark = "…";
  size_t end = bytes_max > kMark.size() ? bytes_max - kMark.size() : 0;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + std::string(kMark);
}

}  // namespace baton
