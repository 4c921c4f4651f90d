#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "common/model/flow_records.h"
#include "flow/definition/placeholder.h"

namespace baton::master {

// The parameters of the project. Any thread; changed by recovery and on the dispatcher thread.
class ParamBook {
 public:
  // Deleted ones are kept for their version numbers.
  void put(ParamRecord record);
  // None: never heard of.
  std::optional<ParamRecord> find(const std::string& name) const;
  // Of those that are there; never null.
  std::shared_ptr<const flow::ParamMap> values() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, ParamRecord> params_;
  mutable std::shared_ptr<const flow::ParamMap> values_;  // Null: to be made anew.
};

}  // namespace baton::master
