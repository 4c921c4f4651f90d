#include <algorithm>
#include <optional>

#include "common/base/duration_text.h"
#include "common/base/json.h"
#include "common/base/name_rule.h"
#include "common/yaml/plain_scalar.h"
#include "conf/settings.h"

namespace baton::conf {
namespace {

std::string shown(std::string_view text) { return fmt::format("\"{}\"", truncateUtf8(text, 60)); }

Error mustBe(const std::string& value, std::string_view expectation) {
  return Error::invalidArgument("is {}, expected {}", value, expectation);
}

bool isHost(std::string_view host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    return host.find_first_not_of("0123456789abcdefABCDEF:.") == host.npos;
  }
  return !host.empty() && host.size() <= 253 && host.front() != '-' &&
         std::all_of(host.begin(), host.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '-' || c == '_';
         });
}

bool isAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos || !isHost(text.substr(0, colon))) return false;
  const auto port = plainInteger(text.substr(colon + 1));
  return port && *port >= 1 && *port <= 65'535;
}

Result<Value> readScalar(const Key& key, const RawValue& raw) {
  Value value;
  value.text = raw.text;
  const auto inBounds = [&](int64_t number) { return number >= key.min && number <= key.max; };
  switch (key.type) {
    case KeyType::Integer: {
      const int64_t number = raw.quoted ? -1 : plainInteger(raw.text).value_or(-1);
      const std::string want = fmt::format("a whole number from {} to {}", key.min, key.max);
      if (number < 0 || !inBounds(number)) return mustBe(shown(raw.text), want);
      value.number = number;
      return value;
    }
    case KeyType::Bytes: {
      const int64_t number = plainBytes(raw.text).value_or(-1);
      if (number < 0 || !inBounds(number)) {
        return mustBe(shown(raw.text),
                      fmt::format("a size such as 64MB, from {} to {} bytes", key.min, key.max));
      }
      value.number = number;
      return value;
    }
    case KeyType::Duration: {
      const auto duration = plainDuration(raw.text);
      if (!duration || !inBounds(duration->count())) {
        return mustBe(
            shown(raw.text),
            fmt::format("a duration with its unit, such as 90s, from {} to {}",
                        formatDuration(Millis(key.min)), formatDuration(Millis(key.max))));
      }
      value.number = duration->count();
      return value;
    }
    case KeyType::Boolean:
      if (raw.quoted || (raw.text != "true" && raw.text != "false")) {
        return mustBe(shown(raw.text), "true or false");
      }
      value.number = raw.text == "true" ? 1 : 0;
      return value;
    case KeyType::Choice: {
      std::string_view rest = key.choices;
      while (!rest.empty()) {
        const size_t bar = rest.find('|');
        if (rest.substr(0, bar) == raw.text) return value;
        rest = bar == rest.npos ? std::string_view() : rest.substr(bar + 1);
      }
      return mustBe(shown(raw.text), fmt::format("one of {}", key.choices));
    }
    case KeyType::Name:
      if (isValidName(raw.text)) return value;
      return mustBe(shown(raw.text), fmt::format("a name of {}", kNameRule));
    case KeyType::File:
      if (raw.text.starts_with('/') && raw.text.size() < 4'096) return value;
      return mustBe(shown(raw.text), "an absolute path");
    case KeyType::Address:
      if (isAddress(raw.text)) return value;
      return mustBe(shown(raw.text), "host:port");
    default:
      break;
  }
  const bool printable = std::none_of(raw.text.begin(), raw.text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (!printable || !inBounds(static_cast<int64_t>(raw.text.size()))) {
    return mustBe(shown(raw.text), fmt::format("{} to {} printable bytes", key.min, key.max));
  }
  return value;
}

Result<Value> readList(const Key& key, const RawValue& raw) {
  Value value;
  value.list = raw.items;
  for (size_t i = 0; i < value.list.size(); ++i) {
    const std::string& item = value.list[i];
    const bool right = isAddress(item) || (key.type == KeyType::HostList && isHost(item));
    if (!right) {
      return mustBe(shown(item), key.type == KeyType::HostList ? "host or host:port" : "host:port");
    }
    if (std::find(raw.items.begin(), raw.items.begin() + static_cast<ptrdiff_t>(i), item) !=
        raw.items.begin() + static_cast<ptrdiff_t>(i)) {
      return Error::invalidArgument("{} stands twice", shown(item));
    }
  }
  if (key.required && value.list.empty()) return mustBe("empty", "at least one host:port");
  if (value.list.size() > 64) return mustBe("longer than 64 entries", "fewer");
  return value;
}

Result<Value> readLabels(const RawValue& raw) {
  Value value;
  for (const auto& [name, text] : raw.pairs) {
    if (!isValidName(name) || !isValidName(text)) {
      return mustBe(shown(name + ": " + text), fmt::format("names of {}", kNameRule));
    }
    // Workers announce by such labels which kinds of task they carry.
    if (name.starts_with("kind.")) {
      return mustBe(shown(name), "another name: those beginning with kind. are the worker's own");
    }
    if (!value.labels.emplace(name, text).second) {
      return Error::invalidArgument("{} stands twice", shown(name));
    }
  }
  if (value.labels.size() > 32) return mustBe("more than 32 labels", "fewer");
  return value;
}

std::string_view shapeOf(RawValue::Kind kind) {
  switch (kind) {
    case RawValue::Kind::Scalar:
      return "a single value";
    case RawValue::Kind::List:
      return "a list";
    case RawValue::Kind::Map:
      return "a map";
    case RawValue::Kind::Null:
      return "empty";
    case RawValue::Kind::Nested:
      return "a nested structure";
  }
  return "";
}

}  // namespace

Result<Value> readValue(const Key& key, const RawValue& raw) {
  RawValue::Kind wanted = RawValue::Kind::Scalar;
  if (key.type == KeyType::AddressList || key.type == KeyType::HostList) {
    wanted = RawValue::Kind::List;
  } else if (key.type == KeyType::Labels) {
    wanted = RawValue::Kind::Map;
  }
  if (raw.kind != wanted) {
    return mustBe(std::string(shapeOf(raw.kind)),
                  fmt::format("{} ({})", shapeOf(wanted), toString(key.type)));
  }
  if (wanted == RawValue::Kind::List) return readList(key, raw);
  if (wanted == RawValue::Kind::Map) return readLabels(raw);
  return readScalar(key, raw);
}

}  // namespace baton::conf
