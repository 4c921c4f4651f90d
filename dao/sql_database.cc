#include "dao/sql_database.h"

#include "common/base/random.h"
#include "dao/schema/migrations.h"
#include "dao/sql_epoch_store.h"
#include "dao/sql_reader.h"
#include "dao/sql_writer.h"

namespace baton::dao {
namespace {

Error newerSchema(uint32_t version) {
  return Error::conflict(
      "the database has schema version {}, this program knows {}: run a newer baton", version,
      kSchemaVersion);
}

// All rows but specifications must always fit: outputs of 64 KB may be seven times as long in SQL.
Status checkRoom(const SqlSession& session) {
  constexpr size_t kPacketBytesMin = 1'048'576;
  if (session.rowBytesMax() + 1'024 >= kPacketBytesMin || session.rowBytesMax() == SIZE_MAX) {
    return {};
  }
  return Error::conflict("the database's max_allowed_packet is below the {} bytes that are needed",
                         kPacketBytesMin);
}

}  // namespace

Result<uint32_t> SqlDatabase::schemaVersion(SqlSession& session) {
  ASSIGN_OR_RETURN(const bool exists, backend_->hasTable(session, "schema_version"));
  uint32_t version = 0;
  if (!exists) return version;
  RETURN_IF_ERROR(session.query("SELECT MAX(version) FROM schema_version", {}, [&](SqlRow& row) {
    version = static_cast<uint32_t>(row.natural(0));
    return true;
  }));
  return version;
}

Status SqlDatabase::alone(const std::function<Status(SqlSession&)>& step) {
  ASSIGN_OR_RETURN(const auto session, backend_->connect(SessionKind::Schema));
  RETURN_IF_ERROR(backend_->lockSchema(*session));
  // The lock and an open transaction go with the session if a step fails.
  RETURN_IF_ERROR(session->execute(backend_->beginWrite()).status());
  RETURN_IF_ERROR(step(*session));
  RETURN_IF_ERROR(session->execute("COMMIT").status());
  return backend_->unlockSchema(*session);
}

Status SqlDatabase::applyMigrations(SqlSession& session) {
  ASSIGN_OR_RETURN(const uint32_t version, schemaVersion(session));
  if (version > kSchemaVersion) return newerSchema(version);
  RETURN_IF_ERROR(session
                      .execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT "
                               "NULL PRIMARY KEY, applied_at BIGINT NOT NULL)")
                      .status());
  for (uint32_t next = version + 1; next <= kSchemaVersion; ++next) {
    for (const std::string_view statement : backend_->migration(next)) {
      RETURN_IF_ERROR(session.execute(statement).status());
    }
    RETURN_IF_ERROR(session
                        .execute("INSERT INTO schema_version (version,applied_at) VALUES (?,?)",
                                 {int64_t{next}, toMicros(SystemClock().wallNow())})
                        .status());
  }
  return {};
}

Status SqlDatabase::migrate() {
  return alone([this](SqlSession& session) { return applyMigrations(session); });
}

Status SqlDatabase::checkSchema() {
  ASSIGN_OR_RETURN(const auto session, backend_->connect(SessionKind::Reader));
  ASSIGN_OR_RETURN(const uint32_t version, schemaVersion(*session));
  if (version > kSchemaVersion) return newerSchema(version);
  if (version == kSchemaVersion) return checkRoom(*session);
  if (version == 0) {
    return Error::conflict("the database has no baton schema: run `baton cluster init`");
  }
  return Error::conflict(
      "the database has schema version {}, this program needs {}: run `baton cluster init`",
      version, kSchemaVersion);
}

Result<ClusterRow> SqlDatabase::writeCluster(SqlSession& session, const ClusterInit& init) {
  Result<ClusterRow> stored = readClusterRow(session, backend_->writeLock());
  if (!stored.ok() && stored.error().code() != ErrorCode::NotFound) return stored;
  if (!stored.ok()) {
    ClusterRow row{.name = init.name,
                   .guid = init.guid.empty() ? makeUuid() : init.guid,
                   .heartbeat_ms = init.heartbeat_ms};
    RETURN_IF_ERROR(
        session
            .execute("INSERT INTO cluster (id,name,guid,heartbeat_ms) VALUES (1,?,?,?)",
                     {std::string_view(row.name), std::string_view(row.guid), row.heartbeat_ms})
            .status());
    stored = row;
  }
  if (stored->name != init.name) {
    return Error::conflict("the database belongs to cluster '{}', not '{}'", stored->name,
                           init.name);
  }
  Result<EpochRow> epoch = readEpochRow(session, backend_->writeLock());
  if (!epoch.ok() && epoch.error().code() != ErrorCode::Corrupt) return epoch.error();
  if (!epoch.ok()) {
    RETURN_IF_ERROR(session
                        .execute("INSERT INTO ha_epoch (id,epoch,cluster_guid) VALUES (1,0,?)",
                                 {std::string_view(stored->guid)})
                        .status());
    return stored;
  }
  if (!init.set_heartbeat || init.heartbeat_ms == stored->heartbeat_ms) return stored;
  stored->heartbeat_ms = init.heartbeat_ms;
  RETURN_IF_ERROR(
      session.execute("UPDATE cluster SET heartbeat_ms=? WHERE id=1", {init.heartbeat_ms})
          .status());
  return stored;
}

Result<ClusterRow> SqlDatabase::initCluster(const ClusterInit& init) {
  if (init.name.empty() || init.heartbeat_ms <= 0) {
    return Error::invalidArgument("a cluster needs a name and a heartbeat above 0 ms");
  }
  RETURN_IF_ERROR(migrate());
  ClusterRow row;
  RETURN_IF_ERROR(alone([&](SqlSession& session) -> Status {
    ASSIGN_OR_RETURN(row, writeCluster(session, init));
    return {};
  }));
  return row;
}

Result<std::vector<std::string>> SqlDatabase::durabilityWarnings() {
  return backend_->durabilityWarnings();
}

std::unique_ptr<Writer> SqlDatabase::makeWriter() { return std::make_unique<SqlWriter>(backend_); }
std::unique_ptr<Reader> SqlDatabase::makeReader() { return std::make_unique<SqlReader>(backend_); }
std::unique_ptr<EpochStore> SqlDatabase::makeEpochStore() {
  return std::make_unique<SqlEpochStore>(backend_);
}

}  // namespace baton::dao
