#include <algorithm>

#include "common/model/task_rules.h"
#include "flow/definition/reading.h"

namespace baton::flow {
namespace {

bool serves(const LabelMap& offered, const LabelMap& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& label) {
    const auto it = offered.find(label.first);
    return it != offered.end() && it->second == label.second;
  });
}

std::string labelsText(const LabelMap& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, value);
  }
  return truncateUtf8(text, 200);
}

}  // namespace

void checkOffers(Reading& reading) {
  const auto& offered = reading.surroundings.offered;
  if (!offered || offered->empty()) return;
  std::map<LabelMap, bool> known;  // Whether anybody serves it; most tasks ask for the same.
  const auto isServed = [&](const LabelMap& wanted) {
    const auto [it, first] = known.try_emplace(wanted, false);
    if (first) {
      it->second = std::any_of(offered->begin(), offered->end(),
                               [&](const LabelMap& labels) { return serves(labels, wanted); });
    }
    return it->second;
  };
  for (size_t i = 0; i < reading.flow.tasks.size() && !reading.issues.isFull(); ++i) {
    const TaskNode& task = reading.flow.tasks[i];
    if (!task.hasRunner()) continue;
    LabelMap wanted = task.policy.labels;
    const std::string kind = kindLabel(task.kind);
    if (!kind.empty()) wanted[kind] = kKindAnnounced;
    if (isServed(wanted)) continue;
    const bool of_kind = !kind.empty() && !isServed({{kind, std::string(kKindAnnounced)}});
    reading.issues.warning(
        reading.places[i].mark,
        fmt::format("tasks.{}.{}", truncateUtf8(task.name, 80), of_kind ? "kind" : "labels"),
        of_kind ? fmt::format("no worker that is known carries tasks of kind {}: it waits until "
                              "one does",
                              task.kind)
                : fmt::format("no runner that is known has {}: it waits until one does",
                              labelsText(task.policy.labels)));
  }
}

}  // namespace baton::flow
