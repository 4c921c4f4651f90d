#include "dao/schema/migrations.h"

namespace baton::dao {

std::span<const std::string_view> mysqlMigration(uint32_t version) {
  switch (version) {
    case 1:
      return mysqlMigration1();
    case 2:
      return mysqlMigration2();
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
    default:
      return {};
  }
}

}  // namespace baton::dao
