#pragma once

#include <string>

#include "cli/session.h"

namespace baton::cli {

// Whether what can't be undone is to be done: `yes`, or the person at the terminal says so.
// `what` ("flow x is to be deleted") is for the error. Errors: InvalidArgument (nobody to ask).
Result<bool> confirmed(Session& session, bool yes, const std::string& what,
                       const std::string& question);

}  // namespace baton::cli
