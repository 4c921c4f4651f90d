#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/model/flow_records.h"

namespace baton {

// Why a missed instant was not run, as one sentence for people.
std::string missedText(const MissedRecord& missed);

// The reasons that missed instants have: "policy_none", …
std::vector<std::string_view> missedReasons();

}  // namespace baton
