#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/model/records.h"
#include "common/protocol/heartbeat.h"
#include "master/api/ports.h"
#include "master/host/heartbeat_rules.h"
#include "master/task/label_classes.h"

namespace baton::master {

// A worker daemon and its host, as the sum of its runners. Dispatcher thread only.
struct Worker {
  std::string worker_id;
  std::string host;
  std::string address;
  std::string version;
  LabelMap labels;
  bool plain = false;
  int64_t runners = 0;
  int64_t busy = 0;
  BootTime last_seen{};
  bool seen_this_term = false;
  WallTime last_seen_wall{};
  std::optional<HostFigures> figures;
  api::WorkerCounts counts;

  // Share of its runners that are busy, 0 to 1: the least loaded worker gets the next task.
  double load() const {
    return runners == 0 ? 0.0 : static_cast<double>(busy) / static_cast<double>(runners);
  }
};

// A heartbeat whose reply is held until there is something to say or its time is over.
struct HeldHeartbeat {
  HeartbeatPair pair;
  Epoch request_epoch = 0;
  BootTime deadline{};
  bool idle = false;  // May be answered with RUN_NEW.
  api::HeartbeatReplyFn reply;
};

// One execution slot. Dispatcher thread only.
struct Runner {
  RunnerRecord record;
  LabelClasses::ClassId class_id = 0;
  Worker* worker = nullptr;
  BootTime last_seen{};
  bool seen_this_term = false;
  HeartbeatPair highest;  // Of this term; zero: none yet.
  TaskId open_task = 0;   // Its open attempt's task; 0: none.
  AttemptKey last_named;  // Plain clients: newest attempt named in a non-IDLE report.
  AttemptKey closed;      // The attempt whose result it reported last, and that result.
  std::string closed_result;
  BootTime leaving_until{};
  std::optional<HeldHeartbeat> held;
};

}  // namespace baton::master
