#include "flow/definition/plan_date.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "common/base/json.h"

namespace baton::flow {
namespace {

using Unit = DateStep::Unit;
using std::chrono::days;

constexpr int64_t kCountMax = 100'000;
constexpr std::array<std::string_view, 12> kMonths{"January",   "February", "March",    "April",
                                                   "May",       "June",     "July",     "August",
                                                   "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> kWeekdays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                    "Thursday", "Friday", "Saturday"};

struct UnitName {
  std::string_view name;
  Unit unit;
};
constexpr std::array<UnitName, 7> kSteps{{{"y", Unit::Year},
                                          {"mo", Unit::Month},
                                          {"w", Unit::Week},
                                          {"d", Unit::Day},
                                          {"h", Unit::Hour},
                                          {"m", Unit::Minute},
                                          {"s", Unit::Second}}};
constexpr std::array<UnitName, 9> kEdges{{{"hour_start", Unit::HourStart},
                                          {"day_start", Unit::DayStart},
                                          {"week_start", Unit::WeekStart},
                                          {"week_end", Unit::WeekEnd},
                                          {"month_start", Unit::MonthStart},
                                          {"month_end", Unit::MonthEnd},
                                          {"quarter_start", Unit::QuarterStart},
                                          {"year_start", Unit::YearStart},
                                          {"year_end", Unit::YearEnd}}};

CivilTime dayOf(int year, unsigned month, unsigned day) {
  return civilFrom({.year = year, .month = month, .day = day});
}

CivilTime addMonths(CivilTime time, int64_t months) {
  CivilFields f = fieldsOf(time);
  const int64_t total = int64_t{f.year} * 12 + (f.month - 1) + months;
  const int64_t year = total >= 0 ? total / 12 : (total - 11) / 12;
  if (year < 1 || year > 9999) return CivilTime::max();
  f.year = static_cast<int>(year);
  f.month = static_cast<unsigned>(total - year * 12) + 1;
  f.day = std::min(f.day, lastDayOf(f.year, f.month));
  return civilFrom(f);
}

CivilTime edgeOf(CivilTime time, Unit unit) {
  const CivilFields f = fieldsOf(time);
  const auto day = std::chrono::floor<days>(time);
  const int since_monday = (static_cast<int>(f.weekday) + 6) % 7;
  switch (unit) {
    case Unit::HourStart:
      return std::chrono::floor<std::chrono::hours>(time);
    case Unit::WeekStart:
      return day - days(since_monday);
    case Unit::WeekEnd:
      return day + days(6 - since_monday);
    case Unit::MonthStart:
      return dayOf(f.year, f.month, 1);
    case Unit::MonthEnd:
      return dayOf(f.year, f.month, lastDayOf(f.year, f.month));
    case Unit::QuarterStart:
      return dayOf(f.year, (f.month - 1) / 3 * 3 + 1, 1);
    case Unit::YearStart:
      return dayOf(f.year, 1, 1);
    case Unit::YearEnd:
      return dayOf(f.year, 12, 31);
    default:
      return day;
  }
}

CivilTime addStep(CivilTime time, const DateStep& step) {
  switch (step.unit) {
    case Unit::Year:
      return addMonths(time, step.count * 12);
    case Unit::Month:
      return addMonths(time, step.count);
    case Unit::Week:
      return time + days(7 * step.count);
    case Unit::Day:
      return time + days(step.count);
    case Unit::Hour:
      return time + std::chrono::hours(step.count);
    case Unit::Minute:
      return time + std::chrono::minutes(step.count);
    case Unit::Second:
      return time + Seconds(step.count);
    default:
      return edgeOf(time, step.unit);
  }
}

// Everything that a letter of a format may need.
struct ShownDate {
  CivilFields f;
  int64_t day_of_year;  // From 0.
  int64_t iso_year;
  int64_t iso_week;
  Seconds offset;
  int64_t epoch;
};

ShownDate shownDate(WallTime instant, const TimeZone& zone) {
  const CivilTime time = zone.civilAt(instant);
  const auto day = std::chrono::floor<days>(time);
  ShownDate d{.f = fieldsOf(time),
              .day_of_year = 0,
              .iso_year = 0,
              .iso_week = 0,
              .offset = zone.offsetAt(instant),
              .epoch = std::chrono::floor<Seconds>(instant.time_since_epoch()).count()};
  d.day_of_year = (day - std::chrono::floor<days>(dayOf(d.f.year, 1, 1))).count();
  // The Thursday of a week decides to which year it belongs.
  const auto thursday = day + days(3 - (static_cast<int>(d.f.weekday) + 6) % 7);
  const CivilFields t = fieldsOf(thursday);
  d.iso_year = t.year;
  d.iso_week = (thursday - std::chrono::floor<days>(dayOf(t.year, 1, 1))).count() / 7 + 1;
  return d;
}

std::string padded(int64_t value, int width, bool pad) {
  return pad ? fmt::format("{:0{}}", value, width) : fmt::format("{}", value);
}

std::string offsetText(Seconds offset, bool colon) {
  const int64_t minutes = std::abs(offset.count()) / 60;
  return fmt::format("{}{:02}{}{:02}", offset.count() < 0 ? '-' : '+', minutes / 60,
                     colon ? ":" : "", minutes % 60);
}

// The text of one letter; none if there is no such letter.
std::optional<std::string> letterText(char letter, bool pad, const ShownDate& d) {
  const CivilFields& f = d.f;
  const unsigned hour12 = f.hour % 12 == 0 ? 12 : f.hour % 12;
  switch (letter) {
    case 'Y':
      return padded(f.year, 4, pad);
    case 'y':
      return padded(f.year % 100, 2, pad);
    case 'C':
      return padded(f.year / 100, 2, pad);
    case 'm':
      return padded(f.month, 2, pad);
    case 'd':
      return padded(f.day, 2, pad);
    case 'e':
      return pad ? fmt::format("{:2}", f.day) : fmt::format("{}", f.day);
    case 'j':
      return padded(d.day_of_year + 1, 3, pad);
    case 'H':
      return padded(f.hour, 2, pad);
    case 'I':
      return padded(hour12, 2, pad);
    case 'M':
      return padded(f.minute, 2, pad);
    case 'S':
      return padded(f.second, 2, pad);
    case 'p':
      return f.hour < 12 ? "AM" : "PM";
    case 'F':
      return fmt::format("{:04}-{:02}-{:02}", f.year, f.month, f.day);
    case 'D':
      return fmt::format("{:02}/{:02}/{:02}", f.month, f.day, f.year % 100);
    case 'T':
      return fmt::format("{:02}:{:02}:{:02}", f.hour, f.minute, f.second);
    case 'R':
      return fmt::format("{:02}:{:02}", f.hour, f.minute);
    case 'a':
      return std::string(kWeekdays[f.weekday].substr(0, 3));
    case 'A':
      return std::string(kWeekdays[f.weekday]);
    case 'b':
    case 'h':
      return std::string(kMonths[f.month - 1].substr(0, 3));
    case 'B':
      return std::string(kMonths[f.month - 1]);
    case 'u':
      return fmt::format("{}", f.weekday == 0 ? 7 : f.weekday);
    case 'w':
      return fmt::format("{}", f.weekday);
    case 'G':
      return padded(d.iso_year, 4, pad);
    case 'g':
      return padded(d.iso_year % 100, 2, pad);
    case 'V':
      return padded(d.iso_week, 2, pad);
    case 'U':
      return padded((d.day_of_year + 7 - f.weekday) / 7, 2, pad);
    case 'W':
      return padded((d.day_of_year + 7 - (f.weekday + 6) % 7) / 7, 2, pad);
    case 'z':
      return offsetText(d.offset, false);
    case 's':
      return fmt::format("{}", d.epoch);
    case '%':
      return "%";
    default:
      return std::nullopt;
  }
}

// Walks a format; `letter` gets each letter with its flag, `plain` all else. False if a letter is
// refused.
template <typename Letter, typename Plain>
std::optional<std::string> walkFormat(std::string_view format, Letter letter, Plain plain) {
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      plain(format[i]);
      continue;
    }
    const size_t begin = i++;
    char flag = 0;
    if (i < format.size() && (format[i] == '-' || format[i] == ':')) flag = format[i++];
    const bool known = i < format.size() && (flag != ':' || format[i] == 'z') &&
                       letter(i < format.size() ? format[i] : '\0', flag);
    if (!known) return std::string(format.substr(begin, i - begin + 1));
  }
  return std::nullopt;
}

struct PatternLetters {
  std::string_view letters;
  std::string_view format;
};
constexpr std::array<PatternLetters, 26> kPatterns{
    {{"yyyy", "%Y"}, {"yy", "%y"},   {"uuuu", "%Y"}, {"MMMM", "%B"}, {"MMM", "%b"}, {"MM", "%m"},
     {"M", "%-m"},   {"dd", "%d"},   {"d", "%-d"},   {"DDD", "%j"},  {"D", "%-j"},  {"HH", "%H"},
     {"H", "%-H"},   {"hh", "%I"},   {"h", "%-I"},   {"mm", "%M"},   {"m", "%-M"},  {"ss", "%S"},
     {"s", "%-S"},   {"SSS", "000"}, {"a", "%p"},    {"EEEE", "%A"}, {"EEE", "%a"}, {"E", "%a"},
     {"u", "%u"},    {"Z", "%z"}}};

}  // namespace

