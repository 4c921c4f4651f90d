#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/clock.h"

// How values that people write by hand are read, in settings and definitions alike.
namespace baton {

// Plain decimal without sign, leading zero or exponent, so that nobody has to know which version
// of YAML says what 010 is.
std::optional<int64_t> plainInteger(std::string_view text);

// Plain decimal, with a fraction if wanted ("2", "1.5"), under the same rules.
std::optional<double> plainNumber(std::string_view text);

// A number of bytes, plain or with K, M, G or T (powers of 1024), with or without a B: "64MB",
// "2G".
std::optional<int64_t> plainBytes(std::string_view text);

// A duration each of whose numbers is plain.
std::optional<Millis> plainDuration(std::string_view text);

}  // namespace baton
