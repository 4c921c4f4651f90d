#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace baton::cli {

// `task submit` as typed; empty means not given.
struct SubmitOptions {
  std::string name;
  std::string priority;
  std::string group;
  std::string weight;
  std::vector<std::string> labels;  // k=v
  std::vector<std::string> env;     // K=V
  std::vector<std::string> params;  // K=V
  std::vector<std::string> tags;
  std::string timeout;
  std::string dispatch_timeout;
  std::string kill_grace;
  std::string retry;  // Number of extra attempts.
  std::string retry_delay;
  std::string not_before;  // RFC 3339, or "+10m" from now.
  bool hold = false;
  std::string dir;
  std::string script;  // File or "-".
  std::string interpreter;
  std::string kind;                  // Of a plug-in.
  std::string with;                  // Its keys: a JSON object, a file of one, or "-".
  std::string http;                  // URL.
  std::string method;                // These five belong to --http.
  std::vector<std::string> headers;  // NAME: VALUE
  std::string body;                  // Text, or @FILE.
  std::string expect;                // 200,3xx
  std::string capture;
  std::string callback;  // URL.
  std::string file;      // JSON file of whole tasks, or "-".
  std::string idempotency_key;
  bool wait = false;
  bool follow = false;
  std::string wait_timeout;
  std::vector<std::string> command;
};

// The task that the options describe, under its wire names. `now` is what "+10m" counts from.
// Errors: InvalidArgument (options that are wrong or contradict each other), NotFound (a file).
Result<Json> taskFromOptions(const SubmitOptions& options, std::istream& in, WallTime now);

// Submits one task, or all of a file in one step; prints the ids. Returns the exit code: with
// `wait` or `follow` that of the task (of several: the first that is not 0).
int taskSubmit(Session& session, const SubmitOptions& options);

}  // namespace baton::cli