Result<DateStep> parseDateStep(std::string_view text) {
  for (const UnitName& edge : kEdges) {
    if (edge.name == text) return DateStep{edge.unit, 0};
  }
  DateStep step;
  std::string_view rest = text;
  if (!rest.empty() && (rest[0] == '+' || rest[0] == '-')) {
    rest.remove_prefix(1);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), step.count);
    const bool digits = !rest.empty() && rest[0] >= '0' && rest[0] <= '9' && error == std::errc();
    if (digits && step.count <= kCountMax) {
      rest.remove_prefix(static_cast<size_t>(end - rest.data()));
      if (text[0] == '-') step.count = -step.count;
      for (const UnitName& unit : kSteps) {
        if (unit.name == rest) {
          step.unit = unit.unit;
          return step;
        }
      }
    }
  }
  std::string edges;
  for (const UnitName& edge : kEdges) edges += fmt::format(", {}", edge.name);
  return Error::invalidArgument(
      "\"{}\" is no step in time; expected +N or -N and one of y, mo, w, d, h, m, s{}",
      truncateUtf8(text, 40), edges);
}

Result<CivilTime> addSteps(CivilTime time, std::span<const DateStep> steps) {
  for (const DateStep& step : steps) {
    time = addStep(time, step);
    if (time < dayOf(1, 1, 1) || time > dayOf(9999, 12, 31)) {
      return Error::invalidArgument("the date leaves the years 1 to 9999");
    }
  }
  return time;
}

