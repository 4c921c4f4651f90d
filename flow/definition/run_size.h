#pragma once

#include <cstddef>

#include "flow/definition/flow_spec.h"

namespace baton::flow {

// What the specifications of all tasks of one run may come to. A task gets its own copy of the
// flow's params and defaults, and all tasks of a run may start in one turn of the master: so much
// is resolved and stored well below a second.
inline constexpr size_t kRunBytesMax = 32 * 1024 * 1024;

struct RunSize {
  size_t bytes = 0;          // Of all tasks; behind the limit an estimate.
  std::string largest = {};  // The task with the most bytes among those that were counted.
  size_t largest_bytes = 0;

  bool tooLarge() const { return bytes > kRunBytesMax; }
  // "a run comes to about 1080 MB …"; for people.
  std::string text(const FlowSpec& flow) const;
};

// Of the parameters of the project those that the flow uses.
ParamMap usedOf(const FlowSpec& flow, const ParamMap& project);

// What a run with these start parameters comes to, as far as that is known before any task has
// ended: the bytes of every text with its placeholders put in, and 32 for each value that is looked
// up on the way. Costs as much as resolving them, but not beyond the limit.
// Of the parameters of the project those count that the flow uses.
RunSize measureRun(const FlowSpec& flow, const ParamMap& startup = {},
                   const ParamMap& project = {});

}  // namespace baton::flow
