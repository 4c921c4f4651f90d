#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "worker/shepherd.h"

// The test program is its own shepherd, as the baton program is.
int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "shepherd") {
    return baton::worker::runShepherd(std::vector<std::string>(argv + 2, argv + argc));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
