#pragma once

#include <string>

#include "cli/session.h"

namespace baton::cli {

// Prints why a task or run is as it is. `noun` is for people, `path` its address. Returns the exit
// code.
int explain(Session& session, const char* noun, const std::string& path, const std::string& id);

}  // namespace baton::cli
