#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

// A version such as "1.10.2" or "1.2.0-rc.1+build7", ordered as Semantic Versioning 2.0.0 has it
// (section 11): number by number and not as text, a pre-release before its release, what stands
// behind "+" not at all. Missing numbers count as 0, so "1.2" is "1.2.0".
class VersionNumber {
 public:
  // Nothing if the text is no version: one to four numbers of at most nine digits with dots in
  // between, then the optional parts.
  static std::optional<VersionNumber> parse(std::string_view text);

  std::strong_ordering operator<=>(const VersionNumber& other) const;
  bool operator==(const VersionNumber& other) const { return (*this <=> other) == 0; }

 private:
  std::vector<uint32_t> numbers_;         // Without zeros at the end.
  std::vector<std::string> pre_release_;  // Empty: a release.
};

}  // namespace baton
