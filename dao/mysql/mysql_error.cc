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
    case 20:    // A file can't be extended, the server waits for room.
    case 1021:  // The same, as an error of the server itself.
    case 1041:  // Out of memory.
    case 1114:  // The table is full: what InnoDB makes of a full disk.
    case 1290:  // The server runs with --read-only, or another option forbids it.
    case 1792:  // Read-only transaction.
    case 1836:  // Read-only mode.
    case 3675:  // A tablespace is full.
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
  // Many numbers wrap an error of the file system: 3 and 1026 (writing a file), 1 and 1004 to 1006
  // (making one), 1030 (storage engine), 1180 (during COMMIT), …
  for (const std::string_view sign :
       {"read only", "read-only", "No space left on device", "Disk quota exceeded", "error 28",
        "errno: 28", "Errcode: 28", "error: 28", "errno: 122", "Errcode: 122"}) {
    if (message.find(sign) != std::string_view::npos) return ErrorCode::StorageFull;
  }
  return ErrorCode::Internal;
}

Error mysqlError(int number, std::string_view message, std::string_view doing) {
  return Error::make(mysqlErrorCode(number, message), "{}: {} (MySQL {})", doing, message, number);
}

}  // namespace baton::dao
