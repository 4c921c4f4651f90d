#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "dao/reader.h"
#include "master/flow/flow_version.h"

namespace baton::master {

// The rows of a run, read at one moment.
struct RunRows {
  RunRecord run = {};
  std::vector<TaskRecord> tasks = {};
  // Errors: Corrupt (it can't be read any more, or is gone).
  Result<std::shared_ptr<const FlowVersion>> version =
      Error(ErrorCode::Corrupt, "the version of its flow is gone");
  BootTime read_at{};

  // Those tasks of it that have ended, by their nodes in that version.
  std::map<NodeIndex, TaskRecord> endedOf(const FlowVersion& of) const;
};

// None: there is no such run. `whole`: with its tasks and its version. A reader's thread.
Result<std::optional<RunRows>> readRunRows(dao::Reader& reader, RunId id, BootTime now, bool whole);

}  // namespace baton::master
