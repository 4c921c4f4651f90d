#include "common/base/mutant.h"

#if BATON_MUTANTS
#include <cstdlib>
#include <string>

namespace baton {

bool mutant(std::string_view name) {
  static const std::string on = [] {
    const char* value = std::getenv("BATON_MUTANT");
    return std::string(value == nullptr ? "" : value);
  }();
  return on == name;
}

}  // namespace baton
#endif
