#include "dao/sqlite/sqlite_error.h"

namespace baton::dao {
namespace {

ErrorCode sqliteErrorCode(int code, std::string_view message) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::Busy;
    case SQLITE_FULL:
    case SQLITE_READONLY:
      return ErrorCode::StorageFull;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_INTERRUPT:
    case SQLITE_PROTOCOL:
    case SQLITE_NOMEM:
      return ErrorCode::Unavailable;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::Corrupt;
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return ErrorCode::PermissionDenied;
    default:
      break;
  }
  const bool no_schema = message.find("no such table") != std::string_view::npos ||
                         message.find("no such column") != std::string_view::npos;
  return no_schema ? ErrorCode::Corrupt : ErrorCode::Internal;
}

}  // namespace

Error sqliteError(int code, sqlite3* db, std::string_view doing) {
  const std::string_view message = db == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(db);
  return Error::make(sqliteErrorCode(code, message), "{}: {} (SQLite {})", doing, message, code);
}

}  // namespace baton::dao
