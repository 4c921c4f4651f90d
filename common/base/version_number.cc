#include "common/base/version_number.h"

#include <algorithm>
#include <charconv>

namespace baton {
namespace {

constexpr size_t kNumbersMax = 4;
constexpr size_t kDigitsMax = 9;

bool isNumber(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool isIdentifier(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-';
  });
}

// Calls `take` with each part between dots until it returns false; true if none did.
template <typename Take>
bool eachPart(std::string_view text, Take take) {
  while (true) {
    const size_t dot = text.find('.');
    if (!take(text.substr(0, dot))) return false;
    if (dot == text.npos) return true;
    text.remove_prefix(dot + 1);
  }
}

// Numbers before words, numbers by value (however long), words by their bytes.
std::strong_ordering comparePreRelease(const std::string& a, const std::string& b) {
  const bool a_number = isNumber(a);
  const bool b_number = isNumber(b);
  if (a_number != b_number) {
    return a_number ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  if (!a_number) return a <=> b;
  const std::string_view x =
      std::string_view(a).substr(std::min(a.find_first_not_of('0'), a.size()));
  const std::string_view y =
      std::string_view(b).substr(std::min(b.find_first_not_of('0'), b.size()));
  if (x.size() != y.size()) return x.size() <=> y.size();
  return x <=> y;
}

}  // namespace

std::optional<VersionNumber> VersionNumber::parse(std::string_view text) {
  VersionNumber version;
  if (const size_t plus = text.find('+'); plus != text.npos) {
    if (!eachPart(text.substr(plus + 1), isIdentifier)) return std::nullopt;
    text = text.substr(0, plus);
  }
  if (const size_t dash = text.find('-'); dash != text.npos) {
    const bool read = eachPart(text.substr(dash + 1), [&](std::string_view part) {
      version.pre_release_.emplace_back(part);
      return isIdentifier(part);
    });
    if (!read) return std::nullopt;
    text = text.substr(0, dash);
  }
  const bool read = eachPart(text, [&](std::string_view part) {
    if (!isNumber(part) || part.size() > kDigitsMax) return false;
    uint32_t number = 0;
    std::from_chars(part.data(), part.data() + part.size(), number);
    version.numbers_.push_back(number);
    return version.numbers_.size() <= kNumbersMax;
  });
  if (!read) return std::nullopt;
  while (!version.numbers_.empty() && version.numbers_.back() == 0) version.numbers_.pop_back();
  return version;
}

std::strong_ordering VersionNumber::operator<=>(const VersionNumber& other) const {
  if (const auto order = numbers_ <=> other.numbers_; order != 0) return order;
  if (pre_release_.empty() != other.pre_release_.empty()) {
    return pre_release_.empty() ? std::strong_ordering::greater : std::strong_ordering::less;
  }
  for (size_t i = 0; i < std::min(pre_release_.size(), other.pre_release_.size()); ++i) {
    const auto order = comparePreRelease(pre_release_[i], other.pre_release_[i]);
    if (order != 0) return order;
  }
  return pre_release_.size() <=> other.pre_release_.size();
}

}  // namespace baton
