#include "dao/mysql/mysql_error.h"

#include <algorithm>

namespace baton::dao {

bool isMysqlLinkLost(int number) {
  switch (number) {
    case 1053:  // Server shutdown in progress.
    case 1077:  // Normal shutdown.
    case 1080:  // Forced close of the thread.
    case 1152:  // Aborted connection.
    case 1184:  // New aborted connection.
    case 1317:  // Query execution was interrupted: by the KILL of an interrupt().
    case 1927:  // Connection was killed.
    case 2000:
    case 2001:
    case 2002:
    case 2003:
    case 2004:
    case 2005:
    case 2006:
    case 2012:
    case 2013:
    case 2014:
    case 2026:
    case 2027:
    case 2055:
    case 4031:  // MySQL 8: disconnected because of inactivity.
      return true;
    default:
      return false;
  }
}

ErrorCode mysqlErrorCode(int number, std::string_view message) {
  if (isMysqlLinkLost(number)) return ErrorCode::Unavailable;
  switch (number) {
    case 1205:  // Lock wait timeout.
    case 1213:  // Deadlock.
    case 1020:  // Record changed since the snapshot: the fence decides at the repeat.
    case 3572:  // MySQL 8: NOWAIT is set.
      return ErrorCode::Busy;
    case 1021:
    case 1041:
    case 1114:
    case 1290:
    case 1792:
    case 1836:
    case 3675:
      return ErrorCode::StorageFull;
    case 1040:  // Too many connections.
    case 1049:  // Unknown database.
    case 1129:  // Host blocked.
    case 1203:  // Too many connections of the user.
    case 1226:  // Resource limit of the user.
      return ErrorCode::Unavailable;
    case 1044:
    case 1045:
    case 1142:
    case 1143:
    case 1227:
    case 1698:
      return ErrorCode::PermissionDenied;
    case 1048:
    case 1054:
    case 1062:
    case 1146:
    case 1264:
    case 1265:
    case 1292:
    case 1364:
    case 1366:
    case 1406:
    case 3819:
    case 4025:
      return ErrorCode::Corrupt;
    default:
      break;
  }
  const bool read_only = message.find("read only") != std::string_view::npos ||
                         message.find("read-only") != std::string_view::npos;
  return read_only ? ErrorCode::StorageFull : ErrorCode::Internal;
}

Error mysqlError(int number, std::string_view message, std::string_view doing) {
  return Error::make(mysqlErrorCode(number, message), "{}: {} (MySQL {})", doing, message, number);
}

}  // namespace baton::dao
