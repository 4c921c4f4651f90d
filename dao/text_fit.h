#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"

// Text on its way into a column: what is for people is cut and mended, what names a thing is
// refused, so that no statement of a whole batch dies of one value.
namespace baton::dao {

// Text for people: bytes that are not UTF-8 become U+FFFD, and what is over `bytes_max` is cut on
// a character boundary and marked with "…". The result borrows `text` or `scratch`.
std::string_view fitText(std::string_view text, size_t bytes_max, std::string& scratch);

// Why a text can't be stored in a column of `chars_max` characters, or empty if it can.
std::string whyUnfit(std::string_view column, std::string_view text, size_t chars_max);
// The same for a column that is limited in bytes.
std::string whyUnfitBytes(std::string_view column, std::string_view text, size_t bytes_max);

}  // namespace baton::dao
