#include "master/flow/flow_state.h"

#include "common/base/log.h"

namespace baton::master {
namespace {

void takeRead(LiveFlow& flow, const Result<std::shared_ptr<const FlowVersion>>& read) {
  flow.text = nullptr;
  if (read.ok()) {
    flow.newest = *read;
  } else {
    logError("flow_unreadable", field("flow", flow.record.name),
             field("error", read.error().message()));
  }
}

}  // namespace

RunClass classOf(const RunRecord& record) {
  if (record.state.reruns > 0) return RunClass::Current;
  if (record.backfill != 0) return RunClass::Backfill;
  return record.compensates ? RunClass::Compensation : RunClass::Current;
}

std::shared_ptr<const FlowVersion> FlowState::newestOf(LiveFlow& flow) {
  if (flow.newest == nullptr && flow.text != nullptr) {
    bytes_read += flow.text->size();
    takeRead(flow, readFlowVersion(flow.record.name, flow.record.version, *flow.text));
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

void FlowState::learn(const std::string& key, uint32_t number,
                      const Result<std::shared_ptr<const FlowVersion>>& read) {
  LiveFlow* flow = findFlow(key);
  if (flow == nullptr || flow->text == nullptr || flow->record.version != number) return;
  takeRead(*flow, read);
}

}  // namespace baton::master
