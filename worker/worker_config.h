#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/model/task_spec.h"

namespace baton::worker {

inline constexpr int kRunnersMax = 1'000;  // As conf has it.

// All that a worker's daemon has to be told; filled by conf and the command line.
struct WorkerOptions {
  std::string worker_id;             // Unique in the cluster and stable over restarts.
  std::string host;                  // Name of this machine, for people.
  std::string data_dir;              // Absolute; journal, logs, working directories.
  std::vector<std::string> masters;  // "host:port" of every master.
  std::string token;                 // The worker's bearer token.
  int runners = 4;                   // Execution slots, 1 to kRunnersMax: "<worker_id>:0", …
  LabelMap labels;
  std::string listen_host = "0.0.0.0";  // Of the log server.
  uint16_t listen_port = 0;             // 0: a free one.
  // host:port under which masters reach the log server; empty: where it listens, `host` standing
  // for all addresses.
  std::string advertised_address;
  std::string plugins;                         // Folder of the plug-ins, absolute; empty: none.
  int64_t log_bytes_max = 64LL * 1024 * 1024;  // Per output stream of an attempt.
  std::string task_zone;                       // TZ of tasks; empty: not set.
  Millis heartbeat{30'000};                    // Until a master tells the cluster's.
  Millis leaving{60'000};  // Announced by stop(): not counted as lost for so long.
  Millis shepherd_idle_exit{60'000};
  std::vector<std::string> shepherd_command{"/proc/self/exe", "shepherd"};
  // What carries tasks of kind http; found by the shepherd, whose own program it is.
  std::vector<std::string> http_command{"/proc/self/exe", "http-task"};
};

}  // namespace baton::worker
