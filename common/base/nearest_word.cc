#include "common/base/nearest_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace baton {
namespace {

// How many single changes make one word of the other.
size_t changesBetween(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearestWord(std::string_view text, std::span<const std::string_view> words) {
  text = text.substr(0, 80);
  std::string_view nearest;
  size_t least = std::min<size_t>(4, text.size());
  for (const std::string_view word : words) {
    const size_t changes = changesBetween(word, text);
    if (changes < least) {
      least = changes;
      nearest = word;
    }
  }
  return nearest;
}

std::string hintFor(std::string_view word, std::span<const std::string_view> known) {
  const std::string_view nearest = nearestWord(word, known);
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

}  // namespace baton
