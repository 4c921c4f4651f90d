#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "master/api/flow_ports.h"

namespace baton::master {

// What a chain of causes is followed by.
struct CauseSource {
  std::function<Result<api::RunView>(RunId)> run;
  std::function<Result<std::vector<api::NodeView>>(RunId)> nodes;
  // The run that holds the place that this one waits for; 0: none.
  std::function<RunId(RunId)> ahead;
};

// What is to be said of a task beyond its status; of its reason and of how it waits.
std::string reasonText(const TaskState& state);
std::string waitText(const api::TaskView& task);
// One line of an explanation: the task, its status, and why.
std::string nodeLine(const api::NodeView& node);

// Follows what a task or run waits for, or failed or was skipped for, to where that begins: over
// needs, sub-flows and runs that hold a place. One line for each link, from the outside in. Not
// more than some 40 lines: of a long way its beginning is told, and what it ends at. Any thread;
// blocks as the source does.
class CauseChain {
 public:
  explicit CauseChain(CauseSource source) : source_(std::move(source)) {}

  // Behind the task, which itself is not told. Nothing if its own line says all.
  void behindTask(RunId run, const std::string& name);
  // The run, and what is behind it; 0: nothing.
  void run(RunId id);
  // What is behind a run whose own line, and those of its tasks, have been told.
  void behindRun(const api::RunView& view, const std::vector<api::NodeView>& nodes);

  std::vector<std::string> takeLines() { return std::move(lines_); }

 private:
  void follow(const std::vector<api::NodeView>& nodes, size_t start);
  void unfinished(const std::vector<api::NodeView>& nodes);
  void say(std::string line);
  bool full() const;

  const CauseSource source_;
  std::vector<std::string> lines_;
  std::set<RunId> seen_;
};

}  // namespace baton::master
