#pragma once

#include <string>

#include "cli/session.h"

// Verbs of the project's parameters; each returns the exit code.
namespace baton::cli {

int paramList(Session& session);
int paramGet(Session& session, const std::string& name);
// `value` "-": standard input, without the line break at its end.
int paramSet(Surroundings& surroundings, Session& session, const std::string& name,
             const std::string& value);
int paramDelete(Session& session, const std::string& name, bool yes);

}  // namespace baton::cli
