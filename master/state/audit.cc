#include "master/state/audit.h"

#include <array>

namespace baton::master {
namespace {

constexpr size_t kObjectBytesMax = 250;  // Its column takes a few more.

}  // namespace

Audit::Audit(const api::Request& request, WallTime at, std::string action,
             const std::string& object)
    : wanted_(true) {
  row_.at = at;
  row_.principal = request.principal;
  row_.remote = request.remote;
  row_.request_id = request.request_id;
  row_.action = std::move(action);
  row_.object = truncateUtf8(object, kObjectBytesMax);
}

void Audit::putInto(Operation& operation, const Status& outcome) const {
  if (!wanted_) return;
  if (!outcome.ok() && outcome.error().code() != ErrorCode::Conflict) return;
  if (outcome.ok() && !operation.writes()) return;
  AuditRecord& row = operation.changes.audit.emplace_back(row_);
  if (outcome.ok()) return;
  row.refused = true;
  row.detail = outcome.error().message();
  row.after.clear();
}

std::string doneBy(std::string_view what, const api::Request& request) {
  return fmt::format("{} by {}", what, request.principal.empty() ? "hand" : request.principal);
}

Json auditFacts(const TaskState& task) {
  Json facts = {{"status", toString(task.status)}};
  if (task.hold) facts["hold"] = true;
  if (task.forced) facts["forced"] = true;
  return facts;
}

Json auditFacts(const RunState& run) {
  return {{"status", toString(run.status)}, {"priority", toString(run.priority)}};
}

Json auditFacts(const FlowRecord& flow) {
  return {{"version", flow.version}, {"online", flow.online}};
}

Json auditFacts(const HostRecord& host) {
  constexpr std::array<std::string_view, kHostWordCount> kWords{"none", "drain", "exclude",
                                                                "include"};
  Json facts = {{"word", kWords[static_cast<size_t>(host.word)]}};
  if (!host.reason.empty()) facts["reason"] = host.reason;
  if (!host.labels.empty()) facts["labels"] = host.labels;
  return facts;
}

Json auditFacts(const LimitRecord& limit) {
  Json facts = Json::object();
  if (limit.max) facts["limit"] = *limit.max;
  if (limit.min_priority) facts["min_priority"] = toString(*limit.min_priority);
  if (!limit.window.empty()) facts["window"] = limit.window + " " + limit.time_zone;
  return facts;
}

}  // namespace baton::master
