#pragma once

#include <string>

#include "common/base/file_descriptor.h"
#include "common/base/status.h"

namespace baton::ha {

// Exclusive hold of a directory by this process, by a lock on the file `baton.lock` in it. The
// kernel frees it when the process ends, however it ends. One thread at a time.
class DirectoryLock {
 public:
  // Errors: Conflict (names the directory and the process that holds it), InvalidArgument (no such
  // directory), Unavailable (the file can't be opened).
  static Result<DirectoryLock> take(const std::string& directory);

 private:
  explicit DirectoryLock(FileDescriptor file) : file_(std::move(file)) {}
  FileDescriptor file_;
};

}  // namespace baton::ha
