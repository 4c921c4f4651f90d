#pragma once

#include <string>

#include "common/base/status.h"

namespace baton::conf {

inline constexpr size_t kTokenCharsMin = 16;

// Reads a secret: the file's one line, without the line break behind it. A file that everybody may
// read is refused: what it holds is no secret.
// Errors: NotFound, PermissionDenied (not ours to read, or readable by everybody), InvalidArgument
// (empty, several lines, over 4 KB). Messages name the file, never the content.
Result<std::string> readSecretFile(const std::string& path);

// The same for a token, which is at least kTokenCharsMin printable characters without blanks.
Result<std::string> readTokenFile(const std::string& path);

// Writes `secret` and a line break to `path` with mode 0600, in one step (no reader sees half).
// Errors: Unavailable.
Status writeSecretFile(const std::string& path, const std::string& secret);

}  // namespace baton::conf
