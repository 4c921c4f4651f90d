#pragma once

#include <string>

#include "dao/sql_session.h"

namespace baton::dao {

// A SQLite file: write-ahead log, every commit synced, writers one at a time by BEGIN IMMEDIATE.
class SqliteBackend final : public SqlBackend {
 public:
  explicit SqliteBackend(std::string path) : path_(std::move(path)) {}

  Result<std::unique_ptr<SqlSession>> connect(SessionKind kind) override;
  std::string_view beginWrite() const override { return "BEGIN IMMEDIATE"; }
  std::string_view beginSnapshot() const override { return "BEGIN"; }
  std::string_view inKeyOrder() const override { return " NOT INDEXED"; }
  std::string_view joinInOrder() const override { return " CROSS JOIN "; }
  std::string_view shareLock() const override { return {}; }
  std::string_view writeLock() const override { return {}; }
  std::string_view writeLockNoWait() const override { return {}; }

  // BEGIN IMMEDIATE serialises schema changes.
  Status lockSchema(SqlSession&) override { return {}; }
  Status unlockSchema(SqlSession&) override { return {}; }
  Result<bool> hasTable(SqlSession& session, std::string_view table) override;
  std::span<const std::string_view> migration(uint32_t version) const override;

  // Writers of a file can't be ended from outside; a takeover waits for them.
  Status endOtherWriters(SqlSession&) override { return {}; }
  Status endSession(uint64_t) override { return {}; }
  // Always synced: nothing to warn of.
  Result<std::vector<std::string>> durabilityWarnings() override {
    return std::vector<std::string>{};
  }

 private:
  const std::string path_;
};

}  // namespace baton::dao
