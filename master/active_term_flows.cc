#include <algorithm>

#include "master/active_term.h"

// What an active term does for flows, calendars, runs and events.
namespace baton::master {

void ActiveTerm::applyFlow(api::FlowApply request, std::shared_ptr<FlowVersion> version,
                           api::Callback<api::FlowApplied> done) {
  const Status fits = FlowCommands::checkStorable(request.text, database_writer_->rowBytesMax());
  if (!fits.ok()) return done(fits.error());
  FlowComparison compared =
      compareVersions(newestVersions({nameKey(version->spec.name)}).front(), version->spec);
  onFlows<api::FlowApplied>(
      [request = std::move(request), version = std::move(version), compared = std::move(compared),
       done](FlowCommands& flows) { flows.apply(request, version, compared, done); },
      done);
}

void ActiveTerm::applyCalendar(api::CalendarApply request, flow::ParsedCalendar parsed,
                               api::Callback<api::CalendarApplied> done) {
  const Status fits = FlowCommands::checkStorable(request.text, database_writer_->rowBytesMax());
  if (!fits.ok()) return done(fits.error());
  const bool queued = dispatcher_.tryPost(
      [this, request = std::move(request), parsed = std::move(parsed), done]() mutable {
        calendar_commands_.apply(request, std::move(parsed), done);
      });
  if (!queued) done(Error(ErrorCode::Overloaded, "the event queue is full"));
}

void ActiveTerm::removeCalendar(std::string name, api::Request request,
                                api::Callback<api::CalendarView> done) {
  const bool queued =
      dispatcher_.tryPost([this, name = std::move(name), request = std::move(request), done] {
        calendar_commands_.remove(name, request, done);
      });
  if (!queued) done(Error(ErrorCode::Overloaded, "the event queue is full"));
}

void ActiveTerm::sendEvent(api::EventSend event, api::Callback<api::EventSent> done) {
  const bool queued =
      dispatcher_.tryPost([this, event = std::move(event), done] { events_.send(event, done); });
  if (!queued) done(Error(ErrorCode::Overloaded, "the event queue is full"));
}

uint64_t ActiveTerm::liveRunsOf(const std::string& flow_key) const {
  return static_cast<uint64_t>(
      std::count_if(flows_.runs.begin(), flows_.runs.end(),
                    [&](const auto& run) { return nameKey(run.second.record.flow) == flow_key; }));
}

std::string ActiveTerm::whyRunWaits(RunId id) const {
  const auto run = flows_.runs.find(id);
  return run == flows_.runs.end() ? std::string() : runs_.whyWaiting(run->second);
}

}  // namespace baton::master
