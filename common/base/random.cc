#include "common/base/random.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <span>

#include "common/base/status.h"

namespace baton {
namespace {

void fillFromKernel(std::span<unsigned char> bytes) {
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    if (got > 0) filled += static_cast<size_t>(got);
  }
}

}  // namespace

std::string makeUuid() {
  std::array<unsigned char, 16> raw{};
  fillFromKernel(raw);
  raw[6] = static_cast<unsigned char>((raw[6] & 0x0f) | 0x40);
  raw[8] = static_cast<unsigned char>((raw[8] & 0x3f) | 0x80);
  std::string text;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", raw[i]);
  }
  return text;
}

std::string randomHex(size_t bytes) {
  std::string raw(bytes, '\0');
  fillFromKernel({reinterpret_cast<unsigned char*>(raw.data()), raw.size()});
  std::string text;
  for (const char c : raw) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

Random Random::fromKernel() {
  uint64_t seed = 0;
  fillFromKernel({reinterpret_cast<unsigned char*>(&seed), sizeof(seed)});
  return Random(seed);
}

int64_t Random::between(int64_t low, int64_t high) {
  CHECK(low <= high);
  return std::uniform_int_distribution<int64_t>(low, high)(engine_);
}

}  // namespace baton
