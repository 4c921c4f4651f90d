#include <array>

#include "dao/schema/migrations.h"

// Limits of flow control: one row for each that was set. The groups of tasks need no column: a
// task's policy names its group, and task_tag has a row "@GROUP" for lists (no tag has an "@").
namespace baton::dao {
namespace {

constexpr std::array<std::string_view, 1> kMysqlMigration6{
    R"sql(CREATE TABLE IF NOT EXISTS run_limit (
  kind TINYINT UNSIGNED NOT NULL,
  name VARCHAR(255) NOT NULL,
  max_units BIGINT NULL,
  min_priority TINYINT UNSIGNED NULL,
  window_text VARCHAR(32) NOT NULL,
  time_zone VARCHAR(64) NOT NULL,
  changed_at BIGINT NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  batch_id BIGINT UNSIGNED NOT NULL,
  description TEXT NULL,
  PRIMARY KEY (kind, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql"};

}  // namespace

std::span<const std::string_view> mysqlMigration6() { return kMysqlMigration6; }

}  // namespace baton::dao
