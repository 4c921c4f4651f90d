#include <array>

#include "dao/schema/migrations.h"

// The table of m0006_mysql.cc, in SQLite's words.
namespace baton::dao {
namespace {

constexpr std::array<std::string_view, 1> kSqliteMigration6{
    R"sql(CREATE TABLE IF NOT EXISTS run_limit (
  kind INTEGER NOT NULL,
  name TEXT NOT NULL CHECK (length(name) <= 255),
  max_units INTEGER,
  min_priority INTEGER,
  window_text TEXT NOT NULL CHECK (length(window_text) <= 32),
  time_zone TEXT NOT NULL CHECK (length(time_zone) <= 64),
  changed_at INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  batch_id INTEGER NOT NULL,
  description TEXT,
  PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID)sql"};

}  // namespace

std::span<const std::string_view> sqliteMigration6() { return kSqliteMigration6; }

}  // namespace baton::dao
