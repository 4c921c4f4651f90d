#include "dao/mysql/mysql_batch.h"

#include <charconv>

#include "dao/mysql/mysql_session.h"

namespace baton::dao {

std::string mysqlBatchHead(const BatchForm& form) {
  std::string sql = fmt::format("INSERT INTO {}(", form.table);
  for (size_t i = 0; i < form.columns.size(); ++i) {
    if (i > 0) sql += ',';
    sql += form.columns[i];
  }
  return sql + ") VALUES ";
}

std::string mysqlBatchTail(const BatchForm& form) {
  const std::string_view last_key = form.columns[form.keys - 1];
  std::string sql = " ON DUPLICATE KEY UPDATE ";
  if (form.kind == BatchForm::Kind::Ignore) return sql + fmt::format("{0}={0}", last_key);
  if (form.kind == BatchForm::Kind::Insert) {
    // Another row of the same batch may hold a unique key of this one.
    sql += "batch_id=IF(epoch=VALUES(epoch) AND batch_id=VALUES(batch_id)";
    for (size_t i = 0; i < form.keys; ++i) {
      sql += fmt::format(" AND {0}=VALUES({0})", form.columns[i]);
    }
    return sql + ",batch_id,NULL)";
  }
  if (form.keys > 1) {
    sql += fmt::format("{}=IF(", last_key);
    for (size_t i = 0; i < form.keys; ++i) {
      sql += fmt::format("{0}{1}=VALUES({1})", i == 0 ? "" : " AND ", form.columns[i]);
    }
    sql += fmt::format(",{},NULL),", last_key);
  }
  for (size_t i = form.keys; i < form.columns.size(); ++i) {
    sql += fmt::format("{0}{1}=VALUES({1})", i == form.keys ? "" : ",", form.columns[i]);
  }
  return sql;
}

MysqlBatch::MysqlBatch(MysqlSession& session, const BatchForm& form)
    : session_(session), form_(form), head_(mysqlBatchHead(form)), tail_(mysqlBatchTail(form)) {}

void MysqlBatch::separate() { values_ += column_++ == 0 ? '(' : ','; }

SqlBatch& MysqlBatch::integer(int64_t value) {
  separate();
  char digits[24];
  values_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  return *this;
}

SqlBatch& MysqlBatch::natural(uint64_t value) {
  separate();
  char digits[24];
  values_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  return *this;
}

SqlBatch& MysqlBatch::text(std::string_view value) {
  separate();
  session_.appendLiteral(values_, value);
  return *this;
}

SqlBatch& MysqlBatch::null() {
  separate();
  values_ += "NULL";
  return *this;
}

std::string MysqlBatch::label(const Row& row) const {
  return rowLabel(form_.noun, {.id = row.id, .number = row.number, .name = row.name});
}

Status MysqlBatch::endRow(const RowKey& key) {
  if (!dead_.ok()) return dead_;
  CHECK(column_ == form_.columns.size());
  column_ = 0;
  values_ += ')';
  Row row{.begin = row_begin_, .id = key.id, .number = key.number, .name = std::string(key.name)};
  const size_t row_bytes = values_.size() - row_begin_;
  if (row_bytes + head_.size() + tail_.size() > session_.rowBytesMax()) {
    return dead_ = Error::make(ErrorCode::Corrupt,
                               "{} has {} bytes, more than the server's max_allowed_packet",
                               label(row), row_bytes);
  }
  // What was gathered before goes first if this row would make the statement too long.
  if (!rows_.empty() &&
      head_.size() + values_.size() + tail_.size() > session_.statementBytesMax()) {
    std::string last = values_.substr(row_begin_);
    values_.resize(row_begin_ - 1);
    dead_ = flush();
    if (!dead_.ok()) return dead_;
    values_ = std::move(last);
    row.begin = 0;
  }
  rows_.push_back(std::move(row));
  values_ += ',';
  row_begin_ = values_.size();
  return {};
}

Status MysqlBatch::finish() {
  if (!dead_.ok() || rows_.empty()) return dead_;
  values_.pop_back();
  return dead_ = flush();
}

Status MysqlBatch::flush() {
  std::string sql;
  sql.reserve(head_.size() + values_.size() + tail_.size());
  sql.append(head_).append(values_).append(tail_);
  const Result<uint64_t> affected = session_.execute(sql, {});
  if (!affected.ok()) return nameCulprit(affected.error());
  if (form_.kind == BatchForm::Kind::Update && *affected != 2 * rows_.size()) {
    RETURN_IF_ERROR(checkAllExisted());
  }
  values_.clear();
  rows_.clear();
  row_begin_ = 0;
  return {};
}

Status MysqlBatch::nameCulprit(Status refused) {
  if (refused.error().code() != ErrorCode::Corrupt) return refused;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const size_t end = i + 1 < rows_.size() ? rows_[i + 1].begin - 1 : values_.size();
    const std::string one = head_ + values_.substr(rows_[i].begin, end - rows_[i].begin) + tail_;
    const Result<uint64_t> alone = session_.execute(one, {});
    if (alone.ok()) continue;
    if (alone.error().code() != ErrorCode::Corrupt) return alone.error();
    return Error(alone.error()).withContext(label(rows_[i]));
  }
  return Error(refused.error()).withContext(label(rows_.front()) + " or one stored with it");
}

Status MysqlBatch::checkAllExisted() {
  std::string sql = fmt::format("SELECT {0} FROM {1} WHERE {2}='' AND {0} IN (",
                                form_.columns.front(), form_.table, form_.born_column);
  for (const Row& row : rows_) sql += fmt::format("{},", row.id);
  sql.back() = ')';
  Status status;
  RETURN_IF_ERROR(session_.query(sql, {}, [&](SqlRow& row) {
    status = Error::make(ErrorCode::Corrupt, "{} does not exist",
                         rowLabel(form_.noun, {.id = row.natural(0)}));
    return false;
  }));
  return status;
}

}  // namespace baton::dao
