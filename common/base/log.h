#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

// Structured log lines: one event name and fields, e.g.
//   logInfo("task_requeued", field("task", id), field("why", "host_lost"));
// INFO tells an operator's story, WARN means "look soon", ERROR means "act". No secrets.
namespace baton {

enum class LogLevel : uint8_t { Debug, Info, Warn, Error };

struct LogOptions {
  std::string file;                          // Empty: standard error.
  LogLevel level = LogLevel::Info;           // Lines below it are dropped.
  uint64_t rotate_bytes = 64 * 1024 * 1024;  // Size at which the file is rotated.
  uint32_t rotate_files = 5;                 // How many rotated files are kept.
};

// Opens the process's log; before that, lines go to standard error. Call once, in main.
// Errors: Unavailable (the file can't be opened).
Status openLog(const LogOptions& options);

bool logEnabled(LogLevel level);
void writeLogLine(LogLevel level, std::string_view event, std::string_view fields);

template <typename T>
struct LogField {
  std::string_view name;
  const T& value;
};

template <typename T>
LogField<T> field(std::string_view name, const T& value) {
  return {name, value};
}

// Quotes a value when it has spaces, quotes or control characters, so that a line stays one line.
std::string quoteLogValue(std::string_view value);

template <typename... T>
void logLine(LogLevel level, std::string_view event, LogField<T>... fields) {
  if (!logEnabled(level)) return;
  std::string text;
  ((text += ' ', text += fields.name, text += '=',
    text += quoteLogValue(fmt::format("{}", fields.value))),
   ...);
  writeLogLine(level, event, text);
}

template <typename... T>
void logInfo(std::string_view event, LogField<T>... fields) {
  logLine(LogLevel::Info, event, fields...);
}
template <typename... T>
void logWarn(std::string_view event, LogField<T>... fields) {
  logLine(LogLevel::Warn, event, fields...);
}
template <typename... T>
void logError(std::string_view event, LogField<T>... fields) {
  logLine(LogLevel::Error, event, fields...);
}

}  // namespace baton
