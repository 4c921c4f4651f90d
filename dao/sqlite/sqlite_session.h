#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>
#include <unordered_map>

#include "dao/sql_session.h"

namespace baton::dao {

struct SqliteStatementCloser {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
struct SqliteCloser {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
using SqliteStatement = std::unique_ptr<sqlite3_stmt, SqliteStatementCloser>;

// One connection to a database file. Prepared statements are kept by their text.
class SqliteSession final : public SqlSession {
 public:
  // Opens the file; only a Schema session creates it (readable by its owner alone).
  static Result<std::unique_ptr<SqlSession>> open(const std::string& path, SessionKind kind);
  explicit SqliteSession(std::unique_ptr<sqlite3, SqliteCloser> db) : db_(std::move(db)) {}

  Result<uint64_t> execute(std::string_view sql, const SqlValues& values) override;
  Status query(std::string_view sql, const SqlValues& values, const TakeRow& take) override;
  Status stream(std::string_view sql, const SqlValues& values, const TakeRow& take) override {
    return query(sql, values, take);
  }
  std::unique_ptr<SqlBatch> batch(const BatchForm& form) override;
  bool broken() const override { return broken_; }
  bool alive() override { return !broken_; }
  uint64_t id() const override { return 0; }
  void interrupt() noexcept override { sqlite3_interrupt(db_.get()); }

  // A statement out of the store, or made now. Valid until the next call.
  Result<sqlite3_stmt*> prepare(std::string_view sql);
  Error failure(int code, std::string_view doing);
  sqlite3* db() { return db_.get(); }

 private:
  Status configure(SessionKind kind);
  Status useWriteAheadLog();
  Result<sqlite3_stmt*> bound(std::string_view sql, const SqlValues& values);

  std::unique_ptr<sqlite3, SqliteCloser> db_;
  std::unordered_map<std::string, SqliteStatement> statements_;  // Gone before db_.
  bool broken_ = false;
};

}  // namespace baton::dao
