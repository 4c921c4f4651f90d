#pragma once

#include <map>
#include <string>

#include "common/model/records.h"
#include "master/flow/flow_state.h"
#include "master/flow/run_progress.h"

// How statuses of tasks and states of nodes translate, and the words for both. Pure.
namespace baton::master {

// Of an ended task.
NodeState nodeStateOf(TaskStatus status, bool ignore_failure);
SkipReason skipReasonOf(FailureReason reason);
FailureReason failureReasonOf(SkipReason reason);

// Outputs as they are stored; what is no text is left out.
std::map<std::string, std::string> readOutputs(const std::string& text);

// Of a task that ended well, why outputs of it are not there; empty: nobody knows of any.
std::string outputNoteOf(const TaskState& state);

// Why a node was skipped when it was, with the needs that are not met: "load ended FAILED".
std::string skipText(const FlowVersion& version, const RunProgress& progress, NodeIndex node);
// Of a run that has not ended well, the task that says why: "task load (id 7) failed"; empty: none.
std::string whyNotFinished(const LiveRun& run);
// Conflict: "run 7 of f is PAUSED: WANTED".
Error wrongStatus(const LiveRun& run, std::string_view wanted);
// Why the tasks of a run are stopped that ends for that reason.
std::string_view stopText(RunReason why);
// What a node that waits still waits for: "load (success), check (done)".
std::string openNeedsText(const LiveRun& run, NodeIndex node);

// The first finish_by of the flow's zone later than `plan_time`; zero: the flow has none.
WallTime dueAtOf(const FlowVersion& version, WallTime plan_time);

}  // namespace baton::master
