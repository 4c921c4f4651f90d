#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "conf/key.h"
#include "conf/yaml_file.h"

namespace baton::conf {

// Settings that are stronger than a file: variables ("BATON__HTTP__PORT"), and, stronger still,
// options of the command line as "--port http.port".
using Environment = std::map<std::string, std::string>;
// The variables of this process that begin with "BATON__".
Environment overridesFromProcess();

// A value that its key accepts.
struct Value {
  std::string text;    // As written; for a File, Text, Name, Address or Choice the value itself.
  int64_t number = 0;  // Integer, Bytes, Duration (ms), Boolean (0 or 1).
  std::vector<std::string> list;
  std::map<std::string, std::string> labels;
  std::string file;  // Where it came from; empty: the default.
  int line = 0;
};

// Reads `raw` as `key` wants it: no guessing, so 010, 1e2, 0x10 and yes are no numbers.
// Errors: InvalidArgument with the value and the expectation.
Result<Value> readValue(const Key& key, const RawValue& raw);

// All settings of one program: file, then environment, then defaults.
class Settings {
 public:
  // `text` is the content of `file`; what is wrong is added to `issues`.
  static Settings read(Program program, const std::string& file, std::string_view text,
                       const Environment& environment, std::vector<ConfigIssue>& issues);

  Program program() const { return program_; }
  // True if the file or the environment has the key.
  bool isSet(std::string_view name) const;
  // Typed values; the key must exist in the table and be of that type. Without value and default:
  // empty or 0.
  std::string text(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  bool boolean(std::string_view name) const;
  Millis duration(std::string_view name) const;
  const std::vector<std::string>& list(std::string_view name) const;
  const std::map<std::string, std::string>& labels(std::string_view name) const;

  // An issue at the place of a key, for rules between keys.
  ConfigIssue issueAt(std::string_view name, std::string message) const;

 private:
  const Value& valueOf(std::string_view name) const;

  Program program_ = Program::Master;
  std::string file_;
  std::map<std::string, Value, std::less<>> values_;
};

// One InvalidArgument for all issues, a line each. Ok without issues.
Status toStatus(const std::vector<ConfigIssue>& issues);

}  // namespace baton::conf
