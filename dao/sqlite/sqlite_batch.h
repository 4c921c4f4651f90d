#pragma once

#include <sqlite3.h>

#include <string>

#include "dao/sql_session.h"

namespace baton::dao {

class SqliteSession;

// A batch that runs one prepared statement for each row. The session and the form outlive it.
class SqliteBatch final : public SqlBatch {
 public:
  SqliteBatch(SqliteSession& session, const BatchForm& form);
  SqlBatch& integer(int64_t value) override;
  SqlBatch& natural(uint64_t value) override;
  SqlBatch& text(std::string_view value) override;
  SqlBatch& null() override;
  Status endRow(const RowKey& key) override;
  Status finish() override { return dead_; }

 private:
  void check(int code);

  SqliteSession& session_;
  const BatchForm& form_;
  sqlite3_stmt* statement_ = nullptr;  // Owned by the session.
  int column_ = 0;
  Status dead_;
};

// The statement that writes one row of a form.
std::string sqliteRowStatement(const BatchForm& form);

}  // namespace baton::dao
