#include "dao/sql_writer.h"

#include "common/base/mutant.h"
#include "dao/sql_txn.h"

namespace baton::dao {
namespace {

// Lock waits of 1 s each until an in-doubt transaction has ended: the server ends one whose
// connection was lost after idle_transaction_timeout (5 s) at the latest.
constexpr int kInDoubtWaits = 8;

const BatchForm& batchMarkerForm() {
  static const BatchForm form{.kind = BatchForm::Kind::Upsert,
                              .noun = "batch marker of epoch",
                              .table = "batch",
                              .columns = {"epoch", "batch_id"}};
  return form;
}

}  // namespace

void SqlWriter::replaceSession(std::shared_ptr<SqlSession> session) {
  std::shared_ptr<SqlSession> old;  // Closes outside the lock.
  const std::lock_guard lock(mutex_);
  old = std::exchange(session_, std::move(session));
}

Status SqlWriter::openTransaction() {
  for (int round = 0;; ++round) {
    const bool reused = session_ != nullptr && !session_->broken();
    if (!reused) {
      replaceSession(nullptr);
      ASSIGN_OR_RETURN(std::unique_ptr<SqlSession> made, backend_->connect(SessionKind::Writer));
      row_bytes_max_.store(made->rowBytesMax(), std::memory_order_relaxed);
      replaceSession(std::move(made));
    }
    // The server would silently commit the open one.
    if (reused && !open_.expired()) {
      return Error::internal("a transaction of this writer is still open");
    }
    const Status status = session_->execute(backend_->beginWrite()).status();
    if (status.ok()) return {};
    // An idle connection that died meanwhile has cost nothing: nothing was sent over it yet.
    if (!session_->broken() || !reused || round > 0) return status;
  }
}

Status SqlWriter::fence(Epoch epoch, uint64_t batch) {
  std::string select = "SELECT epoch FROM ha_epoch WHERE id=1 AND epoch=?";
  select += backend_->shareLock();
  bool rules = mutant("dao_no_fence");
  RETURN_IF_ERROR(session_->query(select, {epoch}, [&](SqlRow&) {
    rules = true;
    return true;
  }));
  if (!rules) {
    return Error::make(ErrorCode::Fenced, "epoch {} does not rule in the database", epoch);
  }
  // Written first, so that whoever asks for it waits until this transaction has ended.
  const auto marker = session_->batch(batchMarkerForm());
  marker->natural(epoch).natural(batch);
  RETURN_IF_ERROR(marker->endRow({.id = epoch}));
  return marker->finish();
}

Result<std::unique_ptr<FencedTxn>> SqlWriter::begin(Epoch epoch, uint64_t batch) {
  RETURN_IF_ERROR(openTransaction());
  const auto open = std::make_shared<char>();
  open_ = open;
  auto txn = std::make_unique<SqlTxn>(session_, backend_->writeLock(),
                                      WriteMark{.epoch = epoch, .batch = batch}, open);
  if (Status status = fence(epoch, batch); !status.ok()) return status;  // txn rolls back.
  return std::unique_ptr<FencedTxn>(std::move(txn));
}

Result<uint64_t> SqlWriter::lastBatch(Epoch epoch) {
  RETURN_IF_ERROR(openTransaction());
  std::string select = "SELECT batch_id FROM batch WHERE epoch=?";
  select += backend_->writeLock();
  uint64_t last = 0;
  const Status status = session_->query(select, {epoch}, [&](SqlRow& row) {
    last = row.natural(0);
    return true;
  });
  if (!session_->broken()) (void)session_->execute("ROLLBACK");
  if (!status.ok()) return status;
  return last;
}

Result<bool> SqlWriter::wasCommitted(Epoch epoch, uint64_t batch) {
  // Ending the old connection is harmless to a commit that is under way (the marker's lock is held
  // until it is done) and ends a transaction that nobody will commit any more.
  const uint64_t old_id = session_ == nullptr ? 0 : session_->id();
  if (old_id != 0 && session_->broken()) {
    RETURN_IF_ERROR(backend_->endSession(old_id));
    replaceSession(nullptr);
  }
  for (int wait = 0;; ++wait) {
    const Result<uint64_t> last = lastBatch(epoch);
    if (last.ok()) return *last >= batch;
    if (last.error().code() != ErrorCode::Busy || wait + 1 == kInDoubtWaits) return last.error();
  }
}

void SqlWriter::interrupt() noexcept {
  std::shared_ptr<SqlSession> session;
  {
    const std::lock_guard lock(mutex_);
    session = session_;
  }
  if (session != nullptr) session->interrupt();
}

}  // namespace baton::dao
