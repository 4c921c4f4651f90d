#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/model/host_records.h"
#include "common/model/records.h"
#include "tests/support/fake_flow_tables.h"

namespace baton::test {

// The tables of hosts and settings of a FakeDatabase.
struct FakeHostRows {
  std::map<std::string, HostRecord> hosts;
  std::map<std::string, SettingRecord> settings;
};

// What one transaction does to them, and which runners it forgets.
struct FakeHostChanges {
  std::vector<HostRecord> hosts;
  std::vector<SettingRecord> settings;
  std::vector<std::string> gone_hosts;
  std::vector<std::string> gone_runners;
};

// Deletions were asked for first, as the state writer does.
inline void applyChanges(FakeHostRows& rows, std::map<std::string, RunnerRecord>& runners,
                         FakeHostChanges& changes) {
  for (const std::string& id : changes.gone_runners) runners.erase(id);
  for (const std::string& name : changes.gone_hosts) rows.hosts.erase(name);
  for (HostRecord& row : changes.hosts) rows.hosts[row.name] = row;
  for (SettingRecord& row : changes.settings) rows.settings[row.name] = row;
}

// The host part of a transaction: gathers rows.
class FakeHostTxn : public FakeFlowTxn {
 public:
  Status storeHosts(std::span<const HostRecord> rows) override {
    return gather(host_changes_.hosts, rows);
  }
  Status storeSettings(std::span<const SettingRecord> rows) override {
    return gather(host_changes_.settings, rows);
  }
  Status forgetHosts(std::span<const std::string> names) override {
    return gather(host_changes_.gone_hosts, names);
  }
  Status forgetRunners(std::span<const std::string> ids) override {
    return gather(host_changes_.gone_runners, ids);
  }

 protected:
  FakeHostChanges host_changes_;
};

template <typename Key, typename Row>
std::vector<Row> rowsOf(const std::map<Key, Row>& table) {
  std::vector<Row> rows;
  for (const auto& [key, row] : table) rows.push_back(row);
  return rows;
}

}  // namespace baton::test
