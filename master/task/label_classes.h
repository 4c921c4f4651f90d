#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "common/model/task_spec.h"

namespace baton::master {

// Numbers the distinct label sets of tasks ("signatures": what a runner must have) and of runners
// ("classes": what it has), and knows which fits which. Sites have few of each, so matching a task
// to a runner is a look-up and not a comparison of maps. Sets are never forgotten.
// Dispatcher thread only.
class LabelClasses {
 public:
  using Signature = uint32_t;
  using ClassId = uint32_t;

  Signature signatureOf(const LabelMap& wanted);
  ClassId classOf(const LabelMap& offered);

  bool fits(Signature signature, ClassId runner_class) const {
    return fits_[runner_class][signature];
  }
  // The signatures that runners of this class can serve.
  const std::vector<Signature>& servedBy(ClassId runner_class) const {
    return served_[runner_class];
  }
  size_t signatureCount() const { return signatures_.size(); }
  size_t classCount() const { return classes_.size(); }
  const LabelMap& wanted(Signature signature) const { return signatures_[signature]; }
  const LabelMap& offered(ClassId runner_class) const { return classes_[runner_class]; }

 private:
  void relate(Signature signature, ClassId runner_class);

  std::vector<LabelMap> signatures_;
  std::vector<LabelMap> classes_;
  std::map<LabelMap, Signature> by_wanted_;
  std::map<LabelMap, ClassId> by_offered_;
  std::vector<std::vector<bool>> fits_;         // [class][signature]
  std::vector<std::vector<Signature>> served_;  // [class]
};

}  // namespace baton::master
