#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/model/task_spec.h"

namespace baton::master {

// Numbers the distinct label sets of tasks ("signatures": what a runner must have) and of runners
// ("classes": what it has), and knows which fits which. Sites have few of each, so matching a task
// to a runner is a look-up and not a comparison of maps. A set is known as long as somebody uses
// it; then its number may be given to another. Dispatcher thread only.
class LabelClasses {
 public:
  using Signature = uint32_t;
  using ClassId = uint32_t;

  // The number of a set, which has one user more: each call is matched by one of drop….
  Signature signatureOf(const LabelMap& wanted);
  ClassId classOf(const LabelMap& offered);
  void dropSignature(Signature signature);
  void dropClass(ClassId runner_class);

  // False for a number that is not in use.
  bool fits(Signature signature, ClassId runner_class) const {
    return fits_[runner_class][signature];
  }
  // The signatures that runners of this class can serve, in rising order.
  const std::vector<Signature>& servedBy(ClassId runner_class) const {
    return served_[runner_class];
  }
  // What runners have, each set once.
  std::vector<LabelMap> offered() const;
  // Sets in use.
  size_t signatureCount() const { return signatures_.used(); }
  size_t classCount() const { return classes_.used(); }
  // Above every number that is in use.
  size_t signatureLimit() const { return signatures_.limit(); }
  size_t classLimit() const { return classes_.limit(); }
  const LabelMap& wanted(Signature signature) const { return signatures_.labels(signature); }

 private:
  // Label sets by number, with their users.
  class Sets {
   public:
    struct Taken {
      uint32_t number;
      bool is_new;
    };
    Taken take(const LabelMap& labels);
    // True if nobody uses it any more.
    bool drop(uint32_t number);
    bool inUse(uint32_t number) const { return slots_[number].users > 0; }
    const LabelMap& labels(uint32_t number) const { return slots_[number].labels; }
    size_t used() const { return by_labels_.size(); }
    size_t limit() const { return slots_.size(); }

   private:
    struct Slot {
      LabelMap labels;
      uint32_t users = 0;
    };
    std::vector<Slot> slots_;
    std::vector<uint32_t> free_;
    std::map<LabelMap, uint32_t> by_labels_;
  };

  void relate(Signature signature, ClassId runner_class);

  Sets signatures_;
  Sets classes_;
  std::vector<std::vector<bool>> fits_;         // [class][signature]
  std::vector<std::vector<Signature>> served_;  // [class]
};

}  // namespace baton::master
