#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace baton {

// What kind of thing went wrong. Whether it helps to try again is a property of the code
// (isRetryable), never a guess of the caller.
enum class ErrorCode : uint8_t {
  InvalidArgument,   // Input that can never be right; the message names thing, value, expectation.
  NotFound,          // The named thing does not exist.
  Conflict,          // The thing exists in a state in which this can't be done.
  PermissionDenied,  // Known caller, not allowed.
  Unauthenticated,   // Unknown caller.
  TooLarge,          // Input above a documented cap.
  Overloaded,        // A bounded queue is full; try later.
  Unavailable,       // A peer (database, ZooKeeper, master) is out of reach or went away.
  Busy,              // Deadlock or lock wait in the database; the same again may work.
  Fenced,            // The epoch row names another epoch: whoever gets this steps down.
  StorageFull,       // Disk full or database read-only.
  NotActive,         // This master does not lead.
  DeadlineExceeded,  // A time limit of ours ran out.
  Cancelled,         // Asked to stop.
  Corrupt,           // Stored data that breaks an invariant.
  Unsupported,       // A feature refused by name.
  Internal,          // A bug of ours.
};

// Stable snake_case name, as shown in logs and in the `code` of problem documents.
std::string_view toString(ErrorCode code);

// True for Overloaded, Unavailable, Busy, StorageFull, NotActive and DeadlineExceeded.
bool isRetryable(ErrorCode code);

// An error: code, a message for people, and (for bad input) the field that is wrong.
class Error {
 public:
  Error(ErrorCode code, std::string message, std::string field = {})
      : code_(code), message_(std::move(message)), field_(std::move(field)) {}

  template <typename... Args>
  static Error make(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
    return {code, fmt::format(format, std::forward<Args>(args)...)};
  }
  template <typename... Args>
  static Error invalidArgument(fmt::format_string<Args...> format, Args&&... args) {
    return make(ErrorCode::InvalidArgument, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  static Error notFound(fmt::format_string<Args...> format, Args&&... args) {
    return make(ErrorCode::NotFound, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  static Error conflict(fmt::format_string<Args...> format, Args&&... args) {
    return make(ErrorCode::Conflict, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  static Error unavailable(fmt::format_string<Args...> format, Args&&... args) {
    return make(ErrorCode::Unavailable, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  static Error internal(fmt::format_string<Args...> format, Args&&... args) {
    return make(ErrorCode::Internal, format, std::forward<Args>(args)...);
  }

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& field() const { return field_; }

  // "field: message", for people; without a field, or if the message names it already (as behind a
  // context), the message alone.
  std::string told() const;
  // "code: " and what is told, for logs.
  std::string text() const;

  // The same error about a named field (kept if one is named already).
  Error withField(std::string field) &&;
  // The same error with "context: " before what is told.
  Error withContext(std::string_view context) &&;

 private:
  ErrorCode code_;
  std::string message_;
  std::string field_;
};

// Success or an Error. Cheap when it is a success.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::make_shared<const Error>(std::move(error))) {}  // NOLINT

  bool ok() const { return error_ == nullptr; }
  explicit operator bool() const { return ok(); }
  // Only when !ok().
  const Error& error() const { return *error_; }
  std::string text() const { return ok() ? "ok" : error_->text(); }

 private:
  std::shared_ptr<const Error> error_;
};

// A value or an Error.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}             // NOLINT
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}         // NOLINT
  Result(const Status& status) : state_(std::in_place_index<1>, status.error()) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return std::get<1>(state_); }
  Status status() const { return ok() ? Status() : Status(error()); }

 private:
  std::variant<T, Error> state_;
};

// Ends the process with file, line and reason: for what cannot happen.
[[noreturn]] void checkFailed(const char* file, int line, const char* condition);

}  // namespace baton

#define BATON_CONCAT_INNER(a, b) a##b
#define BATON_CONCAT(a, b) BATON_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expression)                             \
  do {                                                          \
    if (auto baton_status = (expression); !baton_status.ok()) { \
      return baton_status.error();                              \
    }                                                           \
  } while (false)

#define ASSIGN_OR_RETURN(target, expression) \
  ASSIGN_OR_RETURN_INNER(BATON_CONCAT(baton_result_, __LINE__), target, expression)
#define ASSIGN_OR_RETURN_INNER(result, target, expression) \
  auto result = (expression);                              \
  if (!result.ok()) return result.error();                 \
  target = std::move(result).value()

#define CHECK(condition)                                                    \
  do {                                                                      \
    if (!(condition)) ::baton::checkFailed(__FILE__, __LINE__, #condition); \
  } while (false)
