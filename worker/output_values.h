#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace baton::worker {

// The key=value lines that a task wrote to its BATON_OUTPUT file.
struct OutputValues {
  std::map<std::string, std::string> values;
  std::string problem;  // What was left out and why, for people; empty if nothing was.
};

// A value of several lines is written as
//   key<<WORD
//   its lines
//   WORD
// with any WORD that is no line of it; the line ends between its lines belong to it.
// Other lines without "=", with an empty key or with bytes that are not UTF-8 are left out, and so
// is all past 64 KB or 10,000 keys, as much as a master takes; the last value of a key counts.
// Empty lines and lines that begin with # are none.
OutputValues parseOutputValues(std::string_view text);
// The lines that parseOutputValues reads as this value, exactly.
// Errors: InvalidArgument (no UTF-8, or a NUL), TooLarge (over 64 KB with the key).
Result<std::string> formatOutputValue(std::string_view key, std::string_view value);
// The same from a file relative to `base_fd`; links are not followed. No file: no values.
OutputValues readOutputValues(int base_fd, const std::string& path);

}  // namespace baton::worker
