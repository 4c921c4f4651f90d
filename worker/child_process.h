#pragma once

#include <sys/types.h>

#include "common/base/file_descriptor.h"
#include "common/base/status.h"
#include "worker/shepherd_message.h"
#include "worker/shepherd_records.h"

namespace baton::worker {

// A started attempt, seen from its parent. All descriptors are non-blocking.
struct ChildProcess {
  pid_t pid = 0;
  FileDescriptor pidfd;
  FileDescriptor stdout_pipe;
  FileDescriptor stderr_pipe;
  FileDescriptor failure_pipe;  // At its end without bytes: the program runs.
};

// Where and for whom a child is started.
struct ChildContext {
  int dir_fd = -1;       // The data directory.
  std::string data_dir;  // Its absolute path.
  const ShepherdRecords* records = nullptr;
  uint64_t open_files_soft_limit = 0;  // For the child; 0: as it is.
};

// Starts a child that leads a new session and group, records itself, and then executes the
// program: the request's standard input, both outputs in pipes, default signals, exactly the
// environment of the request, no descriptor of ours. Only for a process with one thread: the child
// runs ordinary code, in our memory (vfork), before it executes.
//
// posix_spawn can't do this: nothing of ours can run in the child between its birth and the
// program, and a parent that is killed right after posix_spawn has recorded nobody.
// The lock file of the shepherd stays open in the child up to the exec, so that a free lock also
// says that no child is on its way to its record.
// Errors: Unavailable (no process, descriptor or folder to be had).
Result<ChildProcess> startChild(const ChildContext& context, const StartRequest& request);

// The reason that a child wrote into its failure pipe, as a text for people; empty when it wrote
// none (the program was executed, or the pipe has not ended yet).
std::string readStartFailure(int failure_pipe, const StartRequest& request, bool& ended);

}  // namespace baton::worker
