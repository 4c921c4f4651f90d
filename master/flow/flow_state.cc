#include "master/flow/flow_state.h"

#include <utility>

#include "common/base/log.h"

namespace baton::master {

RunClass classOf(const RunRecord& record) {
  if (record.state.reruns > 0) return RunClass::Current;
  if (record.backfill != 0) return RunClass::Backfill;
  return record.compensates ? RunClass::Compensation : RunClass::Current;
}

std::shared_ptr<const FlowVersion> FlowState::newestOf(LiveFlow& flow) {
  if (flow.newest == nullptr && flow.text != nullptr) {
    const auto text = std::exchange(flow.text, nullptr);
    auto read = readFlowVersion(flow.record.name, flow.record.version, *text);
    if (!read.ok()) {
      logError("flow_unreadable", field("flow", flow.record.name),
               field("error", read.error().message()));
      return nullptr;
    }
    flow.newest = std::move(*read);
  }
  if (flow.newest != nullptr && flow.newest->spec.schedule && !flow.recurrence) {
    const std::string& name = flow.newest->spec.schedule->calendar;
    std::shared_ptr<const WorkCalendar> calendar;
    if (!name.empty()) calendar = calendars.days(name);
    if (!name.empty() && calendar == nullptr) {
      // Never on days that may be off.
      logError("calendar_unknown", field("flow", flow.record.name), field("calendar", name));
    } else {
      flow.recurrence =
          flow::recurrenceOf(flow.newest->spec, flow.record.online_since, std::move(calendar));
    }
  }
  return flow.newest;
}

void FlowState::learn(const std::string& key, std::shared_ptr<const FlowVersion> version) {
  LiveFlow* flow = findFlow(key);
  if (flow == nullptr || flow->text == nullptr || flow->record.version != version->number) return;
  flow->text = nullptr;
  flow->newest = std::move(version);
}

}  // namespace baton::master
