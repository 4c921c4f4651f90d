#include <algorithm>

#include "master/active_term.h"
#include "master/flow/definition_reader.h"

// What an active term does for flows, calendars, runs and events.
namespace baton::master {

void ActiveTerm::applyFlows(std::vector<FlowDefinition> definitions,
                            api::Callback<api::FlowsApplied> done) {
  std::vector<std::string> keys;
  for (const FlowDefinition& definition : definitions) {
    const api::FlowApply& request = definition.request;
    const Status fits = FlowCommands::checkStorable(request.text, database_writer_->rowBytesMax());
    if (!fits.ok()) {
      return done(request.file.empty() ? fits.error()
                                       : Error(fits.error()).withContext(request.file));
    }
    keys.push_back(nameKey(definition.version->spec.name));
  }
  auto newest = newestVersions(keys);
  for (size_t i = 0; i < definitions.size(); ++i) {
    definitions[i].compared = compareVersions(std::move(newest[i]), definitions[i].version->spec);
  }
  EventDesk::Versions versions;
  for (const FlowDefinition& definition : definitions) versions.push_back(definition.version);
  const Status ahead = readAhead([&] { return events_.unreadBehind(versions); });
  if (!ahead.ok()) return done(ahead.error());
  const auto all = std::make_shared<std::vector<FlowDefinition>>(std::move(definitions));
  onFlows<api::FlowsApplied>(
      [all, done](FlowCommands& flows) { flows.apply(std::move(*all), done); }, done);
}

std::optional<flow::KnownFlows> ActiveTerm::knownFlows(
    const std::vector<flow::FlowReference>& references) {
  std::set<std::string> named;
  for (const flow::FlowReference& reference : references) named.insert(nameKey(reference.flow));
  const auto there = std::make_shared<std::vector<std::string>>();
  if (named.empty()) return flow::KnownFlows();
  const bool looked = inspect([this, there, named] {
    for (const std::string& key : named) {
      const LiveFlow* flow = flows_.findFlow(key);
      if (flow != nullptr && !flow->record.deleted) there->push_back(key);
    }
  });
  if (!looked) return std::nullopt;
  flow::KnownFlows known;
  const auto versions = newestVersions(*there);
  for (size_t i = 0; i < there->size(); ++i) {
    auto& tasks = known[(*there)[i]];
    if (versions[i] == nullptr) continue;
    tasks.emplace();
    for (const flow::TaskNode& task : versions[i]->spec.tasks) tasks->insert(task.name);
  }
  return known;
}

void ActiveTerm::setFlowOnline(std::string name, bool online, api::Request request,
                               api::Callback<api::FlowView> done) {
  const std::string key = nameKey(name);
  if (const auto version = online ? newestVersions({key}).front() : nullptr) {
    const Status ahead = readAhead([&] { return events_.unreadBehind({version}); });
    if (!ahead.ok()) return done(ahead.error());
  }
  onFlows<api::FlowView>([name = std::move(name), online, request = std::move(request), done](
                             FlowCommands& flows) { flows.setOnline(name, online, request, done); },
                         done);
}

void ActiveTerm::applyCalendars(std::vector<CalendarDefinition> definitions,
                                api::Callback<api::CalendarsApplied> done) {
  for (const CalendarDefinition& definition : definitions) {
    const api::CalendarApply& request = definition.request;
    const Status fits = FlowCommands::checkStorable(request.text, database_writer_->rowBytesMax());
    if (!fits.ok()) {
      return done(request.file.empty() ? fits.error()
                                       : Error(fits.error()).withContext(request.file));
    }
  }
  const Status ahead = readAhead([this] { return calendar_commands_.unreadFollowers(); });
  if (!ahead.ok()) return done(ahead.error());
  const bool queued =
      dispatcher_.tryPost([this, definitions = std::move(definitions), done]() mutable {
        calendar_commands_.apply(std::move(definitions), done);
      });
  if (!queued) done(Error(ErrorCode::Overloaded, "the event queue is full"));
}

void ActiveTerm::removeCalendar(std::string name, api::Request request,
                                api::Callback<api::CalendarView> done) {
  const Status ahead = readAhead([this] { return calendar_commands_.unreadFollowers(); });
  if (!ahead.ok()) return done(ahead.error());
  const bool queued =
      dispatcher_.tryPost([this, name = std::move(name), request = std::move(request), done] {
        calendar_commands_.remove(name, request, done);
      });
  if (!queued) done(Error(ErrorCode::Overloaded, "the event queue is full"));
}

void ActiveTerm::setParam(api::ParamSet request, api::Callback<api::ParamIsSet> done) {
  const bool queued = dispatcher_.tryPost(
      [this, request = std::move(request), done] { param_commands_.set(request, done); });
  if (!queued) done(Error(ErrorCode::Overloaded, "the event queue is full"));
}

Status ActiveTerm::readAheadOf(const std::function<bool(const std::string&)>& wanted) {
  // Only a takeover leaves texts unread, so what is not wanted now need not be read later.
  using Text = std::pair<std::string, std::shared_ptr<const std::string>>;
  const auto texts = std::make_shared<std::vector<Text>>();
  const bool looked = inspect([this, texts] {
    for (const auto& [key, flow] : flows_.flows) {
      if (flow.text != nullptr) texts->emplace_back(key, flow.text);
    }
  });
  if (!looked) return Error(ErrorCode::Overloaded, "the master is busy; repeat in a moment");
  std::erase_if(*texts, [&](const Text& text) { return !wanted(*text.second); });
  return readAhead([this, texts] {
    std::vector<std::string> unread;
    for (const auto& [key, text] : *texts) {
      const LiveFlow* flow = flows_.findFlow(key);
      if (flow != nullptr && flow->text != nullptr) unread.push_back(key);
    }
    return unread;
  });
}

void ActiveTerm::removeFlow(std::string name, api::Request request,
                            api::Callback<api::FlowView> done) {
  // Names go without case.
  const Status ahead = readAheadOf(
      [&](const std::string& text) { return mayHaveWord(nameKey(text), nameKey(name)); });
  if (!ahead.ok()) return done(ahead.error());
  onFlows<api::FlowView>([name = std::move(name), request = std::move(request),
                          done](FlowCommands& flows) { flows.remove(name, request, done); },
                         done);
}

void ActiveTerm::removeParam(std::string name, api::Request request,
                             api::Callback<ParamRecord> done) {
  const Status ahead =
      readAheadOf([&](const std::string& text) { return mayHaveWord(text, name); });
  if (!ahead.ok()) return done(ahead.error());
  const bool queued =
      dispatcher_.tryPost([this, name = std::move(name), request = std::move(request), done] {
        param_commands_.remove(name, request, done);
      });
  if (!queued) done(Error(ErrorCode::Overloaded, "the event queue is full"));
}

void ActiveTerm::sendEvent(api::EventSend event, api::Callback<api::EventSent> done) {
  const bool queued = dispatcher_.tryPost(
      [this, event = std::move(event), done] { flow_commands_.sendEvent(event, done); });
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

RunId ActiveTerm::runAhead(RunId id) const {
  const auto run = flows_.runs.find(id);
  if (run == flows_.runs.end() || run->second.record.state.status != RunStatus::Waiting) return 0;
  const auto flow = flows_.flows.find(nameKey(run->second.record.flow));
  if (flow == flows_.flows.end() || flow->second.running.empty()) return 0;
  const RunId first = *flow->second.running.begin();
  return first == id ? 0 : first;
}

}  // namespace baton::master
