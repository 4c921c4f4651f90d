#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/yaml/yaml_document.h"

namespace baton::conf {

// A value as it was written, before anybody gave it a type.
struct RawValue {
  enum class Kind : uint8_t { Scalar, List, Map, Null, Nested };
  Kind kind = Kind::Scalar;
  std::string text;                                        // Scalar.
  bool quoted = false;                                     // Scalar in quotes.
  std::vector<std::string> items;                          // List of scalars.
  std::vector<std::pair<std::string, std::string>> pairs;  // Map of scalars to scalars.
};

// One "section.key: value" of a settings file. A section that is no map comes as a key without a
// dot.
struct RawEntry {
  std::string name;
  RawValue value;
  int line = 0;  // From 1.
};

// Something wrong in a settings file; `line` is 0 where none can be named.
struct ConfigIssue {
  std::string file;
  int line = 0;
  std::string key;
  std::string message;

  // "file:line: key: message"
  std::string text() const;
};

// Reads the two-level map of a settings file (a top level without sections too, for the client's).
// What is no such map, or stands twice, or readYaml refuses, is added to `issues`; the rest is
// returned.
std::vector<RawEntry> readYamlText(const std::string& file, std::string_view text,
                                   std::vector<ConfigIssue>& issues);

inline constexpr size_t kConfigFileBytesMax = YamlLimits().bytes_max;

// Errors: NotFound, InvalidArgument (no regular file, over 1 MB), PermissionDenied.
Result<std::string> readConfigFile(const std::string& path);

}  // namespace baton::conf
