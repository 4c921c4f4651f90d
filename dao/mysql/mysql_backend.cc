#include "dao/mysql/mysql_backend.h"

#include "dao/mysql/mysql_session.h"
#include "dao/schema/migrations.h"

namespace baton::dao {

Result<std::unique_ptr<SqlSession>> MysqlBackend::connect(SessionKind kind) {
  return MysqlSession::open(options_, kind);
}

Status MysqlBackend::lockSchema(SqlSession& session) {
  int64_t locked = 0;
  RETURN_IF_ERROR(session.query("SELECT GET_LOCK(CONCAT('baton_schema_',DATABASE()),30)", {},
                                [&locked](SqlRow& row) {
                                  locked = row.integer(0);
                                  return true;
                                }));
  if (locked == 1) return {};
  return Error::make(ErrorCode::Busy, "another program is changing the schema of '{}'",
                     options_.name);
}

Status MysqlBackend::unlockSchema(SqlSession& session) {
  return session.query("SELECT RELEASE_LOCK(CONCAT('baton_schema_',DATABASE()))", {},
                       [](SqlRow&) { return true; });
}

Result<bool> MysqlBackend::hasTable(SqlSession& session, std::string_view table) {
  bool found = false;
  RETURN_IF_ERROR(session.query(
      "SELECT 1 FROM information_schema.tables WHERE table_schema=DATABASE() AND table_name=?",
      {table}, [&found](SqlRow&) {
        found = true;
        return true;
      }));
  return found;
}

std::span<const std::string_view> MysqlBackend::migration(uint32_t version) const {
  return mysqlMigration(version);
}

Status MysqlBackend::endOtherWriters(SqlSession& mine) {
  // Without the right PROCESS the list shows the user's own connections alone; with it, the
  // condition on the user still holds.
  std::vector<uint64_t> others;
  RETURN_IF_ERROR(mine.query(
      "SELECT id FROM information_schema.processlist WHERE user=? AND id<>CONNECTION_ID()",
      {std::string_view(options_.user)}, [&others](SqlRow& row) {
        others.push_back(row.natural(0));
        return true;
      }));
  for (const uint64_t id : others) {
    const auto killed = mine.execute("KILL CONNECTION ?", {id});
    // One that has gone meanwhile (1094) is as good as killed.
    if (!killed.ok() && mine.broken()) return killed.error();
  }
  return {};
}

Status MysqlBackend::endSession(uint64_t id) { return MysqlSession::endSession(options_, id); }

Result<std::vector<std::string>> MysqlBackend::durabilityWarnings() {
  ASSIGN_OR_RETURN(const auto session, connect(SessionKind::Reader));
  std::vector<std::string> warnings;
  RETURN_IF_ERROR(session->query(
      "SELECT @@global.innodb_flush_log_at_trx_commit,@@global.log_bin,@@global.sync_binlog,"
      "@@global.innodb_doublewrite",
      {}, [&warnings](SqlRow& row) {
        if (row.integer(0) != 1) {
          warnings.push_back(fmt::format(
              "innodb_flush_log_at_trx_commit is {}: a crash of the server can lose accepted "
              "tasks; set it to 1",
              row.integer(0)));
        }
        if (row.integer(1) != 0 && row.integer(2) != 1) {
          warnings.push_back(fmt::format(
              "sync_binlog is {}: a crash of the server's host can lose what a replica needs; set "
              "it to 1",
              row.integer(2)));
        }
        const std::string_view doublewrite = row.text(3);
        if (doublewrite == "0" || doublewrite == "OFF") {
          warnings.push_back(
              "innodb_doublewrite is off: a torn page after a crash can't be mended; set it to ON");
        }
        return true;
      }));
  return warnings;
}

}  // namespace baton::dao
