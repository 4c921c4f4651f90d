#pragma once

#include "master/api/flow_ports.h"
#include "webapi/router.h"

namespace baton::webapi {

// The addresses under /api/v1/runs and /api/v1/missed, and explanations of tasks. Any thread;
// queries block.
class RunHandlers {
 public:
  explicit RunHandlers(master::api::RunPort& runs) : runs_(runs) {}
  void bindTo(Router& router);

 private:
  void list(const Call& call);
  void get(const Call& call);
  void tasks(const Call& call);
  void explainRun(const Call& call);
  void explainTask(const Call& call);
  void order(const Call& call, master::api::RunCommand command);
  void missed(const Call& call);
  void runMissed(const Call& call);
  void explainMissed(const Call& call);

  master::api::RunPort& runs_;
};

// Answers with a run that was made just now: 201 and where it is; or the error.
void replyNewRun(const Call& call, const Result<master::api::MadeRun>& made);

}  // namespace baton::webapi
