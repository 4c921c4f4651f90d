#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "common/base/clock.h"
#include "common/model/records.h"
#include "common/protocol/heartbeat.h"
#include "master/api/ports.h"
#include "master/host/heartbeat_rules.h"
#include "master/host/host_rules.h"
#include "master/host/host_score.h"
#include "master/host/start_record.h"
#include "master/task/label_classes.h"

namespace baton::master {

// What a host runs, all its workers together. Dispatcher thread only.
struct HostUse {
  int64_t running = 0;         // Open attempts.
  std::optional<int64_t> max;  // None: as many as it has runners.
  bool hasRoom() const { return !max || running < *max; }
};

// A worker daemon and its host, as the sum of its runners. Dispatcher thread only.
struct Worker {
  std::string worker_id;
  std::string host;  // Changed by LiveState::setHost.
  HostUse* use = nullptr;
  std::string address;
  std::string version;
  LabelMap own_labels;       // As it reports them.
  LabelMap operator_labels;  // Added to them, and stronger.
  bool plain = false;
  int64_t runners = 0;
  int64_t busy = 0;
  BootTime last_seen{};
  bool seen_this_term = false;
  WallTime last_seen_wall{};
  std::optional<HostFigures> figures;
  api::WorkerCounts counts;
  HostScore score;        // As of the newest look.
  StartRecord starts;     // Its quarantine is kept in the row of its name, too.
  HostVerdict verdict;    // What the rules say.
  std::string held_back;  // Why it takes no tasks; empty if it does.
  bool takes_tasks = true;

  // Whether one of its free runners may get a task now.
  bool admits() const {
    return takes_tasks && use->hasRoom() &&
           (starts.state() != StartRecord::State::Probing || busy == 0);
  }
  // Suspect workers come last, of equals the one with the least use gets the next task.
  std::pair<bool, double> rank() const {
    return {score.health == HostHealth::Suspect, hostUse(busy, runners, figures)};
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
