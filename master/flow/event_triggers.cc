// Flows that an event begins: the side of EventDesk that knows triggers.
#include <algorithm>
#include <deque>

#include "common/base/log.h"
#include "master/flow/event_desk.h"

namespace baton::master {

std::string EventDesk::firedByEnd(const std::string& flow_key, const std::string& task) {
  return "flow\n" + flow_key + '\n' + task;
}

std::string EventDesk::firedByEvent(const std::string& name) { return "event\n" + name; }

void EventDesk::index(LiveFlow& flow) {
  // What nobody has read yet has no trigger: see readDefinitions.
  if (!flow.record.online || flow.record.deleted || flow.newest == nullptr) return;
  const auto version = flow.newest;
  if (!version->spec.trigger) return;
  const flow::EventSource& trigger = *version->spec.trigger;
  const std::string source = trigger.flow.empty() ? firedByEvent(trigger.name)
                                                  : firedByEnd(nameKey(trigger.flow), trigger.task);
  const std::string key = flow.record.key();
  triggered_[source].insert(key);
  trigger_of_[key] = source;
}

void EventDesk::onFlowChanged(LiveFlow& flow) {
  const std::string key = flow.record.key();
  if (const auto before = trigger_of_.find(key); before != trigger_of_.end()) {
    const auto keys = triggered_.find(before->second);
    keys->second.erase(key);
    if (keys->second.empty()) triggered_.erase(keys);
    trigger_of_.erase(before);
  }
  index(flow);
  const auto awaited = awaited_.find(key);
  if (awaited == awaited_.end() || awaited->second.watches == 0) return;
  for (const auto& [subject, watch] : watches_) {
    if (subject.ofFlow() && subject.source == key) lookUp(subject);
  }
}

void EventDesk::fire(Operation& operation, const std::string& source,
                     const std::string& trigger_key, WallTime plan_time,
                     const flow::ParamMap& params) {
  const auto it = triggered_.find(source);
  if (it == triggered_.end() || !trigger_) return;
  const std::set<std::string> keys = it->second;  // What begins may change them.
  for (const std::string& key : keys) begin(operation, key, trigger_key, plan_time, params);
}

void EventDesk::begin(Operation& operation, const std::string& key, const std::string& trigger_key,
                      WallTime plan_time, const flow::ParamMap& params) {
  LiveFlow* flow = flows_.findFlow(key);
  if (flow == nullptr || !flow->record.online || flow->record.deleted) return;
  if (flows_.newestOf(*flow) == nullptr) return;
  // checkTriggers refuses such a definition; here a circle of tasks that take no time would never
  // let the dispatcher go.
  if (triggersItself(key)) {
    logError("event_trigger_circle", field("flow", key), field("for", trigger_key));
    return;
  }
  trigger_(operation, key, trigger_key, plan_time, params);
}

bool EventDesk::triggersItself(const std::string& flow_key) {
  std::set<std::string> seen;
  std::string at = flow_key;
  while (seen.insert(at).second) {
    const LiveFlow* flow = flows_.findFlow(at);
    if (flow == nullptr || !flow->record.online || flow->newest == nullptr) return false;
    if (!flow->newest->spec.trigger) return false;
    at = nameKey(flow->newest->spec.trigger->flow);
    if (at == flow_key) return true;
  }
  return false;  // A circle further up is the business of the flows in it.
}

EventDesk::Following EventDesk::follow(const std::string& flow_key, const flow::FlowSpec& spec,
                                       std::vector<std::string>* unread) {
  Following begun_by;
  std::deque<std::string> todo{flow_key};
  const bool by_end = spec.trigger && !spec.trigger->flow.empty();
  const std::string own =
      by_end ? firedByEnd(nameKey(spec.trigger->flow), spec.trigger->task) : std::string();
  const auto reach = [&](const std::string& from, const std::string& to) {
    if (begun_by.emplace(to, from).second && to != flow_key) todo.push_back(to);
  };
  // `has` says whether the flow has such a task.
  const auto reachFired = [&](const std::string& from, const auto& has) {
    const std::string ends =
        firedByEnd(from, {});  // Of the flow; those of its tasks begin with it.
    const auto fires = [&](const std::string& source) {
      return source == ends || has(source.substr(ends.size()));
    };
    if (own.starts_with(ends) && fires(own)) reach(from, flow_key);
    for (auto fired = triggered_.lower_bound(ends);
         fired != triggered_.end() && fired->first.starts_with(ends); ++fired) {
      if (!fires(fired->first)) continue;
      for (const std::string& to : fired->second) {
        if (to != flow_key) reach(from, to);
      }
    }
  };
  reachFired(flow_key, [&](const std::string& task) { return spec.find(task) != nullptr; });
  for (const flow::TaskNode& task : spec.tasks) {
    if (task.kind == "flow") reach(flow_key, nameKey(task.flow));
  }
  for (todo.pop_front(); !todo.empty() && !begun_by.contains(flow_key); todo.pop_front()) {
    const std::string at = todo.front();
    LiveFlow* flow = flows_.findFlow(at);
    if (flow != nullptr && flow->text != nullptr && unread != nullptr) {
      unread->push_back(at);
      flow = nullptr;
    }
    const auto version = flow == nullptr ? nullptr : flows_.newestOf(*flow);
    reachFired(at, [&](const std::string& task) {
      return version != nullptr && version->find(task).has_value();
    });
    if (version == nullptr) continue;
    for (const std::string& part : version->parts) reach(at, part);
  }
  return begun_by;
}

std::vector<std::string> EventDesk::unreadBehind(const std::string& flow_key,
                                                 const flow::FlowSpec& spec) {
  std::vector<std::string> unread;
  follow(flow_key, spec, &unread);
  return unread;
}

Status EventDesk::checkTriggers(const std::string& flow_key, const flow::FlowSpec& spec) {
  const Following begun_by = follow(flow_key, spec, nullptr);
  if (!begun_by.contains(flow_key)) return {};
  const bool by_end = spec.trigger && !spec.trigger->flow.empty();
  std::vector<std::string> path{flow_key};
  for (std::string at = begun_by.at(flow_key); at != flow_key; at = begun_by.at(at)) {
    path.push_back(at);
  }
  std::string text = flow_key;
  for (auto it = path.rbegin(); it != path.rend(); ++it) text += " -> " + *it;
  return Error::invalidArgument("a run of flow {} would begin the next one, for ever: {}", flow_key,
                                text)
      .withField(by_end ? "trigger.event.flow" : "tasks");
}

}  // namespace baton::master
