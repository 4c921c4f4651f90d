#include "flow/definition/event_window.h"

#include <algorithm>
#include <array>
#include <optional>

#include "common/base/status.h"
#include "common/yaml/plain_scalar.h"

namespace baton::flow {
namespace {

using std::chrono::days;
using std::chrono::months;

constexpr int64_t kUnitsMax = 1'000;
constexpr Seconds kHour{3'600};

// A window: the current unit, or so many whole ones before it, or one day out of the one before.
struct WindowRule {
  enum class Unit : uint8_t { Hour, Day, Week, Month };
  enum class Part : uint8_t { Whole, Weekday, FirstDay, LastDay };
  Unit unit = Unit::Day;
  int back = 0;  // 0: the current one.
  Part part = Part::Whole;
  int weekday = 0;  // Of Weekday; 0: Monday.
};
using WindowUnit = WindowRule::Unit;
using WindowPart = WindowRule::Part;

struct NamedWindow {
  std::string_view name;
  WindowRule rule;
};
constexpr std::array<NamedWindow, 17> kNamedWindows{{
    {"same_hour", {WindowUnit::Hour, 0, WindowPart::Whole, 0}},
    {"same_day", {WindowUnit::Day, 0, WindowPart::Whole, 0}},
    {"this_week", {WindowUnit::Week, 0, WindowPart::Whole, 0}},
    {"this_month", {WindowUnit::Month, 0, WindowPart::Whole, 0}},
    {"last_hour", {WindowUnit::Hour, 1, WindowPart::Whole, 0}},
    {"last_day", {WindowUnit::Day, 1, WindowPart::Whole, 0}},
    {"last_week", {WindowUnit::Week, 1, WindowPart::Whole, 0}},
    {"last_month", {WindowUnit::Month, 1, WindowPart::Whole, 0}},
    {"last_monday", {WindowUnit::Week, 1, WindowPart::Weekday, 0}},
    {"last_tuesday", {WindowUnit::Week, 1, WindowPart::Weekday, 1}},
    {"last_wednesday", {WindowUnit::Week, 1, WindowPart::Weekday, 2}},
    {"last_thursday", {WindowUnit::Week, 1, WindowPart::Weekday, 3}},
    {"last_friday", {WindowUnit::Week, 1, WindowPart::Weekday, 4}},
    {"last_saturday", {WindowUnit::Week, 1, WindowPart::Weekday, 5}},
    {"last_sunday", {WindowUnit::Week, 1, WindowPart::Weekday, 6}},
    {"last_month_begin", {WindowUnit::Month, 1, WindowPart::FirstDay, 0}},
    {"last_month_end", {WindowUnit::Month, 1, WindowPart::LastDay, 0}},
}};
constexpr std::array<std::pair<std::string_view, WindowUnit>, 4> kUnitWords{
    {{"hours", WindowUnit::Hour},
     {"days", WindowUnit::Day},
     {"weeks", WindowUnit::Week},
     {"months", WindowUnit::Month}}};
constexpr std::array<std::string_view, 15> kWindowNames{
    "same_hour",      "same_day",     "this_week",   "this_month",   "last_hour",
    "last_day",       "last_week",    "last_month",  "last_monday",  "last_month_begin",
    "last_month_end", "last_N_hours", "last_N_days", "last_N_weeks", "last_N_months"};

std::optional<WindowRule> ruleOf(std::string_view name) {
  for (const NamedWindow& named : kNamedWindows) {
    if (named.name == name) return named.rule;
  }
  if (!name.starts_with("last_")) return std::nullopt;
  name.remove_prefix(5);
  const size_t underline = name.find('_');
  if (underline == name.npos) return std::nullopt;
  const auto count = plainInteger(name.substr(0, underline));
  if (!count || *count < 1 || *count > kUnitsMax) return std::nullopt;
  for (const auto& [word, unit] : kUnitWords) {
    if (word == name.substr(underline + 1)) return WindowRule{unit, static_cast<int>(*count)};
  }
  return std::nullopt;
}

// The hour of the clock that an instant lies in. An hour ends where the clock is set as well, so
// that hours follow each other without gap, and both passes of one that comes twice are hours.
PlanRange hourOf(WallTime any_instant, const TimeZone& zone) {
  const WallTime instant = std::chrono::floor<Seconds>(any_instant);  // Zones know no less.
  const CivilTime shown = zone.civilAt(instant);
  const Seconds offset = zone.offsetAt(instant);
  const auto instantAt = [&](CivilTime time) {
    return WallTime(Micros(time.time_since_epoch() - offset));
  };
  const CivilTime begin = std::chrono::floor<std::chrono::hours>(shown);
  PlanRange range{instantAt(begin), instantAt(begin + kHour)};
  if (const auto change = zone.lastChange(instant)) range.from = std::max(range.from, change->at);
  if (const auto change = zone.nextChange(instant)) {
    range.before = std::min(range.before, change->at);
  }
  return range;
}

PlanRange hoursOf(const WindowRule& rule, WallTime plan_time, const TimeZone& zone) {
  const PlanRange current = hourOf(plan_time, zone);
  if (rule.back == 0) return current;
  // 24 hours are a day of the calendar: what runs daily sees every hour once, whatever the clock
  // did in between.
  WallTime from = current.from;
  if (rule.back >= 24) from = zone.instantOf(zone.civilAt(from) - days(rule.back / 24));
  for (int i = 0; i < rule.back % 24; ++i) from = hourOf(from - Seconds(1), zone).from;
  return {from, current.from};
}

CivilDay firstOfMonth(CivilDay day, int months_later) {
  const std::chrono::year_month_day date(day);
  return CivilDay((date.year() / date.month() + months(months_later)) / 1);
}

// From which day up to, not including, which day.
std::pair<CivilDay, CivilDay> daysOf(const WindowRule& rule, CivilDay today) {
  const bool current = rule.back == 0;
  switch (rule.unit) {
    case WindowUnit::Week: {
      const std::chrono::weekday weekday(today);
      const CivilDay monday = today - days(weekday.iso_encoding() - 1);
      const CivilDay from = monday - days(7 * rule.back);
      if (rule.part == WindowPart::Whole) return {from, current ? monday + days(7) : monday};
      return {from + days(rule.weekday), from + days(rule.weekday + 1)};
    }
    case WindowUnit::Month: {
      const CivilDay from = firstOfMonth(today, -rule.back);
      const CivilDay before = firstOfMonth(today, current ? 1 : 0);
      if (rule.part == WindowPart::FirstDay) return {from, from + days(1)};
      if (rule.part == WindowPart::LastDay) return {before - days(1), before};
      return {from, before};
    }
    case WindowUnit::Hour:
    case WindowUnit::Day:
      break;
  }
  return {today - days(rule.back), current ? today + days(1) : today};
}

}  // namespace

bool isEventWindow(std::string_view name) { return ruleOf(name).has_value(); }

std::span<const std::string_view> eventWindowNames() { return kWindowNames; }

PlanRange eventRange(std::string_view name, WallTime plan_time, const TimeZone& zone) {
  const auto rule = ruleOf(name);
  CHECK(rule.has_value());
  if (rule->unit == WindowUnit::Hour) return hoursOf(*rule, plan_time, zone);
  const auto [from, before] = daysOf(*rule, std::chrono::floor<days>(zone.civilAt(plan_time)));
  return {zone.instantOf(from), zone.instantOf(before)};
}

}  // namespace baton::flow
