#pragma once

#include <string>

#include "common/base/file_descriptor.h"
#include "common/base/status.h"

namespace baton::bench {

// Ends what a bench that was killed leaves behind. A small process of its own waits until this one
// has gone, however it ended, then ends every process whose command line names `folder`, and
// removes the folder unless it is to be kept. After an orderly end it finds nothing to do.
class Sweeper {
 public:
  // Before any thread is started. Errors: Unavailable.
  static Result<Sweeper> start(const std::string& folder, bool keep_folder);

 private:
  explicit Sweeper(FileDescriptor alive) : alive_(std::move(alive)) {}
  FileDescriptor alive_;  // Closed by the kernel when this process has gone.
};

}  // namespace baton::bench
