#pragma once

#include <string>

#include "cli/session.h"

namespace baton::cli {

// Prints why a task or run is as it is. `noun` is for people, `path` its address. Returns the exit
// code.
int explain(Session& session, const char* noun, const std::string& path, const std::string& id);

// The same for an address that says itself what it is about.
int explainAt(Session& session, const std::string& noun, const std::string& id,
              const std::string& target);

}  // namespace baton::cli
