#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/json.h"
#include "common/model/http_spec.h"
#include "common/model/ids.h"
#include "common/model/limit_records.h"
#include "common/model/task_rules.h"
#include "common/model/task_status.h"

namespace baton {

using LabelMap = std::map<std::string, std::string>;

// Caps of the wire contract.
inline constexpr size_t kNameCharsMax = 128;
inline constexpr size_t kOutputsBytesMax = 64 * 1024;  // Of an attempt, keys and values together.
inline constexpr size_t kOutputsCountMax = 10'000;
inline constexpr size_t kBulkTasksMax = 10'000;
inline constexpr Millis kKillGraceDefault{10'000};

// How often and how far apart failed attempts are repeated.
struct RetryPolicy {
  int64_t max = 0;              // Extra attempts after the first.
  Millis delay{1'000};          // Before the first extra attempt.
  double backoff = 2.0;         // Factor from one delay to the next.
  Millis max_delay{3'600'000};  // Cap of the delay.
  // Also when a runner is lost: its owner accepts that the lost copy may still run beside the next.
  bool on_lost = false;

  // Whether a failure of that reason is tried again at all.
  bool covers(FailureReason reason) const;
  // Delay before extra attempt number `retry` (1, 2, …).
  Millis delayBefore(int64_t retry) const;
  bool operator==(const RetryPolicy&) const = default;
};

// A webhook that is called when the task ends.
struct CallbackSpec {
  enum class OnFailure : uint8_t { Finish, Fail };
  std::string url;              // Empty: no callback.
  std::vector<std::string> on;  // finished | failed | terminated | skipped; default: the first two.
  bool wait = false;            // Stay in CALLBACK until the receiver answered 2xx.
  OnFailure on_failure =
      OnFailure::Finish;  // With wait: what a delivery that failed for good means.

  bool wants(TaskStatus ended) const;
  bool operator==(const CallbackSpec&) const = default;
};

// What the master must know of a task to decide about it. Most tasks of a site share a few
// policies, so live tasks point to interned ones (PolicyPool) and rows carry the text.
struct TaskPolicy {
  LabelMap labels;  // Labels that the runner must have.
  TaskLimitsScope scope;
  RetryPolicy retry;
  Millis timeout{0};           // 0: none.
  Millis dispatch_timeout{0};  // 0: none.
  Millis kill_grace = kKillGraceDefault;
  CallbackSpec callback;

  bool operator==(const TaskPolicy&) const = default;
};

// A task as submitted.
struct TaskSpec {
  std::string name;
  std::string kind = "command";          // command | script | http | a plug-in's.
  std::vector<std::string> command;      // argv, no shell (kind command).
  std::string script;                    // Kind script.
  std::vector<std::string> interpreter;  // Kind script; default /bin/sh -e.
  HttpSpec http;                         // Kind http.
  Json with;                             // A plug-in's own keys, an object; null: none.
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> params;  // Arrive as environment variables.
  std::string dir;                            // Working directory; empty: the attempt's own folder.
  Priority priority = Priority::Normal;
  WallTime not_before{};  // Zero: at once.
  bool hold = false;
  std::vector<std::string> tags;
  TaskPolicy policy;
};

// Reads one task of a submission, strictly (wire names of docs/api.md).
// Errors: InvalidArgument (field, value, expectation), TooLarge (params over 128 KB),
// Unsupported (a field that this version refuses by name).
Result<TaskSpec> parseTaskSpec(const Json& json, const std::string& path = {});

// The part that only the runner needs (kind, command, script, interpreter, http, with, env, params,
// dir; of kinds that get a description of their task, the name).
Json runPartToJson(const TaskSpec& spec);
// Reads what runPartToJson wrote into `spec`.
Status readRunPart(const Json& json, TaskSpec& spec);

// Canonical text of a policy (equal policies have equal texts; "" for the default) and back.
std::string policyToText(const TaskPolicy& policy);
Result<TaskPolicy> policyFromText(std::string_view text);
// Adds the policy's fields, defaults included, under their wire names.
void addPolicyFields(const TaskPolicy& policy, Json& task);

// Keeps one copy of each policy while a task has it. Not thread-safe, references included; lives on
// the dispatcher thread.
class PolicyPool {
 public:
  using Ref = std::shared_ptr<const TaskPolicy>;
  // Errors: Corrupt (text that policyToText never wrote).
  Result<Ref> intern(std::string_view text);
  size_t size() const { return by_text_->size(); }

 private:
  using ByText = std::unordered_map<std::string, std::weak_ptr<const TaskPolicy>>;
  const std::shared_ptr<ByText> by_text_ =
      std::make_shared<ByText>();  // References may outlive it.
};

// RFC 3339 with zone, e.g. "2026-11-29T12:00:00Z" or "…+01:00".
Result<WallTime> parseRfc3339(std::string_view text);

}  // namespace baton
