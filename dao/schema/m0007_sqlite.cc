#include <array>

#include "dao/schema/migrations.h"

// The table of m0007_mysql.cc, in SQLite's words. AUTOINCREMENT: a number of a purged row is not
// given again.
namespace baton::dao {
namespace {

constexpr std::array<std::string_view, 3> kSqliteMigration7{
    R"sql(CREATE TABLE IF NOT EXISTS audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  principal TEXT NOT NULL CHECK (length(principal) <= 128),
  remote TEXT NOT NULL CHECK (length(remote) <= 64),
  request_id TEXT NOT NULL CHECK (length(request_id) <= 64),
  action TEXT NOT NULL CHECK (length(action) <= 64),
  object TEXT NOT NULL CHECK (length(object) <= 255),
  refused INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  batch_id INTEGER NOT NULL,
  detail TEXT,
  params TEXT,
  before_text TEXT,
  after_text TEXT
) STRICT)sql",
    "CREATE INDEX IF NOT EXISTS audit_at ON audit (at)",
    "CREATE INDEX IF NOT EXISTS audit_object ON audit (object, id)",
};

}  // namespace

std::span<const std::string_view> sqliteMigration7() { return kSqliteMigration7; }

}  // namespace baton::dao
