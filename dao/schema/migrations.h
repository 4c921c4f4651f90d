#pragma once

#include <cstdint>
#include <span>
#include <string_view>

// The schema as numbered steps. A step that was released is never edited; the next change is a new
// file m000N.cc. Statements are written so that a step that stopped half-way can run again.
//
// Rights that the two MySQL users need (`baton` stands for the database):
//   GRANT ALL PRIVILEGES ON baton.* TO 'baton_rw'@'%';   -- tables and migrations; a user may see
//                                                        -- and KILL its own threads without more
//   GRANT SELECT ON baton.* TO 'baton_ro'@'%';
namespace baton::dao {

// Version that this program reads and writes.
inline constexpr uint32_t kSchemaVersion = 9;

std::span<const std::string_view> mysqlMigration(uint32_t version);
std::span<const std::string_view> sqliteMigration(uint32_t version);

std::span<const std::string_view> mysqlMigration1();
std::span<const std::string_view> sqliteMigration1();
std::span<const std::string_view> mysqlMigration2();
std::span<const std::string_view> sqliteMigration2();
std::span<const std::string_view> mysqlMigration3();
std::span<const std::string_view> sqliteMigration3();
std::span<const std::string_view> mysqlMigration4();
std::span<const std::string_view> sqliteMigration4();
std::span<const std::string_view> mysqlMigration5();
std::span<const std::string_view> sqliteMigration5();
std::span<const std::string_view> mysqlMigration6();
std::span<const std::string_view> sqliteMigration6();
std::span<const std::string_view> mysqlMigration7();
std::span<const std::string_view> sqliteMigration7();
std::span<const std::string_view> mysqlMigration8();
std::span<const std::string_view> sqliteMigration8();
std::span<const std::string_view> mysqlMigration9();
std::span<const std::string_view> sqliteMigration9();

}  // namespace baton::dao
