#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "common/base/clock.h"
#include "common/event/async_dispatcher.h"
#include "common/model/ids.h"
#include "master/host/start_record.h"
#include "master/metrics.h"
#include "master/state/id_allocator.h"
#include "master/state/live_state.h"
#include "master/state/state_publisher.h"
#include "master/state/state_writer.h"

namespace baton::master {

// Settings of the active role.
struct ActiveOptions {
  std::string node_id;
  Millis heartbeat{30'000};        // H, from the cluster's row.
  Millis watchdog_period{10'000};  // Never more than H/3.
  bool plain_clients = false;      // heartbeat.plain_clients
  uint64_t running_max = 0;        // Cluster limit of open attempts unless set otherwise; 0: none.
  Millis ageing = std::chrono::hours(6);  // What a step of priority is worth in waiting.
  uint64_t queue_max = 1'000'000;         // Live tasks; past it a submit is refused.
  size_t tree_tasks_max = 100'000;        // Of the sub-flows of one run: see docs/flows.md.
  size_t tree_param_bytes_max = 64 * 1024 * 1024;
  Millis callback_timeout{10'000};
  int64_t callback_tries_max = 8;
  uint32_t recover_threads = 4;
  StartRecord::Rules quarantine;
  Millis stuck_after{300'000};                      // Never less than lostAfter().
  Millis audit_keep{std::chrono::hours(365 * 24)};  // Audit rows are forgotten after it.

  // A runner is lost after so much silence.
  Millis lostAfter() const { return heartbeat * 3; }
};

// What the parts of one active term share. Owned by ActiveTerm; outlives its parts.
struct TermContext {
  Clock& clock;
  const ActiveOptions& options;
  std::atomic<Epoch>& epoch_value;  // Changes only when the term is re-affirmed.
  const std::string& cluster_guid;
  AsyncDispatcher& dispatcher;
  StateWriter& writer;
  LiveState& live;
  IdAllocator& task_ids;
  IdAllocator& outbox_ids;
  Metrics& metrics;
  StatePublisher& publisher;

  Epoch epoch() const { return epoch_value.load(std::memory_order_relaxed); }
};

}  // namespace baton::master
