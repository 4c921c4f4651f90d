#pragma once

#include "dao/database.h"
#include "dao/sql_session.h"

namespace baton::dao {

// A MariaDB or MySQL server.
class MysqlBackend final : public SqlBackend {
 public:
  explicit MysqlBackend(const DatabaseOptions& options) : options_(options) {}

  Result<std::unique_ptr<SqlSession>> connect(SessionKind kind) override;
  std::string_view beginWrite() const override { return "START TRANSACTION"; }
  std::string_view beginSnapshot() const override {
    return "START TRANSACTION WITH CONSISTENT SNAPSHOT";
  }
  std::string_view inKeyOrder() const override { return " FORCE INDEX(PRIMARY)"; }
  std::string_view joinInOrder() const override { return " STRAIGHT_JOIN "; }
  std::string_view shareLock() const override { return " LOCK IN SHARE MODE"; }
  std::string_view writeLock() const override { return " FOR UPDATE"; }
  std::string_view writeLockNoWait() const override { return " FOR UPDATE NOWAIT"; }

  Status lockSchema(SqlSession& session) override;
  Status unlockSchema(SqlSession& session) override;
  Result<bool> hasTable(SqlSession& session, std::string_view table) override;
  std::span<const std::string_view> migration(uint32_t version) const override;

  Status endOtherWriters(SqlSession& mine) override;
  Status endSession(uint64_t id) override;
  Result<std::vector<std::string>> durabilityWarnings() override;

 private:
  const DatabaseOptions options_;
};

}  // namespace baton::dao
