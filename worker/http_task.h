#pragma once

#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/model/http_spec.h"

namespace baton::worker {

// How `baton http-task` ends; docs/plugins.md has the same table.
enum class HttpTaskExit : int {
  Expected = 0,    // The status is one of the expected ones.
  Unexpected = 1,  // Another status.
  BadRequest = 2,  // It can't be sent as it is.
  NoAnswer = 3,    // No connection, or no whole answer came.
  TimeOver = 4,    // No answer within the time.
  NotKept = 5,     // The answer could not be captured or written out.
};

// A request and how long its answer is waited for.
struct HttpJob {
  HttpSpec http;
  Millis wait{0};
};

// How it ended, and the sentence that says why.
struct HttpEnd {
  HttpTaskExit code = HttpTaskExit::Expected;
  std::string text;
};

// Sends the request, writes the status and the body to standard output and the body, if it is
// wanted, to the file of BATON_OUTPUT. Redirects are answers like others. Blocks.
HttpEnd runHttpJob(const HttpJob& job);

// The hidden verb `baton http-task`, a task of kind http as a process like any other: reads the
// task's description (taskInput) from standard input and does runHttpJob. What went wrong is one
// sentence on standard error. Returns the exit code of the process.
int runHttpTask(const std::vector<std::string>& arguments);

}  // namespace baton::worker
