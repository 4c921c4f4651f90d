#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/fake_host_rows.h"

namespace baton::test {

using FakeLimitTable = std::map<std::pair<LimitKind, std::string>, LimitRecord>;

// What a transaction changes in the table of limits, in order.
class FakeLimitChanges {
 public:
  Status store(std::span<const LimitRecord> rows) {
    for (const LimitRecord& row : rows) changes_.emplace_back(row, true);
    return {};
  }
  Status remove(LimitKind kind, std::string_view name) {
    changes_.emplace_back(LimitRecord{.kind = kind, .name = std::string(name)}, false);
    return {};
  }
  std::vector<LimitRecord> stored() const {
    std::vector<LimitRecord> rows;
    for (const auto& [row, kept] : changes_) {
      if (kept) rows.push_back(row);
    }
    return rows;
  }
  void applyTo(FakeLimitTable& table) const {
    for (const auto& [row, kept] : changes_) {
      table.erase({row.kind, row.name});
      if (kept) table.emplace(std::pair(row.kind, row.name), row);
    }
  }

 private:
  std::vector<std::pair<LimitRecord, bool>> changes_;  // False: taken away.
};

// The limit part of a transaction: gathers rows.
class FakeLimitTxn : public FakeHostTxn {
 public:
  Status storeLimits(std::span<const LimitRecord> rows) override {
    return limit_changes_.store(rows);
  }
  Status removeLimit(LimitKind kind, std::string_view name) override {
    return limit_changes_.remove(kind, name);
  }

 protected:
  FakeLimitChanges limit_changes_;
};

}  // namespace baton::test
