#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/model/ids.h"
#include "common/model/task_status.h"

// Rows as the domain sees them: what the database stores, the API shows and recovery loads.
namespace baton {

// The part of a task that changes. Absolute values: storing a record twice does no harm.
struct TaskState {
  TaskId id = 0;
  TaskStatus status = TaskStatus::Created;
  FailureReason reason = FailureReason::None;
  std::string reason_text;  // For people; at most 4,096 bytes, cut with a mark.
  Priority priority = Priority::Normal;
  int32_t attempt = 0;                 // Number of the newest attempt; 0: none yet.
  int32_t retries_used = 0;            // Of the current run of the task.
  WallTime queued_at{};                // Zero: never. Age in the queue counts from it.
  WallTime not_before{};               // Zero: none. Also the due time while RETRYING.
  WallTime started_at{};               // Of the newest attempt that started.
  WallTime finished_at{};              // Zero while not terminal.
  std::string runner_id;               // Of the newest attempt; empty: none.
  std::optional<int32_t> return_code;  // Of the newest ended attempt.
  int32_t signal = 0;                  // 0: none.
  StopCause cause = StopCause::None;
  bool hold = false;
  bool forced = false;    // Success declared by hand.
  bool ignored = false;   // Failure that its flow was told to ignore.
  bool unproven = false;  // Stopped on a lost runner: nobody proved that it is gone.
};

// A whole task row.
struct TaskRecord {
  std::string name;
  std::string kind;
  std::string policy;  // policyToText.
  std::string spec;    // JSON of runPartToJson; empty where it was not asked for.
  std::vector<std::string> tags;
  std::string group;  // Of a new row: as in its policy, for lists by group. Not read back.
  WallTime created_at{};
  std::string outputs;  // JSON object of strings; empty: none.
  RunId run_id = 0;     // Run of a flow that it is a part of, under its name; 0: none.
  std::string flow;     // Name of the run's flow. Of a new row only the lists by flow know it.
  TaskState state;
};

// One try of a task on one runner.
struct AttemptRecord {
  TaskId task_id = 0;
  int32_t number = 0;
  std::string nonce;  // Random; tells this order from any other.
  std::string runner_id;
  std::string worker_address;  // host:port that serves its logs; empty: unknown.
  uint64_t incarnation = 0;    // The heartbeat that was answered with it: see the pair rule.
  uint64_t seq = 0;
  AttemptStatus status = AttemptStatus::Dispatched;
  FailureReason reason = FailureReason::None;
  std::string reason_text;
  std::optional<int32_t> return_code;
  int32_t signal = 0;
  uint64_t epoch = 0;  // Term in which it was dispatched.
  WallTime dispatched_at{};
  WallTime started_at{};
  WallTime finished_at{};
  int64_t stdout_bytes = 0;
  int64_t stderr_bytes = 0;
  std::string late_report;  // JSON of a result that came after the attempt was closed.
};

// A runner as last heard of; written when something that must survive a takeover changes.
struct RunnerRecord {
  std::string runner_id;
  std::string worker_id;
  std::string host;
  std::string boot_id;
  std::string version;
  std::string worker_address;
  std::string journal_id;
  uint64_t incarnation = 0;  // The highest seen.
  std::string labels;        // JSON object of strings.
  bool plain = false;        // Never sent incarnation and seq.
  bool conflict = false;     // Two journals claim it: no orders until the old one is lost.
  WallTime last_seen{};
};

// A callback to deliver: written in the transaction of the status change that it tells of.
struct OutboxRecord {
  enum class State : uint8_t { Pending = 0, Delivered = 1, Dead = 2, Dropped = 3 };
  uint64_t id = 0;     // Delivery order; unique.
  TaskId task_id = 0;  // With an event run_…: the run's id, and its reruns in place of attempts.
  int32_t attempt = 0;
  // finished | failed | terminated | skipped; run_finished | …; with _ID if the task had no
  // attempt.
  std::string event;
  std::string url;
  std::string payload;   // JSON body as sent.
  bool awaited = false;  // The task stays in CALLBACK until this is delivered.
  State state = State::Pending;
  int32_t tries = 0;
  WallTime next_at{};
  WallTime created_at{};
  std::string last_error;
};

// How long a repeat gets the first answer; later the key is as good as new.
inline constexpr std::chrono::hours kIdempotencyKept{24};

// The answer to a create request that carried an Idempotency-Key.
struct IdempotencyRecord {
  std::string principal;
  std::string key;
  std::string request_hash;  // SHA-256 of the body.
  std::string answer;        // JSON body of the 2xx answer.
  WallTime created_at{};
};

}  // namespace baton
