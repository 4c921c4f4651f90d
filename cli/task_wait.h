#pragma once

#include <string>

#include "cli/session.h"

namespace baton::cli {

struct WaitOptions {
  std::string id;
  std::string timeout;  // Empty: without end.
  bool quiet = false;
};

// Pauses between two looks at a task: short at first, because most tasks are, then longer.
class WaitPace {
 public:
  Millis next();

 private:
  Millis pause_{20};
};

// True if the task as read has ended.
bool hasEnded(const Json& task);
// The path of a task, with the id escaped.
std::string taskPath(const std::string& id);

// Waits until the task has ended, over failovers. Prints how it ended. Returns the task's own exit
// code (see exitCodeOfTask), 124 when the time was over first.
int taskWait(Session& session, const WaitOptions& options);

// "task 7 FAILED (exit code 3)", for people.
std::string endText(const Json& task);
// What a task waits for, behind `lead`; empty: nothing.
std::string waitingText(const Json& task, std::string_view lead);

}  // namespace baton::cli
