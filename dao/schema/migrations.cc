#include "dao/schema/migrations.h"

#include "common/base/status.h"

namespace baton::dao {

std::span<const std::string_view> mysqlMigration(uint32_t version) {
  CHECK(version == 1);
  return mysqlMigration1();
}

std::span<const std::string_view> sqliteMigration(uint32_t version) {
  CHECK(version == 1);
  return sqliteMigration1();
}

}  // namespace baton::dao
