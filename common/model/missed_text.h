#pragma once

#include <string>

#include "common/model/flow_records.h"

namespace baton {

// Why a missed instant was not run, as one sentence for people.
std::string missedText(const MissedRecord& missed);

}  // namespace baton
