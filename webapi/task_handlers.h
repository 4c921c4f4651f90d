#pragma once

#include "master/api/ports.h"
#include "webapi/router.h"

namespace baton::webapi {

// The addresses under /api/v1/tasks, but for logs. Any thread; queries block.
class TaskHandlers {
 public:
  explicit TaskHandlers(master::api::TaskPort& tasks) : tasks_(tasks) {}
  void bindTo(Router& router);

 private:
  void submit(const Call& call, bool bulk);
  void list(const Call& call);
  void get(const Call& call);
  void attempts(const Call& call);
  void command(const Call& call, master::api::TaskCommand command);

  master::api::TaskPort& tasks_;
};

// The {id} of the path. Errors: NotFound (no task can have that id).
Result<TaskId> taskIdOf(const Call& call);

// Reads a body that may be missing and else is an object without members.
Status readEmptyBody(const net::HttpRequest& request);

}  // namespace baton::webapi
