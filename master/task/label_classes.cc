#include "master/task/label_classes.h"

#include <algorithm>

namespace baton::master {

LabelClasses::Signature LabelClasses::signatureOf(const LabelMap& wanted) {
  const auto [it, inserted] =
      by_wanted_.try_emplace(wanted, static_cast<Signature>(signatures_.size()));
  if (inserted) {
    signatures_.push_back(wanted);
    for (ClassId id = 0; id < classes_.size(); ++id) relate(it->second, id);
  }
  return it->second;
}

LabelClasses::ClassId LabelClasses::classOf(const LabelMap& offered) {
  const auto [it, inserted] =
      by_offered_.try_emplace(offered, static_cast<ClassId>(classes_.size()));
  if (inserted) {
    classes_.push_back(offered);
    fits_.emplace_back();
    served_.emplace_back();
    for (Signature signature = 0; signature < signatures_.size(); ++signature) {
      relate(signature, it->second);
    }
  }
  return it->second;
}

void LabelClasses::relate(Signature signature, ClassId runner_class) {
  const LabelMap& offered = classes_[runner_class];
  const LabelMap& wanted = signatures_[signature];
  const bool fit = std::all_of(wanted.begin(), wanted.end(), [&](const auto& label) {
    const auto it = offered.find(label.first);
    return it != offered.end() && it->second == label.second;
  });
  fits_[runner_class].push_back(fit);
  if (fit) served_[runner_class].push_back(signature);
}

}  // namespace baton::master
