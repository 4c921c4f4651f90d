#include "master/task/ready_queue.h"

#include "common/base/status.h"

namespace baton::master {

void ReadyQueue::add(LabelClasses::Signature signature, Priority priority, Entry entry) {
  if (lanes_.size() <= signature) lanes_.resize(signature + 1);
  Lane& lane = lanes_[signature][static_cast<size_t>(priority)];
  // Most tasks are the youngest of their lane.
  const size_t before = lane.size();
  lane.emplace_hint(lane.end(), entry);
  CHECK(lane.size() == before + 1);
  ++per_priority_[static_cast<size_t>(priority)];
  ++size_;
}

void ReadyQueue::remove(LabelClasses::Signature signature, Priority priority, Entry entry) {
  CHECK(signature < lanes_.size());
  CHECK(lanes_[signature][static_cast<size_t>(priority)].erase(entry) == 1);
  --per_priority_[static_cast<size_t>(priority)];
  --size_;
}

bool ReadyQueue::Candidate::before(const Candidate& other) const {
  if (priority != other.priority) return priority > other.priority;
  return entry < other.entry;
}

std::optional<ReadyQueue::Candidate> ReadyQueue::first(LabelClasses::ClassId runner_class) const {
  for (size_t level = kPriorityCount; level-- > 0;) {
    if (per_priority_[level] == 0) continue;
    std::optional<Candidate> best;
    for (const LabelClasses::Signature signature : classes_.servedBy(runner_class)) {
      if (signature >= lanes_.size()) continue;
      const Lane& lane = lanes_[signature][level];
      if (lane.empty()) continue;
      if (!best || *lane.begin() < best->entry) {
        best = Candidate{*lane.begin(), static_cast<Priority>(level), signature};
      }
    }
    if (best) return best;
  }
  return std::nullopt;
}

std::vector<TaskId> ReadyQueue::ahead(const Candidate& candidate, size_t count) const {
  const Lane& lane = lanes_[candidate.signature][static_cast<size_t>(candidate.priority)];
  std::vector<TaskId> ids;
  for (auto it = lane.find(candidate.entry); it != lane.end() && ids.size() < count; ++it) {
    ids.push_back(it->id);
  }
  return ids;
}

size_t ReadyQueue::sizeOf(LabelClasses::Signature signature) const {
  size_t total = 0;
  if (signature < lanes_.size()) {
    for (const Lane& lane : lanes_[signature]) total += lane.size();
  }
  return total;
}

}  // namespace baton::master
