#include <array>

#include "dao/schema/migrations.h"

// The table of m0003_mysql.cc, in SQLite's words.
namespace baton::dao {
namespace {

constexpr std::array<std::string_view, 1> kSqliteMigration3{
    R"sql(CREATE TABLE IF NOT EXISTS calendar (
  calendar_key TEXT NOT NULL PRIMARY KEY CHECK (length(calendar_key) <= 128),
  name TEXT NOT NULL CHECK (length(name) <= 128),
  version INTEGER NOT NULL,
  deleted INTEGER NOT NULL,
  author TEXT NOT NULL CHECK (length(author) <= 128),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  batch_id INTEGER NOT NULL,
  text_body TEXT
) STRICT)sql",
};

}  // namespace

std::span<const std::string_view> sqliteMigration3() { return kSqliteMigration3; }

}  // namespace baton::dao
