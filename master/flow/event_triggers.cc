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
  // findCircle refuses such a definition; here a circle of tasks that take no time would never
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

EventDesk::Defined::Defined(const Versions& versions) {
  for (const auto& version : versions) {
    const std::string key = nameKey(version->spec.name);
    by_key.emplace(key, version.get());
    order.push_back(key);
    const auto& trigger = version->spec.trigger;
    if (!trigger || trigger->flow.empty()) continue;
    begun[firedByEnd(nameKey(trigger->flow), trigger->task)].insert(key);
  }
}

std::vector<std::string> EventDesk::begunBy(const std::string& from, const Defined& defined,
                                            std::vector<std::string>* unread) {
  const FlowVersion* version = nullptr;
  if (const auto at = defined.by_key.find(from); at != defined.by_key.end()) {
    version = at->second;
  } else if (LiveFlow* flow = flows_.findFlow(from); flow != nullptr) {
    if (flow->text != nullptr && unread != nullptr) {
      unread->push_back(from);
    } else {
      version = flows_.newestOf(*flow).get();
    }
  }
  std::vector<std::string> found;
  const std::string ends = firedByEnd(from, {});  // Those of its tasks begin with it.
  const auto takeFired = [&](const auto& fired_by, const auto& counts) {
    for (auto fired = fired_by.lower_bound(ends);
         fired != fired_by.end() && fired->first.starts_with(ends); ++fired) {
      const std::string task = fired->first.substr(ends.size());
      if (!task.empty() && (version == nullptr || !version->find(task))) continue;
      std::copy_if(fired->second.begin(), fired->second.end(), std::back_inserter(found), counts);
    }
  };
  // What is stored of those that are defined anew holds no more.
  takeFired(triggered_, [&](const std::string& key) { return !defined.by_key.contains(key); });
  takeFired(defined.begun, [](const std::string&) { return true; });
  if (version != nullptr) found.insert(found.end(), version->parts.begin(), version->parts.end());
  return found;
}

std::vector<std::string> EventDesk::unreadBehind(const Versions& versions) {
  const Defined defined(versions);
  std::vector<std::string> unread;
  std::set<std::string> seen(defined.order.begin(), defined.order.end());
  std::deque<std::string> todo(defined.order.begin(), defined.order.end());
  for (; !todo.empty(); todo.pop_front()) {
    for (std::string& key : begunBy(todo.front(), defined, &unread)) {
      if (seen.insert(key).second) todo.push_back(std::move(key));
    }
  }
  return unread;
}

std::optional<EventDesk::Circle> EventDesk::findCircle(const Versions& versions) {
  const Defined defined(versions);
  // A path into the depth, over all of them together: each flow is looked at once, however many
  // lead to it.
  struct Frame {
    std::string key;
    std::vector<std::string> begun;
    size_t next = 0;
  };
  std::vector<Frame> path;
  std::map<std::string, bool> on_path;  // False: all behind it was looked at.
  const auto enter = [&](const std::string& key) {
    on_path[key] = true;
    path.push_back({key, begunBy(key, defined, nullptr)});
  };
  for (const std::string& start : defined.order) {
    if (!on_path.contains(start)) enter(start);
    while (!path.empty()) {
      Frame& top = path.back();
      if (top.next == top.begun.size()) {
        on_path[top.key] = false;
        path.pop_back();
        continue;
      }
      const std::string to = top.begun[top.next++];
      const auto known = on_path.find(to);
      if (known == on_path.end()) {
        enter(to);
      } else if (known->second) {
        std::vector<std::string> circle;
        for (const Frame& frame : path) {
          if (frame.key == to || !circle.empty()) circle.push_back(frame.key);
        }
        if (auto found = circleOf(std::move(circle), versions, defined)) return found;
      }
    }
  }
  return std::nullopt;
}

std::optional<EventDesk::Circle> EventDesk::circleOf(std::vector<std::string> circle,
                                                     const Versions& versions,
                                                     const Defined& defined) {
  for (size_t i = 0; i < defined.order.size(); ++i) {
    const auto at = std::find(circle.begin(), circle.end(), defined.order[i]);
    if (at == circle.end()) continue;
    std::rotate(circle.begin(), at, circle.end());
    circle.push_back(defined.order[i]);
    const auto& trigger = versions[i]->spec.trigger;
    return Circle{
        i, Error::invalidArgument("a run of flow {} would begin the next one, for ever: {}",
                                  defined.order[i], fmt::format("{}", fmt::join(circle, " -> ")))
               .withField(trigger && !trigger->flow.empty() ? "trigger.event.flow" : "tasks")};
  }
  return std::nullopt;  // One further on, which is the business of the flows in it.
}

}  // namespace baton::master
