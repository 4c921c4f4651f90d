#include "dao/schema/migrations.h"

namespace baton::dao {

std::span<const std::string_view> mysqlMigration(uint32_t version) {
  switch (version) {
    case 1:
      return mysqlMigration1();
    case 2:
      return mysqlMigration2();
    case 3:
      return mysqlMigration3();
    case 4:
      return mysqlMigration4();
    case 5:
      return mysqlMigration5();
    case 6:
      return mysqlMigration6();
    case 7:
      return mysqlMigration7();
    case 8:
      return mysqlMigration8();
    case 9:
      return mysqlMigration9();
    default:
      return {};
  }
}

std::span<const std::string_view> sqliteMigration(uint32_t version) {
  switch (version) {
    case 1:
      return sqliteMigration1();
    case 2:
      return sqliteMigration2();
    case 3:
      return sqliteMigration3();
    case 4:
      return sqliteMigration4();
    case 5:
      return sqliteMigration5();
    case 6:
      return sqliteMigration6();
    case 7:
      return sqliteMigration7();
    case 8:
      return sqliteMigration8();
    case 9:
      return sqliteMigration9();
    default:
      return {};
  }
}

}  // namespace baton::dao
