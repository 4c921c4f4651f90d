#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "common/model/ids.h"
#include "common/model/task_status.h"
#include "master/task/label_classes.h"

namespace baton::master {

// The QUEUED tasks in picking order: priority (highest first), then age (queued_at), then id; one
// ordered set per signature and priority, so that tasks nobody can run now never stand in the way
// of others and a pick costs the same at ten tasks as at a million.
// Dispatcher thread only.
class ReadyQueue {
 public:
  struct Entry {
    int64_t queued_us = 0;
    TaskId id = 0;
    auto operator<=>(const Entry&) const = default;
  };

  // `classes` outlives this.
  explicit ReadyQueue(LabelClasses& classes) : classes_(classes) {}

  void add(LabelClasses::Signature signature, Priority priority, Entry entry);
  void remove(LabelClasses::Signature signature, Priority priority, Entry entry);

  // The first task in order that a runner of this class can run.
  struct Candidate {
    Entry entry;
    Priority priority = Priority::Normal;
    LabelClasses::Signature signature = 0;
    // True if this one is to be picked before `other`.
    bool before(const Candidate& other) const;
  };
  std::optional<Candidate> first(LabelClasses::ClassId runner_class) const;

  // Up to `count` entries of the candidate's own queue in order, itself included.
  std::vector<TaskId> ahead(const Candidate& candidate, size_t count) const;

  size_t size() const { return size_; }
  size_t sizeOf(LabelClasses::Signature signature) const;

 private:
  using Lane = std::set<Entry>;
  using Lanes = std::array<Lane, kPriorityCount>;

  LabelClasses& classes_;
  std::vector<Lanes> lanes_;                           // [signature][priority]
  std::array<size_t, kPriorityCount> per_priority_{};  // Skips empty priorities at once.
  size_t size_ = 0;
};

}  // namespace baton::master
