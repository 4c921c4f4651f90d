#include <array>

#include "ha/failover.h"

namespace baton::ha {

std::string_view toString(FailoverState state) {
  static constexpr std::array<std::string_view, 16> kNames{
      "INIT",      "CONNECTING", "JOINING",      "STANDBY", "OBSERVER",        "CONTENDING",
      "ACQUIRING", "VERIFYING",  "PROMOTING",    "ACTIVE",  "ACTIVE_ISOLATED", "FROZEN",
      "DRAINING",  "DEMOTING",   "FATAL_CONFIG", "STOPPED"};
  return kNames[static_cast<size_t>(state)];
}

}  // namespace baton::ha
