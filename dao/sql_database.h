#pragma once

#include <memory>

#include "dao/database.h"
#include "dao/sql_session.h"

namespace baton::dao {

// Database over any backend.
class SqlDatabase final : public Database {
 public:
  explicit SqlDatabase(std::shared_ptr<SqlBackend> backend) : backend_(std::move(backend)) {}

  Status migrate() override;
  Status checkSchema() override;
  Result<ClusterRow> initCluster(const ClusterInit& init) override;
  Result<std::vector<std::string>> durabilityWarnings() override;

  std::unique_ptr<Writer> makeWriter() override;
  std::unique_ptr<Reader> makeReader() override;
  std::unique_ptr<EpochStore> makeEpochStore() override;

 private:
  // 0: no schema yet.
  Result<uint32_t> schemaVersion(SqlSession& session);
  Status applyMigrations(SqlSession& session);
  Result<ClusterRow> writeCluster(SqlSession& session, const ClusterInit& init);
  // Runs `step` in a transaction on a schema session, alone among all programs.
  Status alone(const std::function<Status(SqlSession&)>& step);

  const std::shared_ptr<SqlBackend> backend_;
};

}  // namespace baton::dao
