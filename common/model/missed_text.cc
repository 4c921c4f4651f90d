#include "common/model/missed_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/duration_text.h"

namespace baton {
namespace {

// By the reasons of MissedReason, and those of Planner::giveUp.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kTexts{{
    {"policy_none", "nobody could begin it in time, and the misfire policy was none"},
    {"not_the_latest",
     "nobody could begin it in time, and the misfire policy was to run the latest one alone"},
    {"over_max", "nobody could begin it in time, and newer ones made up the number of misfire.max"},
    {"too_old", "nobody could begin it in time, and it was older than misfire.within"},
    {"offline", "it was due and not begun when the flow went offline"},
    {"redefined", "it was due and not begun when the flow got another schedule"},
}};

}  // namespace

std::string missedText(const MissedRecord& missed) {
  const auto* const known = std::find_if(
      kTexts.begin(), kTexts.end(), [&](const auto& text) { return text.first == missed.reason; });
  std::string text(known == kTexts.end() ? std::string_view(missed.reason) : known->second);
  const Micros late = missed.recorded_at - missed.plan_time;
  if (late >= Seconds(1)) {
    const auto seconds = std::chrono::duration_cast<Seconds>(late);
    text += fmt::format("; found {} late", formatDuration(seconds));
  }
  return text;
}

std::vector<std::string_view> missedReasons() {
  std::vector<std::string_view> reasons;
  for (const auto& [reason, text] : kTexts) reasons.push_back(reason);
  return reasons;
}

}  // namespace baton
