#include "master/flow/flow_state.h"

#include "common/base/log.h"

namespace baton::master {

std::shared_ptr<const FlowVersion> FlowState::newestOf(LiveFlow& flow) {
  if (flow.newest == nullptr && !flow.text.empty()) {
    auto read = readFlowVersion(flow.record.name, flow.record.version, flow.text);
    flow.text = {};
    if (!read.ok()) {
      logError("flow_unreadable", field("flow", flow.record.name),
               field("error", read.error().message()));
      return nullptr;
    }
    flow.newest = std::move(*read);
  }
  if (flow.newest != nullptr && flow.newest->spec.schedule && !flow.recurrence) {
    const std::string& calendar = flow.newest->spec.schedule->calendar;
    flow.recurrence = flow::recurrenceOf(
        flow.newest->spec, flow.record.online_since,
        calendars && !calendar.empty() ? calendars(calendar) : nullptr);
  }
  return flow.newest;
}

}  // namespace baton::master
