#pragma once

#include "common/base/random.h"

namespace baton::test {

// True with the given probability (0..1), by whole millionths.
inline bool chance(Random& random, double probability) {
  return static_cast<double>(random.between(0, 999'999)) < probability * 1'000'000;
}

}  // namespace baton::test
