#pragma once

#include <functional>
#include <memory>

#include "net/event_loop.h"
#include "worker/child_process.h"
#include "worker/output_file.h"
#include "worker/process_tree.h"

namespace baton::worker {

// One attempt in the shepherd, from its fork until nothing of its process tree is left. Thread:
// the loop's. Ends by `on_ended`, which may destroy it. The main process is reaped last, so that
// its number, which is also the number of its group and session, can't be given to anybody else.
class ShepherdAttempt {
 public:
  struct Hooks {
    std::function<void(const ShepherdAttempt&)> on_started;
    std::function<void(EndedNote)> on_ended;
    // The living children of the shepherd that are no main process but belong to this attempt.
    std::function<std::vector<pid_t>(const ShepherdAttempt&)> adopted_children;
  };
  struct Limits {
    int64_t log_bytes_max = 64LL * 1024 * 1024;
  };

  // References and the context's targets outlive this.
  ShepherdAttempt(net::EventLoop& loop, const ChildContext& context, StartRequest request,
                  ChildProcess child, Limits limits, Hooks hooks);
  ~ShepherdAttempt();

  const AttemptKey& key() const { return request_.key; }
  pid_t pid() const { return child_.pid; }
  uint64_t startTicks() const { return start_ticks_; }
  bool starting() const { return child_.failure_pipe.valid(); }
  StartedNote startedNote() const;
  // TERM to the tree now, KILL after the grace; from the second call on nothing happens.
  void stop(StopReason why, Millis grace);

 private:
  void watch();
  void onFailurePipe();
  void readOutput(FileDescriptor& pipe, OutputFile& file, bool to_the_end);
  void onMainEnded();
  std::vector<ProcStat> findTree() const;
  // Returns how many processes of the tree were alive.
  size_t signalTree(int signal);
  void clearLeftovers();
  bool groupIsEmpty() const;
  void finish();
  EndedNote makeNote();
  void closePipe(FileDescriptor& pipe);

  net::EventLoop& loop_;
  const ChildContext& context_;
  const StartRequest request_;
  const Hooks hooks_;
  ChildProcess child_;
  OutputFile stdout_;
  OutputFile stderr_;
  const BootTime started_;
  BootTime ended_{};
  uint64_t start_ticks_ = 0;
  int exit_code_ = 0;  // As waitid says: the kind is in exit_kind_.
  int exit_kind_ = 0;
  bool main_ended_ = false;
  bool reaped_ = false;
  std::string start_failure_;
  StopReason why_ = StopReason::None;
  bool killed_by_us_ = false;
  net::EventLoop::TimerId timer_ = 0;  // KILL after the grace, later the next look at leftovers.
  int looks_ = 0;
};

}  // namespace baton::worker
