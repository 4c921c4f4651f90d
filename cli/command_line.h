#pragma once

#include <string>
#include <vector>

#include "cli/programs.h"
#include "cli/session.h"

namespace baton::cli {

// Reads one command line (without the program's name) and does what it says. Returns the exit
// code: 2 for a command line that is wrong, 0 for help.
int run(const std::vector<std::string>& arguments, const Programs& programs,
        Surroundings& surroundings);

// Every verb, as the words that name it.
std::vector<std::vector<std::string>> allVerbs(const Programs& programs);

}  // namespace baton::cli
