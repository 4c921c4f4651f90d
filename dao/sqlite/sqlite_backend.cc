#include "dao/sqlite/sqlite_backend.h"

#include "dao/schema/migrations.h"
#include "dao/sqlite/sqlite_session.h"

namespace baton::dao {

Result<std::unique_ptr<SqlSession>> SqliteBackend::connect(SessionKind kind) {
  return SqliteSession::open(path_, kind);
}

Result<bool> SqliteBackend::hasTable(SqlSession& session, std::string_view table) {
  bool found = false;
  RETURN_IF_ERROR(session.query("SELECT 1 FROM sqlite_master WHERE type='table' AND name=?",
                                {table}, [&](SqlRow&) {
                                  found = true;
                                  return true;
                                }));
  return found;
}

std::span<const std::string_view> SqliteBackend::migration(uint32_t version) const {
  return sqliteMigration(version);
}

}  // namespace baton::dao
