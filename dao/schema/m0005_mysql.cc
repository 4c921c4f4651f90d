#include <array>

#include "dao/schema/migrations.h"

// Tasks of flows are found by a mark among the tags (dao/row_encoder.h): a list by flow reads one
// range of an index instead of sorting all tasks that the flow ever had.
namespace baton::dao {
namespace {

constexpr std::array<std::string_view, 1> kMysqlMigration5{
    R"sql(INSERT IGNORE INTO task_tag (tag, task_id)
  SELECT CONCAT('@flow:', u.flow_key), x.task_id FROM run_task x JOIN run u ON u.run_id=x.run_id)sql",
};

}  // namespace

std::span<const std::string_view> mysqlMigration5() { return kMysqlMigration5; }

}  // namespace baton::dao
