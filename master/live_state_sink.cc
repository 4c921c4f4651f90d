#include "master/live_state_sink.h"

#include <unordered_set>

namespace baton::master {

Status LiveStateSink::addTask(recover::RecoveredTask recovered) {
  LiveTask task;
  task.state = std::move(recovered.state);
  ASSIGN_OR_RETURN(task.policy, live_.policies.intern(*recovered.policy));
  task.created_at = recovered.created_at;
  if (!recovered.spec.empty()) {
    task.spec = std::make_shared<const std::string>(std::move(recovered.spec));
  }
  task.attempt = std::move(recovered.attempt);
  const TaskStatus status = task.state.status;
  const bool open = hasOpenAttempt(status);
  const bool may_lack = status == TaskStatus::Running || status == TaskStatus::Terminating;
  if (task.attempt == nullptr && may_lack) {
    unattempted_.push_back(task.state.id);
  } else if (open != (task.attempt != nullptr)) {
    return Error::make(ErrorCode::Corrupt, "task {} is {} but has {} open attempt", task.state.id,
                       toString(status), task.attempt ? "an" : "no");
  }
  engine_.adopt(std::move(task));
  return {};
}

void LiveStateSink::addSetting(const SettingRecord& setting) {
  if (setting.name != kSettingDealtUntil) return registry_.adopt(setting);
  if (const auto until = parseRfc3339(setting.value); until.ok()) flows_.dealt_until = *until;
}

Status LiveStateSink::addFlow(dao::FlowRow row) {
  LiveFlow& flow = flows_.flows[row.record.key()];
  flow.record = std::move(row.record);
  if (!flow.record.deleted && row.version) {
    flow.text = std::make_shared<const std::string>(std::move(row.version->text));
  }
  return {};
}

Status LiveStateSink::addVersion(const FlowVersionRecord& version) {
  unread_.push_back({.flow = version.flow,
                     .number = version.version,
                     .text = std::make_shared<const std::string>(version.text),
                     .needed = true});
  return {};
}

Status LiveStateSink::readDefinitions(std::span<const RunRecord> runs, uint32_t threads,
                                      std::stop_token stop) {
  std::unordered_set<std::string> live;
  for (const RunRecord& run : runs) live.insert(nameKey(run.flow));
  const size_t older = unread_.size();
  std::vector<LiveFlow*> flows;
  for (auto& [key, flow] : flows_.flows) {
    if (flow.text == nullptr) continue;
    flows.push_back(&flow);
    unread_.push_back({.flow = flow.record.name,
                       .number = flow.record.version,
                       .text = flow.text,
                       .needed = live.contains(key),
                       .online = flow.record.online});
  }
  master::readDefinitions(unread_, threads, stop);
  if (stop.stop_requested()) return Error(ErrorCode::Cancelled, "recovery was stopped");
  for (size_t i = 0; i < older; ++i) {
    FoundDefinition& found = unread_[i];
    RETURN_IF_ERROR(found.read->status());
    older_[{nameKey(found.flow), found.number}] = std::move(**found.read);
  }
  for (size_t i = 0; i < flows.size(); ++i) {
    FoundDefinition& found = unread_[older + i];
    flows[i]->names_calendar = found.names_calendar;
    if (found.read) flows_.learn(flows[i]->record.key(), found.number, *found.read);
  }
  unread_.clear();
  return {};
}

Status LiveStateSink::addRun(const RunRecord& run) {
  const std::string key = nameKey(run.flow);
  std::shared_ptr<const FlowVersion> version;
  if (const auto older = older_.find({key, run.version}); older != older_.end()) {
    version = older->second;
  } else if (LiveFlow* flow = flows_.findFlow(key)) {
    version = flows_.newestOf(*flow);
  }
  if (version == nullptr || version->number != run.version) {
    return Error::make(ErrorCode::Corrupt, "run {}: version {} of flow {} can't be read",
                       run.state.id, run.version, run.flow);
  }
  return runs_.adopt(run, std::move(version));
}

Status LiveStateSink::finish() {
  runs_.endAdoption();
  for (const TaskId id : unattempted_) {
    const LiveTask* task = live_.findTask(id);
    if (task->part && task->part->no_runner) continue;
    return Error::make(ErrorCode::Corrupt, "task {} is {} but has no open attempt", id,
                       toString(task->state.status));
  }
  return {};
}

}  // namespace baton::master
