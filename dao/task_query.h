#pragma once

#include "dao/conditions.h"
#include "dao/reader.h"

namespace baton::dao {

// The part of a task list behind FROM: joins and conditions on table task as `t`. The values borrow
// the filter. `before`: only ids below it; 0: all. `with_run`: joins run_task as `x` and run as
// `u`, whose columns are NULL for a task without a run.
QueryPart makeTaskQuery(const TaskFilter& filter, TaskId before, bool with_run);

}  // namespace baton::dao
