#include "master/flow/param_book.h"

namespace baton::master {

void ParamBook::put(ParamRecord record) {
  const std::lock_guard lock(mutex_);
  values_ = nullptr;
  params_.insert_or_assign(record.name, std::move(record));
}

std::optional<ParamRecord> ParamBook::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto it = params_.find(name);
  return it == params_.end() ? std::nullopt : std::optional(it->second);
}

std::shared_ptr<const flow::ParamMap> ParamBook::values() const {
  const std::lock_guard lock(mutex_);
  if (values_ != nullptr) return values_;
  auto values = std::make_shared<flow::ParamMap>();
  for (const auto& [name, param] : params_) {
    if (!param.deleted) values->emplace(name, param.value);
  }
  return values_ = std::move(values);
}

}  // namespace baton::master
