#include <array>

#include "dao/schema/migrations.h"

// What is kept of hosts, and switches of the cluster that are changed while it runs.
namespace baton::dao {
namespace {

constexpr std::array<std::string_view, 2> kMysqlMigration4{
    R"sql(CREATE TABLE IF NOT EXISTS host (
  name VARCHAR(255) NOT NULL PRIMARY KEY,
  word TINYINT UNSIGNED NOT NULL,
  changed_at BIGINT NOT NULL,
  quarantined_until BIGINT NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  batch_id BIGINT UNSIGNED NOT NULL,
  labels TEXT NULL,
  reason TEXT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
    R"sql(CREATE TABLE IF NOT EXISTS setting (
  name VARCHAR(64) NOT NULL PRIMARY KEY,
  epoch BIGINT UNSIGNED NOT NULL,
  batch_id BIGINT UNSIGNED NOT NULL,
  value TEXT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
};

}  // namespace

std::span<const std::string_view> mysqlMigration4() { return kMysqlMigration4; }

}  // namespace baton::dao
