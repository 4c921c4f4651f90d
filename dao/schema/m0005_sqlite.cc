#include <array>

#include "dao/schema/migrations.h"

// As m0005_mysql.cc.
namespace baton::dao {
namespace {

constexpr std::array<std::string_view, 1> kSqliteMigration5{
    R"sql(INSERT OR IGNORE INTO task_tag (tag, task_id)
  SELECT '@flow:' || u.flow_key, x.task_id FROM run_task x JOIN run u ON u.run_id=x.run_id)sql",
};

}  // namespace

std::span<const std::string_view> sqliteMigration5() { return kSqliteMigration5; }

}  // namespace baton::dao
