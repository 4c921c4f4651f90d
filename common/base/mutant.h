#pragma once

#include <string_view>

namespace baton {

// Switches that break one promise each, compiled in by the `mutants` preset alone, to show that
// the tests can fail. The environment variable BATON_MUTANT names the one that is on.
#if BATON_MUTANTS
bool mutant(std::string_view name);
#else
constexpr bool mutant(std::string_view) { return false; }
#endif

}  // namespace baton
