#include "common/calendar/schedule_preview.h"

#include <array>
#include <cstdlib>

#include "common/base/duration_text.h"

namespace baton {
namespace {

template <typename Value>
struct PreviewWord {
  std::string_view word;
  Value value;
};

// The value of `word`; an empty one is the first.
template <typename Value, size_t N>
Result<Value> valueOf(std::string_view option, std::string_view word,
                      const std::array<PreviewWord<Value>, N>& words) {
  if (word.empty()) return words.front().value;
  std::string expected;
  for (const auto& known : words) {
    if (known.word == word) return known.value;
    if (known.word.empty()) continue;
    if (!expected.empty()) expected += " or ";
    expected += known.word;
  }
  return Error(ErrorCode::InvalidArgument,
               fmt::format("is \"{}\", expected {}", truncateUtf8(word, 40), expected),
               std::string(option));
}

constexpr std::array<PreviewWord<CronDialect>, 3> kDialects{
    {{"", CronDialect::Auto}, {"unix5", CronDialect::Unix5}, {"quartz", CronDialect::Quartz}}};
constexpr std::array<PreviewWord<GapPolicy>, 2> kGaps{
    {{"run_after", GapPolicy::RunAfter}, {"skip", GapPolicy::Skip}}};
constexpr std::array<PreviewWord<OverlapPolicy>, 3> kOverlaps{{{"first", OverlapPolicy::First},
                                                               {"second", OverlapPolicy::Second},
                                                               {"both", OverlapPolicy::Both}}};
constexpr std::array<std::string_view, 7> kWeekdays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                    "Thursday", "Friday", "Saturday"};

std::string utcText(WallTime instant) {
  std::string text = formatRfc3339(instant, TimeZone::utc());
  text.resize(text.size() - 6);
  return text + "Z";
}

std::string shiftText(const TimeZone::Change& change) {
  const Seconds by = change.after - change.before;
  return fmt::format("{}{}", by.count() < 0 ? "back by " : "forward by ",
                     formatDuration(Seconds(std::abs(by.count()))));
}

}  // namespace

Result<CronSchedule> makeCronSchedule(const PreviewRequest& request) {
  ASSIGN_OR_RETURN(const CronDialect dialect, valueOf("dialect", request.dialect, kDialects));
  ASSIGN_OR_RETURN(const GapPolicy gap, valueOf("gap", request.gap, kGaps));
  ASSIGN_OR_RETURN(const OverlapPolicy overlap, valueOf("overlap", request.overlap, kOverlaps));
  auto expression = CronExpression::parse(request.cron, dialect, request.hash_key);
  if (!expression.ok()) return Error(expression.error()).withField("cron");
  auto zone = TimeZone::load(request.timezone);
  if (!zone.ok()) return Error(zone.error()).withField("timezone");
  return CronSchedule(std::move(*expression), std::move(*zone), gap, overlap);
}

Result<Json> previewSchedule(const PreviewRequest& request) {
  if (request.count < 1 || request.count > 1000) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("is {}, expected 1 to 1000", request.count), "limit");
  }
  ASSIGN_OR_RETURN(const CronSchedule schedule, makeCronSchedule(request));
  const TimeZone& zone = schedule.zone();
  Json items = Json::array();
  WallTime from = request.after;
  while (items.size() < request.count) {
    const auto next = schedule.next(from);
    if (!next) break;
    items.push_back({{"utc", utcText(*next)},
                     {"local", formatRfc3339(*next, zone)},
                     {"weekday", kWeekdays[fieldsOf(zone.civilAt(*next)).weekday]}});
    from = *next;
  }
  Json change = nullptr;
  if (const auto next = zone.nextChange(request.after)) {
    change = {{"utc", utcText(next->at)},
              {"local", formatRfc3339(next->at, zone)},
              {"shift", shiftText(*next)}};
  }
  return Json{{"cron", request.cron},
              {"timezone", zone.name()},
              {"items", std::move(items)},
              {"next_clock_change", std::move(change)}};
}

}  // namespace baton
