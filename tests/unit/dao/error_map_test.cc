#include <gtest/gtest.h>

#include "dao/mysql/mysql_error.h"
#include "dao/sqlite/sqlite_error.h"

namespace baton::dao {
namespace {

// The writer's behaviour hangs on the code: repeat, resolve, keep, or freeze.
TEST(MysqlErrors, NumbersMapToWhatTheWriterDoes) {
  for (const int lost : {2002, 2003, 2006, 2013, 1927, 1053}) {
    EXPECT_EQ(mysqlErrorCode(lost, ""), ErrorCode::Unavailable) << lost;
    EXPECT_TRUE(isMysqlLinkLost(lost)) << lost;
  }
  for (const int busy : {1205, 1213, 1020}) {
    EXPECT_EQ(mysqlErrorCode(busy, ""), ErrorCode::Busy) << busy;
    EXPECT_FALSE(isMysqlLinkLost(busy)) << busy;
  }
  for (const int full : {1114, 1021, 1290, 1792, 1836}) {
    EXPECT_EQ(mysqlErrorCode(full, ""), ErrorCode::StorageFull) << full;
  }
  // A full disk, as MariaDB words it where it has no number of its own for it.
  const std::pair<int, const char*> full_disks[] = {
      {3,
       "Error writing file '/var/lib/mysql/binlog.000001' (Errcode: 28 \"No space left on "
       "device\")"},
      {1, "Can't create/write to file '/tmp/#sql1' (Errcode: 28 \"No space left on device\")"},
      {1026, "Error writing file 'binlog' (errno: 28)"},
      {1030, "Got error 28 \"No space left on device\" from storage engine InnoDB"},
      {1030, "Got error 122 \"Disk quota exceeded\" from storage engine InnoDB"},
      {1180, "Got error 28 during COMMIT"},
      {1005, "Can't create table `baton`.`task` (errno: 28 \"No space left on device\")"},
      {20, "Disk full (/var/lib/mysql/binlog); waiting for someone to free some space..."}};
  for (const auto& [number, text] : full_disks) {
    EXPECT_EQ(mysqlErrorCode(number, text), ErrorCode::StorageFull) << text;
  }
  EXPECT_EQ(mysqlErrorCode(1030, "Got error 168 from storage engine InnoDB"), ErrorCode::Internal);
  for (const int corrupt : {1062, 1366, 1406, 1048, 1146}) {
    EXPECT_EQ(mysqlErrorCode(corrupt, ""), ErrorCode::Corrupt) << corrupt;
  }
  EXPECT_EQ(mysqlErrorCode(1036, "Table 'task' is read only"), ErrorCode::StorageFull);
  EXPECT_EQ(mysqlErrorCode(1045, "Access denied"), ErrorCode::PermissionDenied);
  EXPECT_EQ(mysqlErrorCode(1040, "Too many connections"), ErrorCode::Unavailable);
  EXPECT_EQ(mysqlErrorCode(1064, "You have an error in your SQL syntax"), ErrorCode::Internal);
}

TEST(SqliteErrors, CodesMapToWhatTheWriterDoes) {
  EXPECT_EQ(sqliteError(SQLITE_BUSY, nullptr, "x").code(), ErrorCode::Busy);
  EXPECT_EQ(sqliteError(SQLITE_BUSY_SNAPSHOT, nullptr, "x").code(), ErrorCode::Busy);
  EXPECT_EQ(sqliteError(SQLITE_FULL, nullptr, "x").code(), ErrorCode::StorageFull);
  EXPECT_EQ(sqliteError(SQLITE_READONLY_DBMOVED, nullptr, "x").code(), ErrorCode::StorageFull);
  EXPECT_EQ(sqliteError(SQLITE_IOERR_FSYNC, nullptr, "x").code(), ErrorCode::Unavailable);
  EXPECT_EQ(sqliteError(SQLITE_CONSTRAINT_UNIQUE, nullptr, "x").code(), ErrorCode::Corrupt);
  EXPECT_EQ(sqliteError(SQLITE_NOTADB, nullptr, "x").code(), ErrorCode::Corrupt);
}

}  // namespace
}  // namespace baton::dao
