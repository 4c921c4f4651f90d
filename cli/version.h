#pragma once

#include <ostream>
#include <string>

#include "common/base/json.h"

namespace baton::cli {

// What this program is: version, compiler, build and the versions of its contracts.
Json versionParts();
// Prints "baton 0.1.0", or the parts as JSON or YAML. Returns the exit code.
int printVersion(std::ostream& out, std::ostream& err, const std::string& output);

}  // namespace baton::cli
