#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"

namespace baton {

using Json = nlohmann::json;

struct JsonLimits {
  size_t bytes_max = 16 * 1024 * 1024;
  size_t depth_max = 32;  // The library itself has no limit and recurses.
};

// Parses one JSON text strictly: valid UTF-8, no duplicate keys, nothing behind it.
// Errors: TooLarge (over bytes_max), InvalidArgument (with line and column; too deep; duplicate
// key by name).
Result<Json> parseJson(std::string_view text, const JsonLimits& limits = {});

// Writes JSON on one line; bytes that are not UTF-8 become U+FFFD instead of an exception.
std::string dumpJson(const Json& json);

// Reads the members of one JSON object into typed variables, strictly. The first thing that is
// wrong is kept (thing, value, expectation, with `field` naming its path) and later reads do
// nothing; finish() returns it, or an error for members that nobody asked for. Absent members
// leave the variable as it was; so does null where allowNull is not asked for: null is refused.
class JsonReader {
 public:
  // `path` is the path of the object itself ("retry"), empty for the root. `json` outlives this.
  explicit JsonReader(const Json& json, std::string path = {});

  bool has(std::string_view name) const;

  JsonReader& string(std::string_view name, std::string& out, size_t chars_max = SIZE_MAX);
  JsonReader& boolean(std::string_view name, bool& out);
  JsonReader& integer(std::string_view name, int64_t& out, int64_t min, int64_t max);
  JsonReader& number(std::string_view name, double& out, double min, double max);
  JsonReader& duration(std::string_view name, Millis& out, Millis max);
  JsonReader& strings(std::string_view name, std::vector<std::string>& out, size_t count_max);
  // An object whose values are all strings.
  JsonReader& stringMap(std::string_view name, std::map<std::string, std::string>& out,
                        size_t count_max);
  // The raw member, or nullptr; marks it as known.
  const Json* any(std::string_view name);
  // The member if it is an object (else an error is kept), or nullptr.
  const Json* object(std::string_view name);
  // The member if it is an array (else an error is kept), or nullptr.
  const Json* array(std::string_view name);

  // Keeps an error about a member, unless one is kept already.
  void fail(std::string_view name, std::string message);
  void fail(Error error);
  // The path of a member, e.g. "retry.max".
  std::string pathOf(std::string_view name) const;

  // The first error, or an error that names a member which was not asked for.
  Status finish();
  // The same, but unknown members are accepted (messages between program versions).
  Status finishTolerant();

 private:
  const Json* find(std::string_view name);

  const Json& json_;
  const std::string path_;
  std::vector<std::string_view> known_;
  std::optional<Error> error_;
};

// "a string", "a number", …: the JSON type as a person says it.
std::string_view jsonTypeName(const Json& json);

// Number of Unicode characters in valid UTF-8.
size_t utf8Length(std::string_view text);
bool isValidUtf8(std::string_view text);
// Bytes in front of the first that belongs to no character of UTF-8.
size_t validUtf8Prefix(std::string_view text);
// Cuts at most `bytes_max` bytes off on a character boundary, marking the cut with "…".
std::string truncateUtf8(std::string_view text, size_t bytes_max);

}  // namespace baton
