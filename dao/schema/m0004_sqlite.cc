#include <array>

#include "dao/schema/migrations.h"

// The tables of m0004_mysql.cc, in SQLite's words.
namespace baton::dao {
namespace {

constexpr std::array<std::string_view, 2> kSqliteMigration4{
    R"sql(CREATE TABLE IF NOT EXISTS host (
  name TEXT NOT NULL PRIMARY KEY CHECK (length(name) <= 255),
  word INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  quarantined_until INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  batch_id INTEGER NOT NULL,
  labels TEXT,
  reason TEXT
) STRICT, WITHOUT ROWID)sql",
    R"sql(CREATE TABLE IF NOT EXISTS setting (
  name TEXT NOT NULL PRIMARY KEY CHECK (length(name) <= 64),
  epoch INTEGER NOT NULL,
  batch_id INTEGER NOT NULL,
  value TEXT
) STRICT, WITHOUT ROWID)sql",
};

}  // namespace

std::span<const std::string_view> sqliteMigration4() { return kSqliteMigration4; }

}  // namespace baton::dao
