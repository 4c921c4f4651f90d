#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/model/limit_records.h"
#include "master/api/ports.h"

// Flow control as the web API sees it: groups, limits of flows, users and hosts, and those of the
// cluster. The rules of ports.h hold.
namespace baton::master::api {

// A limit, and what counts against it.
struct LimitView {
  LimitRecord record;
  bool has_row = true;     // False: nobody set it; it is shown for what it runs or has queued.
  int64_t in_use = 0;      // Units of weight (group) or tasks.
  uint64_t running = 0;    // Open attempts, those in doubt included.
  uint64_t queued = 0;     // Not counted for hosts.
  bool open = true;        // Its window.
  WallTime next_change{};  // When the window opens or closes; zero: it has none.
  int64_t configured = 0;  // Cluster: limits.running_max.
};

// One change of one limit.
struct LimitChange {
  enum class What : uint8_t {
    Replace,      // The whole row.
    Remove,       // NotFound if there is none.
    Max,          // `record.max` alone; makes the row if there is none.
    MinPriority,  // `record.min_priority` alone; the same.
  };
  What what = What::Replace;
  LimitRecord record = {};
  Request request = {};
};

class GroupPort {
 public:
  virtual ~GroupPort() = default;
  // Takes effect at once for new starts; answers the limit as it then is (Remove: as it was).
  // Errors: InvalidArgument (names the field), NotFound, StorageFull, NotActive.
  virtual void changeLimit(LimitChange change, Callback<LimitView> done) = 0;
  // Those that have a row, and groups that have live tasks; by name.
  virtual Result<std::vector<LimitView>> limits(LimitKind kind) = 0;
  // Errors: NotFound (no row and, for groups, no live task).
  virtual Result<LimitView> limit(LimitKind kind, const std::string& name) = 0;
};

}  // namespace baton::master::api
