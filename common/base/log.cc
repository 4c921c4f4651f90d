#include "common/base/log.h"

#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace baton {
namespace {

constexpr const char* kPattern = "%Y-%m-%dT%H:%M:%S.%fZ %l %v";

spdlog::level::level_enum spdLevel(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return spdlog::level::debug;
    case LogLevel::Info:
      return spdlog::level::info;
    case LogLevel::Warn:
      return spdlog::level::warn;
    case LogLevel::Error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::shared_ptr<spdlog::logger> configured(std::shared_ptr<spdlog::logger> logger, LogLevel level) {
  logger->set_pattern(kPattern, spdlog::pattern_time_type::utc);
  logger->set_level(spdLevel(level));
  logger->flush_on(spdlog::level::info);
  return logger;
}

std::shared_ptr<spdlog::logger>& processLogger() {
  static std::shared_ptr<spdlog::logger> logger =
      configured(spdlog::stderr_logger_mt("baton"), LogLevel::Info);
  return logger;
}

}  // namespace

Status openLog(const LogOptions& options) {
  try {
    spdlog::sink_ptr sink;
    if (options.file.empty()) {
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    } else {
      sink = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(
          options.file, options.rotate_bytes, options.rotate_files);
    }
    processLogger() = configured(std::make_shared<spdlog::logger>("baton", sink), options.level);
  } catch (const spdlog::spdlog_ex& e) {
    return Error::unavailable("log file {} can't be opened: {}", options.file, e.what());
  }
  return {};
}

bool logEnabled(LogLevel level) { return processLogger()->should_log(spdLevel(level)); }

void writeLogLine(LogLevel level, std::string_view event, std::string_view fields) {
  processLogger()->log(spdLevel(level), "{}{}", event, fields);
}

std::string quoteLogValue(std::string_view value) {
  const bool plain = !value.empty() && value.find_first_of(" \"\\=\n\r\t") == value.npos;
  if (plain) return std::string(value);
  std::string quoted = "\"";
  for (const char c : value) {
    switch (c) {
      case '"':
        quoted += "\\\"";
        break;
      case '\\':
        quoted += "\\\\";
        break;
      case '\n':
        quoted += "\\n";
        break;
      case '\r':
        quoted += "\\r";
        break;
      case '\t':
        quoted += "\\t";
        break;
      default:
        quoted += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return quoted + '"';
}

}  // namespace baton
