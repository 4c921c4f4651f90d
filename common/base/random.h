#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace baton {

// A version 4 UUID from the kernel's random source. Any thread.
std::string makeUuid();

// `bytes` random bytes from the kernel as lower-case hex: for tokens and nonces. Any thread.
std::string randomHex(size_t bytes);

// Seeded generator for jitter and simulations; the seed makes a run repeatable. One thread.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // A generator seeded from the kernel.
  static Random fromKernel();

  // Uniform in [low, high], both included.
  int64_t between(int64_t low, int64_t high);
  uint64_t next() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace baton
