#include "common/base/status.h"

#include <cstdio>
#include <cstdlib>

namespace baton {

std::string_view toString(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
      return "invalid_argument";
    case ErrorCode::NotFound:
      return "not_found";
    case ErrorCode::Conflict:
      return "conflict";
    case ErrorCode::PermissionDenied:
      return "permission_denied";
    case ErrorCode::Unauthenticated:
      return "unauthenticated";
    case ErrorCode::TooLarge:
      return "too_large";
    case ErrorCode::Overloaded:
      return "overloaded";
    case ErrorCode::Unavailable:
      return "unavailable";
    case ErrorCode::Busy:
      return "busy";
    case ErrorCode::Fenced:
      return "fenced";
    case ErrorCode::StorageFull:
      return "storage_full";
    case ErrorCode::NotActive:
      return "not_active";
    case ErrorCode::DeadlineExceeded:
      return "deadline_exceeded";
    case ErrorCode::Cancelled:
      return "cancelled";
    case ErrorCode::Corrupt:
      return "corrupt";
    case ErrorCode::Unsupported:
      return "unsupported";
    case ErrorCode::Internal:
      return "internal";
  }
  return "internal";
}

bool isRetryable(ErrorCode code) {
  switch (code) {
    case ErrorCode::Overloaded:
    case ErrorCode::Unavailable:
    case ErrorCode::Busy:
    case ErrorCode::StorageFull:
    case ErrorCode::NotActive:
    case ErrorCode::DeadlineExceeded:
      return true;
    default:
      return false;
  }
}

std::string Error::told() const {
  const std::string lead = field_ + ": ";
  return field_.empty() || message_.find(lead) != message_.npos ? message_ : lead + message_;
}

std::string Error::text() const { return fmt::format("{}: {}", toString(code_), told()); }

Error Error::withField(std::string field) && {
  if (field_.empty()) field_ = std::move(field);
  return std::move(*this);
}

Error Error::withContext(std::string_view context) && {
  message_ = fmt::format("{}: {}", context, told());
  return std::move(*this);
}

void checkFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: invariant broken: %s\n", file, line, condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace baton
