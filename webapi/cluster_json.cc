#include "webapi/cluster_json.h"

#include "webapi/task_json.h"

namespace baton::webapi {
namespace {

Json storedLabels(const std::string& text) {
  if (text.empty()) return Json::object();
  auto parsed = parseJson(text);
  return parsed.ok() && parsed->is_object() ? std::move(*parsed) : Json::object();
}

Json silence(int64_t silent_ms) { return silent_ms < 0 ? Json(nullptr) : Json(silent_ms); }

std::string withoutSecrets(const std::string& url) {
  std::string shown = url.substr(0, url.find_first_of("?#"));
  const size_t host = shown.find("://");
  if (host == shown.npos) return shown;
  const size_t path = shown.find('/', host + 3);
  const size_t at = shown.substr(0, path).rfind('@');
  if (at != shown.npos) shown.erase(host + 3, at + 1 - (host + 3));
  return shown;
}

std::string_view outboxStateName(OutboxRecord::State state) {
  switch (state) {
    case OutboxRecord::State::Pending:
      return "pending";
    case OutboxRecord::State::Delivered:
      return "delivered";
    case OutboxRecord::State::Dead:
      return "dead";
    case OutboxRecord::State::Dropped:
      return "dropped";
  }
  return "";
}

std::string_view healthOf(const master::api::MemberView& member) {
  if (!member.heard) return "unknown";
  return member.database_ok ? "ok" : "database_unreachable";
}

}  // namespace

Json runnerToJson(const master::api::RunnerView& runner) {
  const RunnerRecord& record = runner.record;
  return {{"runner_id", record.runner_id},
          {"worker_id", textOrNull(record.worker_id)},
          {"host", textOrNull(record.host)},
          {"address", textOrNull(record.worker_address)},
          {"version", textOrNull(record.version)},
          {"state", runner.state},
          {"task_id", idOrNull(runner.task_id)},
          {"labels", storedLabels(record.labels)},
          {"plain", record.plain},
          {"conflict", record.conflict},
          {"held", runner.held},
          {"silent_ms", silence(runner.silent_ms)},
          {"last_seen", timeToJson(record.last_seen)}};
}

Json hostToJson(const master::api::HostView& host) {
  Json figures(nullptr);
  if (host.figures) {
    figures = {{"load1", host.figures->load1},
               {"cpu_count", host.figures->cpu_count},
               {"memory_total_bytes", host.figures->memory_total_bytes},
               {"memory_free_bytes", host.figures->memory_free_bytes},
               {"disk_free_bytes", host.figures->disk_free_bytes}};
  }
  return {{"worker_id", textOrNull(host.worker_id)},
          {"host", textOrNull(host.host)},
          {"address", textOrNull(host.address)},
          {"version", textOrNull(host.version)},
          {"labels", host.labels},
          {"runners", host.runners},
          {"busy", host.busy},
          {"plain", host.plain},
          {"health", host.health},
          {"score", host.score},
          {"findings", textOrNull(host.findings)},
          {"state", host.state},
          {"takes_tasks", host.takes_tasks},
          {"held_back", textOrNull(host.held_back)},
          {"reason", textOrNull(host.reason)},
          {"operator_labels", host.operator_labels},
          {"silent_ms", silence(host.silent_ms)},
          {"last_seen", timeToJson(host.last_seen)},
          {"figures", std::move(figures)}};
}

Json hostsToJson(const std::vector<master::api::HostView>& hosts) {
  Json items = Json::array();
  for (const master::api::HostView& host : hosts) items.push_back(hostToJson(host));
  return {{"items", std::move(items)}, {"next_cursor", nullptr}};
}

Json hostPolicyToJson(const master::api::HostPolicy& policy) {
  return {{"white_list", policy.white_list},
          {"min_version", textOrNull(policy.min_version)},
          {"unapproved", policy.unapproved},
          {"outdated", policy.outdated}};
}

Json clusterToJson(const master::api::ClusterView& cluster) {
  Json active(nullptr);
  if (cluster.active_known) {
    active = {{"node_id", cluster.active_node_id},
              {"address", cluster.active_address},
              {"since", timeToJson(cluster.active_since)}};
  }
  Json masters = Json::array();
  for (const master::api::MemberView& member : cluster.masters) {
    masters.push_back({{"node_id", member.node_id},
                       {"role", member.role},
                       {"state", member.state},
                       {"address", member.address},
                       {"version", member.version},
                       {"health", healthOf(member)}});
  }
  Json lowest(nullptr);
  if (cluster.min_priority) lowest = toString(*cluster.min_priority);
  return {{"cluster", cluster.cluster},
          {"guid", cluster.guid},
          {"node_id", cluster.node_id},
          {"role", cluster.role},
          {"state", cluster.state},
          {"epoch", cluster.epoch},
          {"active", active},
          {"masters", masters},
          {"alarm", textOrNull(cluster.alarm)},
          {"min_priority", std::move(lowest)}};
}

Json takeoverToJson(const master::api::TakeoverView& takeover) {
  return {{"epoch", takeover.epoch},
          {"node_id", takeover.node_id},
          {"reason", takeover.reason},
          {"at", timeToJson(takeover.at)},
          {"released_at", timeToJson(takeover.released_at)},
          {"detect_ms", takeover.detect_ms},
          {"lock_ms", takeover.lock_ms},
          {"bump_ms", takeover.bump_ms},
          {"load_ms", takeover.load_ms},
          {"active_ms", takeover.active_ms},
          {"tasks_loaded", takeover.tasks_loaded},
          {"attempts_in_doubt", takeover.attempts_in_doubt}};
}

Json statsToJson(const master::api::StatsView& stats) {
  Json workers = Json::object();
  for (const auto& [id, counts] : stats.workers) {
    workers[id] = {
        {"finished", counts.finished}, {"failed", counts.failed}, {"running", counts.running}};
  }
  Json groups = Json::object();
  for (const auto& [name, counts] : stats.groups) {
    groups[name] = {{"running", counts.running}, {"queued", counts.queued}};
  }
  return {{"by_status", stats.by_status},
          {"live_by_priority", stats.live_by_priority},
          {"waiting_by_reason", stats.waiting_by_reason},
          {"groups", std::move(groups)},
          {"workers", std::move(workers)},
          {"runs_by_status", stats.runs_by_status},
          {"planner",
           {{"schedules", stats.schedules},
            {"behind", stats.planner_behind},
            {"lag_ms", stats.planner_lag_ms}}},
          {"missed_by_reason", stats.missed_by_reason}};
}

Json verifyToJson(const master::api::VerifyView& verify) {
  return {{"tasks_compared", verify.tasks_compared},
          {"runs_compared", verify.runs_compared},
          {"differences", verify.differences},
          {"differences_total", verify.differences_total}};
}

Json syncToJson(const master::api::SyncBegun& sync) { return {{"epoch", sync.epoch}}; }

Json deadCallbackToJson(const OutboxRecord& record) {
  const bool of_run = record.event.starts_with("run_");
  const std::string subject = std::to_string(record.task_id);
  return {{"id", std::to_string(record.id)},
          {"task_id", of_run ? Json(nullptr) : Json(subject)},
          {"run_id", of_run ? Json(subject) : Json(nullptr)},
          {"attempt", record.attempt},
          {"event", record.event},
          {"url", withoutSecrets(record.url)},
          {"awaited", record.awaited},
          {"state", outboxStateName(record.state)},
          {"tries", record.tries},
          {"created_at", timeToJson(record.created_at)},
          {"last_error", textOrNull(record.last_error)}};
}

}  // namespace baton::webapi
