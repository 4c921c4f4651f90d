#include <array>

#include "dao/schema/migrations.h"

// The tables of m0009_mysql.cc, in SQLite's words.
namespace baton::dao {
namespace {

constexpr std::array<std::string_view, 2> kSqliteMigration9{
    R"sql(CREATE TABLE IF NOT EXISTS project_param (
  name TEXT NOT NULL PRIMARY KEY CHECK (length(name) <= 128),
  version INTEGER NOT NULL,
  deleted INTEGER NOT NULL,
  author TEXT NOT NULL CHECK (length(author) <= 128),
  updated_at INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  batch_id INTEGER NOT NULL,
  value_text TEXT
) STRICT)sql",
    R"sql(CREATE TABLE IF NOT EXISTS run_project_param (
  run_id INTEGER NOT NULL PRIMARY KEY,
  epoch INTEGER NOT NULL,
  batch_id INTEGER NOT NULL,
  params TEXT
) STRICT)sql",
};

}  // namespace

std::span<const std::string_view> sqliteMigration9() { return kSqliteMigration9; }

}  // namespace baton::dao
