#pragma once

#include <string>

#include "common/protocol/heartbeat.h"

namespace baton::worker {

// Load, memory and free disk (of the file system with `data_dir`) as they are now. What can't be
// read is 0.
HostFigures readHostFigures(const std::string& data_dir);

}  // namespace baton::worker
