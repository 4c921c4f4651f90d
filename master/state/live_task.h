#pragma once

#include <map>
#include <memory>
#include <string>

#include "common/model/records.h"
#include "common/model/task_spec.h"
#include "master/flow/flow_graph.h"
#include "master/task/limit_gates.h"

namespace baton::master {

// Run part of a task as JSON text; shared with orders on their way out.
using SpecRef = std::shared_ptr<const std::string>;

// Specifications up to this size stay in memory while their task is live; larger ones are fetched
// before the pick.
inline constexpr size_t kSpecResidentBytesMax = 512;

// What a task has in addition as a part of a run.
struct NodePart {
  RunId run = 0;
  NodeIndex node = 0;
  bool gated = true;       // Its run has not let it go, or holds it back again: it never is QUEUED.
  bool no_runner = false;  // Of a kind that takes no runner.
  bool ignore_failure = false;
  std::map<std::string, std::string> outputs;  // Of the attempt that ended well, until it settles.
};

// A task that is not terminal. Lives in LiveState; dispatcher thread only.
struct LiveTask {
  TaskState state;
  PolicyPool::Ref policy;
  WallTime created_at{};
  LaneId lane = 0;      // Of ReadyQueue: what it wants and which limits it counts against.
  WallTime place_at{};  // While QUEUED: what its place in its lane goes by; never to come.
  uint32_t timer_generation = 0;           // Timers of older generations are void.
  SpecRef spec;                            // Null: only in the database.
  std::unique_ptr<AttemptRecord> attempt;  // The open attempt; null: none.
  std::unique_ptr<NodePart> part;          // Null: of no run.
};

}  // namespace baton::master
