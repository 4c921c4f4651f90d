#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>

#include "common/base/file_descriptor.h"
#include "net/event_loop.h"
#include "worker/shepherd_attempt.h"
#include "worker/shepherd_link.h"

namespace baton::worker {

struct ShepherdOptions {
  std::string dir;                             // The worker's data directory.
  int64_t log_bytes_max = 64LL * 1024 * 1024;  // Per stream of an attempt.
  Millis idle_exit{60'000};  // Ends when it had no daemon, attempt and result for so long.
};

// The process that starts and reaps a worker's attempts and outlives the worker's daemon. It
// holds a lock file while it lives, serves one daemon at a time over a unix socket, and keeps
// every exit result until a daemon has taken it. One thread: that makes fork() in it safe.
class Shepherd {
 public:
  // Takes the lock, opens the socket, becomes the reaper of orphans.
  // Errors: Conflict (another shepherd lives in that directory), Unavailable.
  static Result<std::unique_ptr<Shepherd>> create(ShepherdOptions options);
  ~Shepherd();

  // Serves until it has been idle for long enough.
  void run();

 private:
  explicit Shepherd(ShepherdOptions options) : options_(std::move(options)) {}
  Status open();
  Status takeLock();
  Status listenOnSocket();
  Status watchChildren();

  void onAccept();
  void promoteWaiting();
  void onLinkEnded();
  void onLine(const std::string& line);
  void handle(const HelloRequest& request);
  void handle(const StartRequest& request);
  void handle(const StopRequest& request);
  void handle(const AckRequest& request);

  void onEnded(EndedNote note);
  void send(const ShepherdNote& note);
  void forget(const AttemptKey& key);
  void removeFolders();
  bool isKnown(const AttemptKey& key) const;
  void reapOrphans();
  // True when the child was dead; it has been reaped then.
  bool reap(pid_t child);
  std::vector<pid_t> adoptedChildren(const ShepherdAttempt& attempt);
  void compactRecords();
  void checkIdle();

  using KeyTuple = std::tuple<TaskId, int32_t, std::string>;
  static KeyTuple tupleOf(const AttemptKey& key) { return {key.task_id, key.attempt, key.nonce}; }

  const ShepherdOptions options_;
  FileDescriptor dir_;
  FileDescriptor lock_;
  FileDescriptor listener_;
  FileDescriptor child_signals_;
  std::unique_ptr<net::EventLoop> loop_;
  std::optional<ShepherdRecords> records_;
  ChildContext context_;
  std::map<KeyTuple, std::unique_ptr<ShepherdAttempt>> attempts_;
  std::map<pid_t, ShepherdAttempt*> by_pid_;
  std::map<KeyTuple, EndedNote> results_;
  std::set<KeyTuple> acknowledged_;  // The newest ones, to refuse a late second start.
  std::deque<KeyTuple> acknowledged_order_;
  std::unique_ptr<ShepherdLink> link_;        // To the daemon.
  std::unique_ptr<ShepherdLink> ended_link_;  // Kept until its own callback has returned.
  std::deque<FileDescriptor> waiting_;        // Newer connections: the old one is read first.
  bool greeted_ = false;                      // The daemon has got the whole picture.
  bool reap_due_ = false;
  std::vector<std::string> removals_;  // Folders of attempts that are over.
  pid_t remover_ = 0;                  // The child that removes some, or 0.
  net::EventLoop::TimerId removal_timer_ = 0;
  net::EventLoop::TimerId idle_timer_ = 0;
  net::EventLoop::TimerId promote_timer_ = 0;
};

// The hidden verb `baton shepherd`: argv after the verb is --dir D [--log-max-bytes N]
// [--idle-exit-ms N]. Writes "ok" or the error to standard output once, closes it, and serves.
// Returns the exit code of the process.
int runShepherd(const std::vector<std::string>& arguments);

}  // namespace baton::worker
