#include "dao/sqlite/sqlite_batch.h"

#include "dao/sqlite/sqlite_session.h"

namespace baton::dao {
namespace {

std::string sqliteUpdate(const BatchForm& form) {
  std::string sql = fmt::format("UPDATE {} SET ", form.table);
  for (size_t i = form.keys; i < form.columns.size(); ++i) {
    sql += fmt::format("{}{}=?{}", i == form.keys ? "" : ",", form.columns[i], i + 1);
  }
  for (size_t i = 0; i < form.keys; ++i) {
    sql += fmt::format("{}{}=?{}", i == 0 ? " WHERE " : " AND ", form.columns[i], i + 1);
  }
  return sql;
}

}  // namespace

std::string sqliteRowStatement(const BatchForm& form) {
  if (form.kind == BatchForm::Kind::Update) return sqliteUpdate(form);
  std::string columns;
  std::string marks;
  std::string keys;
  std::string changes;
  for (size_t i = 0; i < form.columns.size(); ++i) {
    const std::string_view column = form.columns[i];
    columns += fmt::format("{}{}", i == 0 ? "" : ",", column);
    marks += i == 0 ? "?" : ",?";
    if (i < form.keys) {
      keys += fmt::format("{}{}", i == 0 ? "" : ",", column);
    } else {
      changes += fmt::format("{}{}=excluded.{}", changes.empty() ? "" : ",", column, column);
    }
  }
  std::string sql = fmt::format("INSERT INTO {}({}) VALUES({}) ON CONFLICT({}) DO ", form.table,
                                columns, marks, keys);
  switch (form.kind) {
    case BatchForm::Kind::Ignore:
      return sql + "NOTHING";
    case BatchForm::Kind::Insert:
      // A row of another batch runs into NOT NULL.
      return sql +
             "UPDATE SET batch_id=CASE WHEN epoch=excluded.epoch AND batch_id=excluded.batch_id "
             "THEN batch_id ELSE NULL END";
    default:
      return sql + "UPDATE SET " + changes;
  }
}

SqliteBatch::SqliteBatch(SqliteSession& session, const BatchForm& form)
    : session_(session), form_(form) {
  auto prepared = session_.prepare(sqliteRowStatement(form));
  if (prepared.ok()) {
    statement_ = *prepared;
  } else {
    dead_ = prepared.error();
  }
}

void SqliteBatch::check(int code) {
  if (code != SQLITE_OK && dead_.ok()) dead_ = session_.failure(code, "bind");
}

SqlBatch& SqliteBatch::integer(int64_t value) {
  if (dead_.ok()) check(sqlite3_bind_int64(statement_, ++column_, value));
  return *this;
}

SqlBatch& SqliteBatch::natural(uint64_t value) { return integer(static_cast<int64_t>(value)); }

SqlBatch& SqliteBatch::text(std::string_view value) {
  // The value may be gone before the row ends.
  if (dead_.ok()) {
    check(sqlite3_bind_text64(statement_, ++column_, value.data() == nullptr ? "" : value.data(),
                              value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  }
  return *this;
}

SqlBatch& SqliteBatch::null() {
  if (dead_.ok()) check(sqlite3_bind_null(statement_, ++column_));
  return *this;
}

Status SqliteBatch::endRow(const RowKey& key) {
  if (!dead_.ok()) return dead_;
  CHECK(column_ == static_cast<int>(form_.columns.size()));
  column_ = 0;
  const int code = sqlite3_step(statement_);
  if (code != SQLITE_DONE) {
    dead_ = form_.kind == BatchForm::Kind::Insert && code == SQLITE_CONSTRAINT_NOTNULL
                ? Error::make(ErrorCode::Corrupt, "{} exists already, written by another batch",
                              rowLabel(form_.noun, key))
                : session_.failure(code, rowLabel(form_.noun, key));
  } else if (form_.kind == BatchForm::Kind::Update && sqlite3_changes64(session_.db()) == 0) {
    dead_ = Error::make(ErrorCode::Corrupt, "{} does not exist", rowLabel(form_.noun, key));
  }
  sqlite3_reset(statement_);
  return dead_;
}

}  // namespace baton::dao
