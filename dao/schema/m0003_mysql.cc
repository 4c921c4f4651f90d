#include <array>

#include "dao/schema/migrations.h"

// Calendars of workdays. calendar_key is the name in small letters.
namespace baton::dao {
namespace {

constexpr std::array<std::string_view, 1> kMysqlMigration3{
    R"sql(CREATE TABLE IF NOT EXISTS calendar (
  calendar_key VARCHAR(128) NOT NULL PRIMARY KEY,
  name VARCHAR(128) NOT NULL,
  version INT UNSIGNED NOT NULL,
  deleted TINYINT UNSIGNED NOT NULL,
  author VARCHAR(128) NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  batch_id BIGINT UNSIGNED NOT NULL,
  text_body MEDIUMTEXT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
};

}  // namespace

std::span<const std::string_view> mysqlMigration3() { return kMysqlMigration3; }

}  // namespace baton::dao
