#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/model/task_spec.h"
#include "common/protocol/heartbeat.h"

namespace baton::worker {

// Who a task runs as and where: the same for all attempts of a worker.
struct TaskIdentity {
  std::string user;  // Login name.
  std::string home;
  std::string shell;
  std::string zone;  // Value of TZ; empty: not set.

  // Of this process, by the user database; the name falls back to the number, the home to "/".
  static TaskIdentity ofThisProcess();
};

struct EnvironmentInput {
  TaskIdentity identity;
  std::string worker_id;
  std::string runner_id;
  std::string data_dir;  // Absolute.
  AttemptKey key;
  Epoch epoch = 0;
};

// The whole environment of an attempt, as "NAME=value" sorted by name, and nothing else: no
// variable of the worker's own environment gets in.
//
//   PATH            /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
//   HOME, USER, LOGNAME, SHELL   of the user under which the worker runs
//   LANG            C.UTF-8
//   TZ              the worker's `task.zone`; not set when that is empty (the system's zone)
//   BATON_TASK_ID, BATON_ATTEMPT, BATON_EPOCH   numbers, so that a task can fence its effects
//   BATON_OUTPUT    path of the file into which the task may write key=value lines
//   BATON_WORKER, BATON_RUNNER   ids
//   then the task's params, then its env: later ones replace earlier ones, but nothing replaces
//   the BATON_ variables above, by which a stop finds the processes of an attempt.
std::vector<std::string> taskEnvironment(const EnvironmentInput& input, const TaskSpec& spec);

// What a request or a plug-in reads from standard input: who it is and what it is asked for, as one
// JSON object (docs/plugins.md). `timeout`: of the attempt, 0: none.
std::string taskInput(const EnvironmentInput& input, const TaskSpec& spec, Millis timeout);

// The command of a task as it will be run: of a script, its interpreter, to which the shepherd
// adds the script's path; of a request, method and address, of a plug-in, its file's name: what
// runs them is the worker's.
std::vector<std::string> taskArguments(const TaskSpec& spec);

// The same for people: cut to 64 KB in all, the cut marked with "…".
std::vector<std::string> shownArguments(std::vector<std::string> arguments);

}  // namespace baton::worker
