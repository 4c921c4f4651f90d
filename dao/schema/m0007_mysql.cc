#include <array>

#include "dao/schema/migrations.h"

// The audit log. Its numbers are given by the database, because each row is written once, by the
// transaction that it tells of, and nobody has to know its number before.
namespace baton::dao {
namespace {

constexpr std::array<std::string_view, 1> kMysqlMigration7{
    R"sql(CREATE TABLE IF NOT EXISTS audit (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  at BIGINT NOT NULL,
  principal VARCHAR(128) NOT NULL,
  remote VARCHAR(64) NOT NULL,
  request_id VARCHAR(64) NOT NULL,
  action VARCHAR(64) NOT NULL,
  object VARCHAR(255) NOT NULL,
  refused TINYINT UNSIGNED NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  batch_id BIGINT UNSIGNED NOT NULL,
  detail TEXT NULL,
  params TEXT NULL,
  before_text TEXT NULL,
  after_text TEXT NULL,
  KEY audit_at (at),
  KEY audit_object (object, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
};

}  // namespace

std::span<const std::string_view> mysqlMigration7() { return kMysqlMigration7; }

}  // namespace baton::dao
