#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "dao/fenced_txn.h"
#include "dao/sql_session.h"

namespace baton::dao {

// Writer over any backend.
class SqlWriter final : public Writer {
 public:
  explicit SqlWriter(std::shared_ptr<SqlBackend> backend) : backend_(std::move(backend)) {}

  Result<std::unique_ptr<FencedTxn>> begin(Epoch epoch, uint64_t batch) override;
  Result<bool> wasCommitted(Epoch epoch, uint64_t batch) override;
  void interrupt() noexcept override;
  size_t rowBytesMax() const override { return row_bytes_max_.load(std::memory_order_relaxed); }

 private:
  // Opens a transaction on a working session, over a new connection if the old one was lost.
  Status openTransaction();
  // Inside the transaction: proves that the epoch rules and writes the batch marker.
  Status fence(Epoch epoch, uint64_t batch);
  // The stored number of the epoch's newest batch, read behind its lock; 0: none.
  Result<uint64_t> lastBatch(Epoch epoch);
  void replaceSession(std::shared_ptr<SqlSession> session);

  const std::shared_ptr<SqlBackend> backend_;
  std::mutex mutex_;
  std::shared_ptr<SqlSession> session_;  // Guarded by mutex_ against interrupt().
  std::atomic<size_t> row_bytes_max_{SIZE_MAX};
  std::weak_ptr<void> open_;  // Alive while a transaction is open on session_.
};

}  // namespace baton::dao
