#include "master/task/label_classes.h"

#include <algorithm>

#include "common/base/status.h"

namespace baton::master {

LabelClasses::Sets::Taken LabelClasses::Sets::take(const LabelMap& labels) {
  const auto [it, is_new] = by_labels_.try_emplace(labels, 0);
  if (is_new) {
    if (free_.empty()) {
      free_.push_back(static_cast<uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    it->second = free_.back();
    free_.pop_back();
    slots_[it->second].labels = labels;
  }
  ++slots_[it->second].users;
  return {it->second, is_new};
}

bool LabelClasses::Sets::drop(uint32_t number) {
  Slot& slot = slots_[number];
  CHECK(slot.users > 0);
  if (--slot.users > 0) return false;
  by_labels_.erase(slot.labels);
  slot.labels.clear();
  free_.push_back(number);
  return true;
}

LabelClasses::Signature LabelClasses::signatureOf(const LabelMap& wanted) {
  const auto [signature, is_new] = signatures_.take(wanted);
  if (is_new) {
    for (ClassId id = 0; id < classes_.limit(); ++id) relate(signature, id);
  }
  return signature;
}

LabelClasses::ClassId LabelClasses::classOf(const LabelMap& offered) {
  const auto [id, is_new] = classes_.take(offered);
  if (is_new) {
    fits_.resize(classes_.limit());
    served_.resize(classes_.limit());
    for (Signature signature = 0; signature < signatures_.limit(); ++signature) {
      relate(signature, id);
    }
  }
  return id;
}

void LabelClasses::dropSignature(Signature signature) {
  if (!signatures_.drop(signature)) return;
  for (ClassId id = 0; id < classes_.limit(); ++id) relate(signature, id);
}

void LabelClasses::dropClass(ClassId runner_class) {
  if (!classes_.drop(runner_class)) return;
  fits_[runner_class].assign(signatures_.limit(), false);
  served_[runner_class].clear();
}

std::vector<LabelMap> LabelClasses::offered() const {
  std::vector<LabelMap> all;
  for (ClassId id = 0; id < classes_.limit(); ++id) {
    if (classes_.inUse(id)) all.push_back(classes_.labels(id));
  }
  return all;
}

void LabelClasses::relate(Signature signature, ClassId runner_class) {
  const LabelMap& offered = classes_.labels(runner_class);
  const LabelMap& wanted = signatures_.labels(signature);
  const bool fit = signatures_.inUse(signature) && classes_.inUse(runner_class) &&
                   std::all_of(wanted.begin(), wanted.end(), [&](const auto& label) {
                     const auto it = offered.find(label.first);
                     return it != offered.end() && it->second == label.second;
                   });
  if (fits_[runner_class].size() < signatures_.limit()) {
    fits_[runner_class].resize(signatures_.limit());
  }
  fits_[runner_class][signature] = fit;
  auto& served = served_[runner_class];
  const auto at = std::lower_bound(served.begin(), served.end(), signature);
  const bool is_in = at != served.end() && *at == signature;
  if (fit && !is_in) served.insert(at, signature);
  if (!fit && is_in) served.erase(at);
}

}  // namespace baton::master
