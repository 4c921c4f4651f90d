#include "common/calendar/work_calendar.h"

#include <algorithm>
#include <charconv>

#include "common/base/json.h"

namespace baton {
namespace {

constexpr std::chrono::days kDay{1};
constexpr int kSearchDays = 366;
constexpr std::chrono::days kNamedAhead{31};

}  // namespace

Result<WorkCalendar> WorkCalendar::make(const std::array<bool, 7>& workdays,
                                        const std::vector<CivilDay>& holidays,
                                        const std::vector<CivilDay>& adjusted) {
  WorkCalendar calendar;
  calendar.workdays_ = workdays;
  calendar.holidays_.insert(holidays.begin(), holidays.end());
  calendar.adjusted_.insert(adjusted.begin(), adjusted.end());
  for (const CivilDay day : adjusted) {
    if (!calendar.holidays_.contains(day)) continue;
    return Error::invalidArgument("calendar: {} is both a holiday and an adjusted workday",
                                  formatCivilDay(day));
  }
  if (std::none_of(workdays.begin(), workdays.end(), [](bool works) { return works; })) {
    return Error::invalidArgument(
        "calendar: no day of the week is a workday; expected at least one");
  }
  for (const CivilDay holiday : calendar.holidays_) {
    if (calendar.workdayAfter(holiday) - holiday < std::chrono::days(kSearchDays)) continue;
    return Error::invalidArgument("calendar: no workday within a year behind {}",
                                  formatCivilDay(holiday));
  }
  return calendar;
}

bool WorkCalendar::isWorkday(CivilDay day) const {
  if (adjusted_.contains(day)) return true;
  if (holidays_.contains(day)) return false;
  return workdays_[std::chrono::weekday(day).c_encoding()];
}

CivilDay WorkCalendar::workdayBefore(CivilDay day) const {
  for (int i = 0; i < kSearchDays && !isWorkday(day); ++i) day -= kDay;
  return day;
}

CivilDay WorkCalendar::workdayAfter(CivilDay day) const {
  for (int i = 0; i < kSearchDays && !isWorkday(day); ++i) day += kDay;
  return day;
}

std::string WorkCalendar::endingText(WallTime now) const {
  const CivilDay today(std::chrono::floor<std::chrono::days>(now.time_since_epoch()));
  std::optional<CivilDay> last;
  for (const std::set<CivilDay>* days : {&holidays_, &adjusted_}) {
    if (!days->empty() && (!last || *days->rbegin() > *last)) last = *days->rbegin();
  }
  if (!last || *last >= today + kNamedAhead) return "";
  return fmt::format("names no day behind {}, from where on the week alone counts",
                     formatCivilDay(*last));
}

Result<CivilDay> parseCivilDay(std::string_view text) {
  int year = 0;
  unsigned month = 0, day = 0;
  const auto read = [](std::string_view digits, auto& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  const bool shaped = text.size() == 10 && text[4] == '-' && text[7] == '-' &&
                      text.find_first_not_of("0123456789-") == text.npos &&
                      read(text.substr(0, 4), year) && read(text.substr(5, 2), month) &&
                      read(text.substr(8, 2), day);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!shaped || !date.ok()) {
    return Error::invalidArgument("\"{}\" is no day, expected one such as 2026-12-24",
                                  truncateUtf8(text, 40));
  }
  return CivilDay(date);
}

std::string formatCivilDay(CivilDay day) {
  const CivilFields f = fieldsOf(day);
  return fmt::format("{:04}-{:02}-{:02}", f.year, f.month, f.day);
}

}  // namespace baton
