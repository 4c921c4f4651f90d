#pragma once

#include <span>
#include <string>
#include <string_view>

// Hints for those who mistyped a word.
namespace baton {

// The word that `text` was probably meant to be: the one with the fewest changes, at most three
// and fewer than it has letters; empty if there is none.
std::string_view nearestWord(std::string_view text, std::span<const std::string_view> words);

// "; did you mean x?", or nothing.
std::string hintFor(std::string_view word, std::span<const std::string_view> known);

}  // namespace baton
