#pragma once

#include <string>
#include <vector>

#include "master/term_context.h"

namespace baton::master {

// Slow housekeeping in the database. Writes down what may be lost without harm: when each runner
// was last heard of, for people who ask after a host is gone or a master has changed; coalesced to
// one row a runner and period, and only while the state writer has nothing else to do. Forgets
// idempotency keys that are over, and audit rows that are older than audit.keep. Dispatcher thread
// only.
class AsyncUpdater {
 public:
  explicit AsyncUpdater(TermContext& context);

  void start();
  void stop() { running_ = false; }

 private:
  void arm();
  void beginRound();
  void writeSome();
  void purgeSome();

  TermContext& context_;
  bool running_ = false;
  bool purging_ = false;                // A purge is under way.
  WallTime written_until_{};            // Runners heard of since are written in the next round.
  std::vector<std::string> unwritten_;  // Of this round: turn by turn, so that each has its own.
};

}  // namespace baton::master
