#pragma once

#include <cstdint>
#include <cstdlib>

namespace baton::test {

// How many runs, which seed: what a caller may set for a test.
inline uint64_t numberFromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace baton::test
