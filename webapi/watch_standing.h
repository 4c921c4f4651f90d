#pragma once

#include <optional>
#include <string>

#include "master/api/flow_ports.h"
#include "master/api/ports.h"
#include "master/api/watch_port.h"

namespace baton::webapi {

// How the one task or the one run stands that a watcher asks for, as blocks of events without ids:
// what makes up for changes that are not known here, because another master led or because they are
// not kept any more. A status may be passed over by it, the last one never is, which is all that
// the stream promises. Nothing when the filter names neither, the run has too many tasks, or the
// database does not answer: then the watcher has to read lists. Reads from the database.
std::optional<std::string> standingText(const master::api::WatchFilter& filter,
                                        master::api::TaskPort& tasks, master::api::RunPort& runs);

}  // namespace baton::webapi
