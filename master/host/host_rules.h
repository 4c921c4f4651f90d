#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/model/host_records.h"
#include "common/model/task_spec.h"

namespace baton::master {

// Why the rules keep a worker from getting new tasks. What runs there is never touched.
enum class HostBar : uint8_t { None, Excluded, Drained, Unapproved, Outdated };

struct HostVerdict {
  HostBar bar = HostBar::None;
  std::string why;     // For people: "is drained: disk is swapped"; empty without a bar.
  std::string reason;  // What the operator said, also without a bar.
};

// What operators said of hosts, and the cluster's switches about them, as the database has them.
// Pure. Dispatcher thread only.
class HostRules {
 public:
  void store(HostRecord record);
  void forget(const std::string& name) { by_name_.erase(name); }
  // Takes a setting over if it is one about hosts.
  void store(const SettingRecord& setting);

  const HostRecord* find(const std::string& name) const;
  const std::map<std::string, HostRecord>& all() const { return by_name_; }
  bool whiteList() const { return white_list_; }
  const std::string& minVersion() const { return min_version_; }

  // The verdict about a worker from the words about its id and its host. Exclude is stronger than
  // drain, and both are stronger than include.
  HostVerdict judge(const std::string& worker_id, const std::string& host,
                    const std::string& version) const;
  // Labels set by operators; those of the worker's id are stronger than those of its host.
  LabelMap labelsOf(const std::string& worker_id, const std::string& host) const;

 private:
  std::map<std::string, HostRecord> by_name_;
  bool white_list_ = false;
  std::string min_version_;  // Empty: any.
};

}  // namespace baton::master
