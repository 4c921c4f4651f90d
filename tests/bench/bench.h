#pragma once

#include <string>
#include <vector>

namespace baton::bench {

// The verb `baton bench`: measures baton on a cluster that it starts itself or on a given one, and
// the limits of the machine in the same run. `arguments` are those behind the verb. Prints to
// standard output; returns the exit code: 0 measured, 1 a run failed or its counts do not add up,
// 2 wrong usage.
int runBench(const std::vector<std::string>& arguments);

}  // namespace baton::bench
