#include "dao/database.h"
#include "dao/mysql/mysql_backend.h"
#include "dao/sql_database.h"
#include "dao/sqlite/sqlite_backend.h"

namespace baton::dao {

Result<std::unique_ptr<Database>> openDatabase(const DatabaseOptions& options) {
  if (options.kind == DatabaseOptions::Kind::Sqlite) {
    if (options.path.empty()) {
      return Error(ErrorCode::InvalidArgument, "a SQLite database needs the path of its file",
                   "path");
    }
    return std::unique_ptr<Database>(
        std::make_unique<SqlDatabase>(std::make_shared<SqliteBackend>(options.path)));
  }
  if (options.host.empty() == options.socket.empty()) {
    return Error(ErrorCode::InvalidArgument,
                 "a MySQL database needs either a host or a socket, not both", "host");
  }
  if (options.name.empty() || options.user.empty()) {
    return Error(ErrorCode::InvalidArgument, "a MySQL database needs its name and a user",
                 options.name.empty() ? "name" : "user");
  }
  if (!options.reader_user.empty() && options.reader_user == options.user) {
    return Error(ErrorCode::InvalidArgument,
                 "the read-only user must be another than the read-write one: a takeover ends the "
                 "connections of the latter",
                 "reader_user");
  }
  return std::unique_ptr<Database>(
      std::make_unique<SqlDatabase>(std::make_shared<MysqlBackend>(options)));
}

}  // namespace baton::dao
