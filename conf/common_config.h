#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "conf/settings.h"

// Parts that the settings of several programs share.
namespace baton::conf {

struct HttpConfig {
  std::string host;
  int port = 0;             // 0: any free one.
  std::string advertise{};  // host:port for others as configured; empty: see advertisedAddress.
};

struct HeartbeatConfig {
  std::optional<Millis> interval;  // Absent: the cluster's row rules.
  bool plain_clients = false;
};

struct CallbackConfig {
  std::vector<std::string> allow;  // host or host:port
  Millis timeout{0};
  int tries = 0;
  std::string secret;  // Empty: not signed.
};

// When a worker on which tasks can't be started is left alone for a while.
struct QuarantineConfig {
  int failures = 0;  // 0: never.
  Millis window{0};
  Millis cooldown{0};
};

// What the active master's engines need; the same for `master` and `standalone`.
struct EngineConfig {
  HeartbeatConfig heartbeat;
  Millis watchdog_period{0};  // As configured; it never exceeds H/3.
  Millis stuck_after{0};      // As configured; never less than 3 H.
  QuarantineConfig quarantine;
  int64_t running_max = 0;  // 0: no limit.
  int64_t queue_max = 0;
  Millis ageing{0};
  Millis audit_keep{0};
  CallbackConfig callback;
};

HttpConfig httpConfigOf(const Settings& settings);
LogOptions logOptionsOf(const Settings& settings);
// Reads the signing key too; what is wrong is added to `issues`.
EngineConfig engineConfigOf(const Settings& settings, std::vector<ConfigIssue>& issues);
// The content of the file that `key` names (empty if it names none), or an issue.
std::string secretOf(const Settings& settings, std::string_view key,
                     std::vector<ConfigIssue>& issues);
std::string tokenOf(const Settings& settings, std::string_view key,
                    std::vector<ConfigIssue>& issues);

// host:port under which others reach a server that really listens on `port`.
std::string advertisedAddress(const HttpConfig& http, int port);
// The name of this host without its domain, fit for an id.
std::string hostName();

}  // namespace baton::conf
