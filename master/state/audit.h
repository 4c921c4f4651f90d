#pragma once

#include <string>
#include <string_view>

#include "common/base/json.h"
#include "common/model/audit_record.h"
#include "common/model/flow_records.h"
#include "common/model/limit_records.h"
#include "common/model/records.h"
#include "master/api/ports.h"
#include "master/state/operation.h"

namespace baton::master {

// The audit row of one order: begun when the order is decided on, filled in on the way, and put
// into the very operation that carries it out, so that neither is ever durable without the other.
// Whoever answers an order gives its row to the answer, which can't be forgotten then.
// Nothing that may be secret belongs into it: values of parameters and data are left out.
class Audit {
 public:
  // `action` is "kind.verb".
  Audit(const api::Request& request, WallTime at, std::string action, const std::string& object);
  // An answer that leaves no row: a dry run, or the repetition of an order that has its own.
  static Audit none() { return Audit(); }

  // Each an object.
  void setParams(const Json& params) { row_.params = dumpJson(params); }
  void setBefore(const Json& before) { row_.before = dumpJson(before); }
  void setAfter(const Json& after) { row_.after = dumpJson(after); }

  // Last of all. Done, or refused because the state does not allow it (Conflict). Of other errors
  // there is no row (the order named nothing that is there, or was never decided on), nor of what
  // changes nothing, such as the repetition of an order whose answer was lost.
  void putInto(Operation& operation, const Status& outcome) const;
  // Of an order that is carried out behind its row, and writes no other.
  void putAlone(Operation& operation) const { operation.changes.audit.push_back(row_); }

 private:
  Audit() = default;
  bool wanted_ = false;
  AuditRecord row_;
};

// For people: "stopped by ann".
std::string doneBy(std::string_view what, const api::Request& request);

// What rows say of a thing as it stands.
Json auditFacts(const TaskState& task);
Json auditFacts(const RunState& run);
Json auditFacts(const FlowRecord& flow);
Json auditFacts(const LimitRecord& limit);
Json auditFacts(const HostRecord& host);
// The names of parameters, at most 50 of them.
template <typename Map>
Json auditNames(const Map& map) {
  constexpr size_t kNamesMax = 50;
  Json names = Json::array();
  for (const auto& [name, value] : map) {
    if (names.size() == kNamesMax) break;
    names.push_back(truncateUtf8(name, 80));
  }
  return names;
}

}  // namespace baton::master
