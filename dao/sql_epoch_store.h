#pragma once

#include <functional>
#include <memory>

#include "dao/epoch_store.h"
#include "dao/sql_session.h"

namespace baton::dao {

// EpochStore over any backend.
class SqlEpochStore final : public EpochStore {
 public:
  explicit SqlEpochStore(std::shared_ptr<SqlBackend> backend) : backend_(std::move(backend)) {}

  Result<ClusterRow> readCluster() override;
  Result<EpochRow> read() override;
  Status bump(const EpochClaim& claim) override;
  Status reaffirm(const EpochClaim& claim) override;
  Status setState(uint64_t epoch, EpochState state) override;
  Status recordTakeover(const EpochLogRow& phases) override;
  Result<std::vector<EpochLogRow>> history(uint32_t limit) override;

 private:
  // Makes the session anew if it is lost.
  Status connect();
  // Runs `step` in a transaction: commits if it succeeds, else rolls back.
  Status inTransaction(const std::function<Status()>& step);
  // The row, read with a lock (a suffix of SELECT).
  Result<EpochRow> readRow(std::string_view lock);
  // Inside a transaction that holds the row: writes it and the line of history.
  Status writeClaim(const EpochClaim& claim);
  Status tryBump(const EpochClaim& claim);
  // After a commit without an answer: success if the claim is in the database.
  Status settle(const EpochClaim& claim, Status lost);

  const std::shared_ptr<SqlBackend> backend_;
  std::unique_ptr<SqlSession> session_;
};

// Reads the cluster row on an open session. Errors: NotFound.
Result<ClusterRow> readClusterRow(SqlSession& session, std::string_view lock);
// Reads the epoch row on an open session. Errors: Corrupt (no row).
Result<EpochRow> readEpochRow(SqlSession& session, std::string_view lock);

}  // namespace baton::dao
