#include "dao/sql_epoch_store.h"

#include <thread>

#include "common/base/mutant.h"

namespace baton::dao {
namespace {

constexpr int kBumpTries = 20;
constexpr Millis kBumpPause{25};
// For databases that wait by themselves before they say that a row is locked.
constexpr Millis kBumpTimeMax{1'000};

WallTime now() { return SystemClock().wallNow(); }

Error fencedBy(const EpochRow& row, uint64_t wanted) {
  return Error::make(ErrorCode::Fenced, "epoch row names epoch {} of node '{}'; {} was asked for",
                     row.epoch, row.node_id, wanted);
}

}  // namespace

Result<ClusterRow> readClusterRow(SqlSession& session, std::string_view lock) {
  std::string sql = "SELECT name,guid,heartbeat_ms FROM cluster WHERE id=1";
  sql += lock;
  std::optional<ClusterRow> found;
  RETURN_IF_ERROR(session.query(sql, {}, [&](SqlRow& row) {
    found = ClusterRow{.name = std::string(row.text(0)),
                       .guid = std::string(row.text(1)),
                       .heartbeat_ms = row.integer(2)};
    return true;
  }));
  if (!found) {
    return Error::notFound("the database names no cluster: `baton cluster init` has not run");
  }
  return *std::move(found);
}

Result<EpochRow> readEpochRow(SqlSession& session, std::string_view lock) {
  std::string sql =
      "SELECT epoch,node_id,incarnation,cluster_guid,state,address,acquired_at FROM ha_epoch "
      "WHERE id=1";
  sql += lock;
  std::optional<EpochRow> found;
  RETURN_IF_ERROR(session.query(sql, {}, [&](SqlRow& row) {
    found = EpochRow{.epoch = row.natural(0),
                     .node_id = std::string(row.text(1)),
                     .incarnation = std::string(row.text(2)),
                     .cluster_guid = std::string(row.text(3)),
                     .state = static_cast<EpochState>(row.integer(4)),
                     .address = std::string(row.text(5)),
                     .acquired_at = wallFromMicros(row.integer(6))};
    return true;
  }));
  if (!found) return Error::make(ErrorCode::Corrupt, "table ha_epoch has no row");
  if (found->state > EpochState::Released) {
    return Error::make(ErrorCode::Corrupt, "the epoch row's state {} is unknown",
                       static_cast<int>(found->state));
  }
  return *std::move(found);
}

Status SqlEpochStore::connect() {
  if (session_ != nullptr && !session_->broken() && session_->alive()) return {};
  session_.reset();
  ASSIGN_OR_RETURN(session_, backend_->connect(SessionKind::Epoch));
  return {};
}

Status SqlEpochStore::inTransaction(const std::function<Status()>& step) {
  RETURN_IF_ERROR(session_->execute(backend_->beginWrite()).status());
  Status status = step();
  if (status.ok()) status = session_->execute("COMMIT").status();
  if (!status.ok() && !session_->broken()) (void)session_->execute("ROLLBACK");
  return status;
}

Result<EpochRow> SqlEpochStore::readRow(std::string_view lock) {
  return readEpochRow(*session_, lock);
}

Result<ClusterRow> SqlEpochStore::readCluster() {
  RETURN_IF_ERROR(connect());
  return readClusterRow(*session_, {});
}

Result<EpochRow> SqlEpochStore::read() {
  RETURN_IF_ERROR(connect());
  return readRow(backend_->shareLock());
}

Status SqlEpochStore::writeClaim(const EpochClaim& claim) {
  const int64_t at = toMicros(now());
  ASSIGN_OR_RETURN(
      const uint64_t changed,
      session_->execute(
          "UPDATE ha_epoch SET epoch=?,node_id=?,incarnation=?,state=?,address=?,"
          "acquired_at=? WHERE id=1 AND epoch<?",
          {claim.epoch, std::string_view(claim.node_id), std::string_view(claim.incarnation),
           static_cast<int64_t>(EpochState::Recovering), std::string_view(claim.address), at,
           claim.epoch}));
  if (changed != 1) {
    return Error::make(ErrorCode::Fenced, "the epoch row did not take epoch {}", claim.epoch);
  }
  return session_
      ->execute(
          "INSERT INTO ha_epoch_log (epoch,prev_epoch,node_id,incarnation,address,reason,"
          "lock_czxid,bumped_at) VALUES (?,?,?,?,?,?,?,?)",
          {claim.epoch, claim.prev_epoch, std::string_view(claim.node_id),
           std::string_view(claim.incarnation), std::string_view(claim.address),
           std::string_view(claim.reason), claim.lock_czxid, at})
      .status();
}

Status SqlEpochStore::settle(const EpochClaim& claim, Status lost) {
  if (lost.error().code() != ErrorCode::Unavailable) return lost;
  if (!connect().ok()) return lost;
  const Result<EpochRow> row = readRow(backend_->shareLock());
  const bool ours = row.ok() && row->epoch == claim.epoch &&
                    row->incarnation == claim.incarnation && row->node_id == claim.node_id;
  return ours ? Status() : lost;
}

Status SqlEpochStore::tryBump(const EpochClaim& claim) {
  return inTransaction([&]() -> Status {
    ASSIGN_OR_RETURN(const EpochRow row, readRow(backend_->writeLockNoWait()));
    if (row.epoch >= claim.epoch) return fencedBy(row, claim.epoch);
    return writeClaim(claim);
  });
}

Status SqlEpochStore::bump(const EpochClaim& claim) {
  RETURN_IF_ERROR(connect());
  const bool kill = !mutant("dao_bump_kills_nobody");
  const BootTime start = SystemClock().bootNow();
  Status status;
  for (int round = 0; round < kBumpTries; ++round) {
    if (round > 0) std::this_thread::sleep_for(kBumpPause);
    if (kill) RETURN_IF_ERROR(backend_->endOtherWriters(*session_));
    status = tryBump(claim);
    if (status.ok() || status.error().code() != ErrorCode::Busy) break;
    if (SystemClock().bootNow() - start >= kBumpTimeMax) break;
  }
  return status.ok() ? status : settle(claim, status);
}

Status SqlEpochStore::reaffirm(const EpochClaim& claim) {
  RETURN_IF_ERROR(connect());
  const Status status = inTransaction([&]() -> Status {
    ASSIGN_OR_RETURN(const EpochRow row, readRow(backend_->writeLock()));
    if (row.epoch != claim.prev_epoch || claim.epoch <= row.epoch) {
      return fencedBy(row, claim.prev_epoch);
    }
    return writeClaim(claim);
  });
  return status.ok() ? status : settle(claim, status);
}

Status SqlEpochStore::setState(uint64_t epoch, EpochState state) {
  RETURN_IF_ERROR(connect());
  return inTransaction([&]() -> Status {
    ASSIGN_OR_RETURN(const EpochRow row, readRow(backend_->writeLock()));
    if (row.epoch != epoch) return fencedBy(row, epoch);
    RETURN_IF_ERROR(
        session_->execute("UPDATE ha_epoch SET state=? WHERE id=1", {static_cast<int64_t>(state)})
            .status());
    if (state != EpochState::Released) return {};
    return session_
        ->execute("UPDATE ha_epoch_log SET released_at=? WHERE epoch=?", {toMicros(now()), epoch})
        .status();
  });
}

Status SqlEpochStore::recordTakeover(const EpochLogRow& phases) {
  RETURN_IF_ERROR(connect());
  return inTransaction([&]() -> Status {
    bool found = false;
    std::string select = "SELECT epoch FROM ha_epoch_log WHERE epoch=?";
    select += backend_->writeLock();
    RETURN_IF_ERROR(session_->query(select, {phases.epoch}, [&](SqlRow&) {
      found = true;
      return true;
    }));
    if (!found) return Error::notFound("epoch {} has no line in the history", phases.epoch);
    return session_
        ->execute(
            "UPDATE ha_epoch_log SET detect_ms=?,lock_ms=?,bump_ms=?,load_ms=?,active_ms=?,"
            "tasks_loaded=?,attempts_in_doubt=? WHERE epoch=?",
            {phases.detect_ms, phases.lock_ms, phases.bump_ms, phases.load_ms, phases.active_ms,
             phases.tasks_loaded, phases.attempts_in_doubt, phases.epoch})
        .status();
  });
}

Result<std::vector<EpochLogRow>> SqlEpochStore::history(uint32_t limit) {
  RETURN_IF_ERROR(connect());
  std::vector<EpochLogRow> rows;
  RETURN_IF_ERROR(session_->query(
      "SELECT epoch,prev_epoch,node_id,incarnation,reason,bumped_at,released_at,detect_ms,lock_ms,"
      "bump_ms,load_ms,active_ms,tasks_loaded,attempts_in_doubt FROM ha_epoch_log "
      "ORDER BY epoch DESC LIMIT ?",
      {int64_t{limit}}, [&](SqlRow& row) {
        rows.push_back(EpochLogRow{.epoch = row.natural(0),
                                   .prev_epoch = row.natural(1),
                                   .node_id = std::string(row.text(2)),
                                   .incarnation = std::string(row.text(3)),
                                   .reason = std::string(row.text(4)),
                                   .bumped_at = wallFromMicros(row.integer(5)),
                                   .released_at = wallFromMicros(row.integer(6)),
                                   .detect_ms = row.integer(7),
                                   .lock_ms = row.integer(8),
                                   .bump_ms = row.integer(9),
                                   .load_ms = row.integer(10),
                                   .active_ms = row.integer(11),
                                   .tasks_loaded = row.integer(12),
                                   .attempts_in_doubt = row.integer(13)});
        return true;
      }));
  return rows;
}

}  // namespace baton::dao
