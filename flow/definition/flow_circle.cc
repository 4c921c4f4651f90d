#include "flow/definition/flow_circle.h"

#include <algorithm>
#include <map>

#include "common/model/ids.h"

namespace baton::flow {
namespace {

// A run of `flow` begins one of `other`.
bool begins(const FlowSpec& flow, const FlowSpec& other) {
  const std::string key = nameKey(other.name);
  const bool within = std::any_of(flow.tasks.begin(), flow.tasks.end(), [&](const TaskNode& task) {
    return task.kind == "flow" && nameKey(task.flow) == key;
  });
  if (within) return true;
  const auto& trigger = other.trigger;
  if (!trigger || nameKey(trigger->flow) != nameKey(flow.name)) return false;
  return trigger->task.empty() || flow.find(trigger->task) != nullptr;
}

}  // namespace

std::string beginningCircle(const std::vector<const FlowSpec*>& flows) {
  enum class Seen : uint8_t { No, OnPath, Done };
  std::vector<std::vector<size_t>> next(flows.size());
  for (size_t i = 0; i < flows.size(); ++i) {
    for (size_t j = 0; j < flows.size(); ++j) {
      if (begins(*flows[i], *flows[j])) next[i].push_back(j);
    }
  }
  std::vector<Seen> seen(flows.size(), Seen::No);
  struct Step {
    size_t flow;
    size_t tried = 0;  // Of what it begins.
  };
  for (size_t start = 0; start < flows.size(); ++start) {
    if (seen[start] != Seen::No) continue;
    std::vector<Step> path{{start}};
    seen[start] = Seen::OnPath;
    while (!path.empty()) {
      Step& at = path.back();
      if (at.tried == next[at.flow].size()) {
        seen[at.flow] = Seen::Done;
        path.pop_back();
        continue;
      }
      const size_t to = next[at.flow][at.tried++];
      if (seen[to] == Seen::OnPath) {
        std::string text;
        bool inside = false;
        for (const Step& step : path) {
          inside = inside || step.flow == to;
          if (inside) text += flows[step.flow]->name + " -> ";
        }
        return text + flows[to]->name;
      }
      if (seen[to] == Seen::Done) continue;
      seen[to] = Seen::OnPath;
      path.push_back({to});
    }
  }
  return {};
}

}  // namespace baton::flow
