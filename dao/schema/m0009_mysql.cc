#include <array>

#include "dao/schema/migrations.h"

// Parameters of the project, and those that a run was made with: a row for each run whose
// definition needs any.
namespace baton::dao {
namespace {

constexpr std::array<std::string_view, 2> kMysqlMigration9{
    R"sql(CREATE TABLE IF NOT EXISTS project_param (
  name VARCHAR(128) NOT NULL PRIMARY KEY,
  version INT UNSIGNED NOT NULL,
  deleted TINYINT UNSIGNED NOT NULL,
  author VARCHAR(128) NOT NULL,
  updated_at BIGINT NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  batch_id BIGINT UNSIGNED NOT NULL,
  value_text MEDIUMTEXT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
    R"sql(CREATE TABLE IF NOT EXISTS run_project_param (
  run_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  epoch BIGINT UNSIGNED NOT NULL,
  batch_id BIGINT UNSIGNED NOT NULL,
  params MEDIUMTEXT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
};

}  // namespace

std::span<const std::string_view> mysqlMigration9() { return kMysqlMigration9; }

}  // namespace baton::dao
