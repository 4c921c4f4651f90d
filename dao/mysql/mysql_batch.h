#pragma once

#include <string>
#include <vector>

#include "dao/sql_session.h"

namespace baton::dao {

class MysqlSession;

// A batch as multi-row INSERT ... ON DUPLICATE KEY UPDATE statements of bounded size: the one
// place where rows become SQL text. The session and the form outlive it.
//
// Such a statement updates whichever row it collides with, by any unique key. So the update itself
// compares the key columns and breaks NOT NULL on another row, and rows that ought to exist are
// recognised by the count of affected rows (2 for a changed one, 1 for a new one).
class MysqlBatch final : public SqlBatch {
 public:
  MysqlBatch(MysqlSession& session, const BatchForm& form);
  SqlBatch& integer(int64_t value) override;
  SqlBatch& natural(uint64_t value) override;
  SqlBatch& text(std::string_view value) override;
  SqlBatch& null() override;
  Status endRow(const RowKey& key) override;
  Status finish() override;

 private:
  struct Row {
    size_t begin;  // Where its text starts in values_.
    uint64_t id;
    int64_t number;
    std::string name;
  };

  void separate();
  Status flush();
  // Repeats the rows one by one to find the one that the schema refuses.
  Status nameCulprit(Status refused);
  // Rows of an Update that did not exist have been born now; their names are empty.
  Status checkAllExisted();
  std::string label(const Row& row) const;

  MysqlSession& session_;
  const BatchForm& form_;
  const std::string head_;
  const std::string tail_;
  std::string values_;
  std::vector<Row> rows_;
  size_t row_begin_ = 0;
  size_t column_ = 0;
  Status dead_;
};

// The text before and behind the rows.
std::string mysqlBatchHead(const BatchForm& form);
std::string mysqlBatchTail(const BatchForm& form);

}  // namespace baton::dao
