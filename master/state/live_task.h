#pragma once

#include <memory>
#include <string>

#include "common/model/records.h"
#include "common/model/task_spec.h"
#include "master/task/label_classes.h"

namespace baton::master {

// Run part of a task as JSON text; shared with orders on their way out.
using SpecRef = std::shared_ptr<const std::string>;

// Specifications up to this size stay in memory while their task is live; larger ones are fetched
// before the pick.
inline constexpr size_t kSpecResidentBytesMax = 512;

// A task that is not terminal. Lives in LiveState; dispatcher thread only.
struct LiveTask {
  TaskState state;
  PolicyPool::Ref policy;
  WallTime created_at{};
  LabelClasses::Signature signature = 0;
  uint32_t timer_generation = 0;           // Timers of older generations are void.
  SpecRef spec;                            // Null: only in the database.
  std::unique_ptr<AttemptRecord> attempt;  // The open attempt; null: none.
};

}  // namespace baton::master
