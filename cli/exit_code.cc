#include "cli/exit_code.h"

#include <algorithm>

namespace baton::cli {
namespace {

int64_t numberOf(const Json& task, const char* name) {
  const auto it = task.find(name);
  return it != task.end() && it->is_number_integer() ? it->get<int64_t>() : 0;
}

std::string_view wordOf(const Json& task, const char* name) {
  const auto it = task.find(name);
  return it != task.end() && it->is_string() ? it->get_ref<const std::string&>()
                                             : std::string_view();
}

}  // namespace

int exitCodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
    case ErrorCode::TooLarge:
    case ErrorCode::Unsupported:
      return kExitUsage;
    case ErrorCode::NotFound:
      return kExitNotFound;
    case ErrorCode::Conflict:
    case ErrorCode::PermissionDenied:
    case ErrorCode::Unauthenticated:
      return kExitRefused;
    case ErrorCode::NotActive:
      return kExitNoMaster;
    default:
      return kExitFailure;
  }
}

int exitCodeOfTask(const Json& task) {
  if (wordOf(task, "status") == "FINISHED") return kExitOk;
  if (wordOf(task, "reason") == "timeout") return kExitTimeout;
  if (const int64_t signal = numberOf(task, "signal"); signal > 0 && signal < 128) {
    return 128 + static_cast<int>(signal);
  }
  const int64_t code = numberOf(task, "return_code");
  // A failure never looks like success, whatever the number says.
  return code > 0 && code < 256 ? static_cast<int>(code) : kExitFailure;
}

}  // namespace baton::cli