WallTime instantOf(CivilTime time, const TimeZone& zone, std::optional<Seconds> like) {
  const auto with = [&](Seconds offset) {
    return WallTime(Micros(time.time_since_epoch() - offset));
  };
  const Seconds before = zone.offsetAt(with(Seconds(0)) - days(1));
  const Seconds after = zone.offsetAt(with(Seconds(0)) + days(1));
  for (const Seconds offset : {like.value_or(before), before, after}) {
    if (zone.offsetAt(with(offset)) == offset) return with(offset);
  }
  return with(before);  // The clock jumps over it.
}

Status checkDateFormat(std::string_view format) {
  const ShownDate any = shownDate(WallTime{}, TimeZone::utc());
  const auto wrong = walkFormat(
      format, [&](char letter, char) { return letterText(letter, true, any).has_value(); },
      [](char) {});
  if (!wrong) return {};
  return Error::invalidArgument(
      "\"{}\" is no part of a date format; expected letters of strftime such as %Y%m%d %H:%M:%S",
      truncateUtf8(*wrong, 20));
}

std::string formatDate(std::string_view format, WallTime instant, const TimeZone& zone) {
  const ShownDate date = shownDate(instant, zone);
  std::string out;
  walkFormat(
      format,
      [&](char letter, char flag) {
        if (flag == ':') {
          out += offsetText(date.offset, true);
          return true;
        }
        const auto text = letterText(letter, flag != '-', date);
        out += text.value_or("");
        return text.has_value();
      },
      [&](char c) { out += c; });
  return out;
}

Result<std::string> formatFromPattern(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size();) {
    const char c = pattern[i];
    if (c == '\'') {
      const size_t end = pattern.find('\'', i + 1);
      if (end == pattern.npos) return Error::invalidArgument("a quote in the pattern has no end");
      for (const char inside : pattern.substr(i + 1, end - i - 1)) {
        out += inside == '%' ? "%%" : std::string(1, inside);
      }
      if (end == i + 1) out += '\'';
      i = end + 1;
      continue;
    }
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
      out += c == '%' ? "%%" : std::string(1, c);
      ++i;
      continue;
    }
    const std::string_view run =
        pattern.substr(i, std::min(pattern.find_first_not_of(c, i), pattern.size()) - i);
    const auto known = std::find_if(kPatterns.begin(), kPatterns.end(),
                                    [&](const PatternLetters& p) { return p.letters == run; });
    if (known == kPatterns.end()) {
      return Error::invalidArgument(
          "\"{}\" has no meaning in a date pattern; expected for example yyyyMMdd or "
          "yyyy-MM-dd HH:mm:ss",
          truncateUtf8(run, 20));
    }
    out += known->format;
    i += run.size();
  }
  return out;
}

}  // namespace baton::flow
