#include "common/base/duration_text.h"

#include <array>
#include <charconv>

namespace baton {
namespace {

struct Unit {
  std::string_view name;
  int64_t ms;
};
constexpr std::array<Unit, 5> kUnits{
    Unit{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};
constexpr int64_t kLongestMs = 100LL * 366 * 86'400'000;

}  // namespace

Result<Millis> parseDuration(std::string_view text) {
  const auto wrong = [&] {
    return Error::invalidArgument("\"{}\" is not a duration; expected for example 250ms, 90s, 2h",
                                  text.substr(0, 40));
  };
  int64_t total = 0;
  unsigned named = 0;  // Units, a bit each: one that stands twice is a slip.
  std::string_view rest = text;
  if (rest.empty()) return wrong();
  while (!rest.empty()) {
    int64_t count = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
    if (error != std::errc{} || count < 0 || count > kLongestMs) return wrong();
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    const std::string_view name = rest.substr(0, rest.find_first_not_of("dhms"));
    int64_t unit_ms = 0;
    for (size_t i = 0; i < kUnits.size(); ++i) {
      if (kUnits[i].name != name) continue;
      if ((named & 1U << i) != 0) return wrong();
      named |= 1U << i;
      unit_ms = kUnits[i].ms;
    }
    if (unit_ms == 0 || count > kLongestMs / unit_ms) return wrong();
    total += count * unit_ms;
    if (total > kLongestMs) return wrong();
    rest.remove_prefix(name.size());
  }
  return Millis(total);
}

std::string formatDuration(Millis duration) {
  const int64_t ms = duration.count();
  for (const Unit& unit : kUnits) {
    if (ms != 0 && ms % unit.ms == 0) return fmt::format("{}{}", ms / unit.ms, unit.name);
  }
  return fmt::format("{}ms", ms);
}

}  // namespace baton
