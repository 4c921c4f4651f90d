#include "common/yaml/plain_scalar.h"

#include <algorithm>
#include <charconv>

#include "common/base/duration_text.h"

namespace baton {
std::optional<int64_t> plainInteger(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::optional<double> plainNumber(std::string_view text) {
  const size_t point = text.find('.');
  const auto whole = plainInteger(text.substr(0, point));
  if (!whole) return std::nullopt;
  if (point == text.npos) return static_cast<double>(*whole);
  const std::string_view fraction = text.substr(point + 1);
  const bool digits =
      std::all_of(fraction.begin(), fraction.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (fraction.empty() || fraction.size() > 15 || !digits) return std::nullopt;
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  return number;
}

std::optional<int64_t> plainBytes(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  int64_t factor = 1;
  const bool unit_with_b = text.size() > 1 && text.back() == 'B';
  const std::string_view body = unit_with_b ? text.substr(0, text.size() - 1) : text;
  if (const size_t unit = body.empty() ? body.npos : kUnits.find(body.back()); unit != body.npos) {
    factor = int64_t{1} << (10 * (unit + 1));
    text = body.substr(0, body.size() - 1);
  }
  const auto number = plainInteger(text);
  if (!number || *number > INT64_MAX / factor) return std::nullopt;
  return *number * factor;
}

std::optional<Millis> plainDuration(std::string_view text) {
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    const bool starts_number = i == 0 || text[i - 1] < '0' || text[i - 1] > '9';
    if (starts_number && text[i] == '0' && text[i + 1] >= '0' && text[i + 1] <= '9') {
      return std::nullopt;
    }
  }
  const auto parsed = parseDuration(text);
  if (!parsed.ok()) return std::nullopt;
  return *parsed;
}

}  // namespace baton
