#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/json.h"
#include "common/model/ids.h"
#include "common/model/task_spec.h"
#include "common/model/task_status.h"

// The wire structs of POST /api/v1/runners/{runner_id}/heartbeat (the only channel from runner to
// master for state) and their JSON. The rules behind them: docs/heartbeat.md.
namespace baton {

enum class RunnerStatus : uint8_t { Idle, Running, Finished, Failed };
enum class Command : uint8_t { GoOn, Reset, RunNew };
std::string_view toString(RunnerStatus status);  // "IDLE"
std::string_view toString(Command command);      // "RUN_NEW"

// Names one attempt; the nonce tells orders apart that share task and number.
struct AttemptKey {
  TaskId task_id = 0;  // 0: none.
  int32_t attempt = 0;
  std::string nonce;
  bool operator==(const AttemptKey&) const = default;
};

// Figures of the worker's host; sent by one runner of a worker once per interval.
struct HostFigures {
  double load1 = 0;
  int64_t cpu_count = 0;
  int64_t memory_total_bytes = 0;
  int64_t memory_free_bytes = 0;
  int64_t disk_free_bytes = 0;
};

// Result of an attempt as the runner saw it.
struct AttemptResult {
  std::optional<int32_t> return_code;
  int32_t signal = 0;
  FailureReason reason = FailureReason::None;
  std::string reason_text;
  int64_t run_ms = 0;    // How long it ran.
  int64_t ended_ms = 0;  // How long ago it ended: a duration, because clocks differ.
  int64_t stdout_bytes = 0;
  int64_t stderr_bytes = 0;
  std::map<std::string, std::string> outputs;
};

// What a report may carry is what its columns hold: no report can be accepted and not be stored.
inline constexpr size_t kLabelsJsonBytesMax = 65'535;
inline constexpr size_t kReasonTextBytesMax = 4'096;  // Longer ones are cut.

// One full report of a runner's slot.
struct HeartbeatRequest {
  std::string runner_id;
  std::string worker_id;
  std::string host;
  std::string boot_id;
  std::string version;
  std::string worker_address;
  std::string cluster_guid;  // Empty: not known yet.
  std::string journal_id;
  std::optional<uint64_t> incarnation;  // Absent in plain clients.
  std::optional<uint64_t> seq;
  bool has_last_order = false;
  AttemptKey last_order;  // Newest attempt that the runner ever accepted.
  Epoch epoch = 0;        // Highest seen.
  RunnerStatus status = RunnerStatus::Idle;
  AttemptKey current;      // Unless IDLE; with IDLE: the stopped attempt of a closing report.
  AttemptResult result;    // With FINISHED and FAILED, and with a closing IDLE.
  int64_t leaving_ms = 0;  // Above 0: not to be counted as lost for so long.
  LabelMap labels;         // runner_config.labels
  std::string final_args;  // While RUNNING: the command as really run, JSON array.
  int64_t wait_ms = 0;     // How long the master may hold the reply.
  std::optional<HostFigures> figures;
};

// What RUN_NEW carries beside the key: all that the runner needs.
struct Order {
  AttemptKey key;
  std::string run_part;  // JSON of runPartToJson(spec).
  Millis timeout{0};
  Millis kill_grace = kKillGraceDefault;
};

struct HeartbeatReply {
  std::string cluster_guid;
  Epoch epoch = 0;
  uint64_t incarnation = 0;  // Of the request that it answers.
  uint64_t seq = 0;
  Command command = Command::GoOn;
  std::optional<Order> order;  // With RUN_NEW.
  int64_t interval_ms = 0;     // Pause before the next beat.
  // H. A runner whose every reply was held (interval_ms 0) must know it too: by it the runner
  // gives up on a reply, and silence for 3 H makes it lost. 0: the master does not tell.
  int64_t heartbeat_ms = 0;
};

// Unknown members are accepted (versions N and N-1 mix during an upgrade); wrong types are not.
// `runner_id` comes from the path; a different one in the body is refused.
// Errors: InvalidArgument with the field.
Result<HeartbeatRequest> parseHeartbeatRequest(const Json& json, std::string_view runner_id);
Json heartbeatRequestToJson(const HeartbeatRequest& request);
Result<HeartbeatReply> parseHeartbeatReply(const Json& json);
// Serialised directly: the run part goes in as the text that it is.
std::string heartbeatReplyToText(const HeartbeatReply& reply);

}  // namespace baton
