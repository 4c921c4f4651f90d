#pragma once

#include "common/base/json.h"
#include "common/base/status.h"

namespace baton::cli {

// Exit codes of every client verb (a contract).
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNotFound = 3;
inline constexpr int kExitRefused = 4;
inline constexpr int kExitNoMaster = 5;
inline constexpr int kExitTimeout = 124;
inline constexpr int kExitReaderGone = 141;  // As of a program that SIGPIPE ends.

// The exit code that an error ends a verb with.
int exitCodeOf(ErrorCode code);

// The exit code of a task that has ended, as `--wait` returns it: the program's own, 128 + n for
// signal n, 124 for a timeout, 0 for FINISHED, 1 for every other end. `task` is as read from the
// API.
int exitCodeOfTask(const Json& task);

}  // namespace baton::cli
