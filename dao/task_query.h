#pragma once

#include <string>

#include "dao/reader.h"
#include "dao/sql_session.h"

namespace baton::dao {

// The part of a task list behind FROM: joins and conditions on table task as `t`, with its values.
// The values borrow the filter.
struct TaskQuery {
  std::string sql;
  SqlValues values;
};

// `before`: only ids below it; 0: all.
TaskQuery makeTaskQuery(const TaskFilter& filter, TaskId before);

}  // namespace baton::dao
