#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/model/task_status.h"

// Flow control as it is stored: how much of what may run at a time.
namespace baton {

// What a limit is about. The integers are a storage format.
enum class LimitKind : uint8_t {
  Cluster = 0,  // All tasks; one row, with an empty name.
  Group = 1,    // Tasks that name this group, in units of their weights.
  Flow = 2,     // Tasks of this flow.
  User = 3,     // Tasks of this user.
  Host = 4,     // Tasks on this host.
  Window = 5,   // Tasks that start at certain hours only; never stored as a limit.
};
inline constexpr size_t kLimitKindCount = 5;  // Of those that are stored.

inline constexpr int64_t kLimitMax = 1'000'000'000;
inline constexpr size_t kLimitTextCharsMax = 1'000;  // Of a description.
inline constexpr size_t kLimitNameCharsMax = 255;

// One limit as operators set it. A limit below what runs now only holds back new starts.
struct LimitRecord {
  LimitKind kind = LimitKind::Group;
  std::string name = {};            // 1 to 255 characters; empty for the cluster.
  std::optional<int64_t> max = {};  // Units of weight (group) or tasks; none: unlimited (cluster:
                                    // as configured). 0: nothing runs (cluster: unlimited).
  std::string window = {};          // Group: "22:00-06:00", when tasks may start; empty: always.
  std::string time_zone = {};       // Group: IANA zone of the window.
  // Group and cluster: tasks of lower priority are not started; none: all are.
  std::optional<Priority> min_priority = {};
  std::string description = {};
  WallTime changed_at{};

  bool operator==(const LimitRecord&) const = default;
};

// Which limits a task counts against; empty members: none of that kind.
struct TaskLimitsScope {
  std::string group = {};
  int64_t weight = 1;       // 1 to 1,000 units of the group's limit.
  std::string flow = {};    // The flow whose run it belongs to; not its spelling counts (nameKey).
  std::string user = {};    // Whose it is.
  std::string window = {};  // Its own hours, "22:00-06:00".
  std::string flow_window = {};  // Those of its flow.
  std::string time_zone = {};    // Of both; empty if there is neither.

  bool operator==(const TaskLimitsScope&) const = default;
};

std::string_view toString(LimitKind kind);  // "group"

}  // namespace baton
