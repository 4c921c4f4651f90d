#include "flow/calendar/ical_import.h"

#include <libical/ical.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "common/base/json.h"
#include "flow/calendar/calendar_spec.h"

namespace baton::flow {
namespace {

constexpr size_t kIcalBytesMax = 4 * 1024 * 1024;
constexpr size_t kLeftOutShown = 20;
constexpr size_t kRepetitionsMax = 500;
constexpr std::chrono::years kIcalYearsMax{50};
constexpr std::chrono::days kIcalDay{1};
constexpr std::chrono::days kIcalEventDaysMax{3'660};

struct ComponentFree {
  void operator()(icalcomponent* component) const { icalcomponent_free(component); }
};
using Component = std::unique_ptr<icalcomponent, ComponentFree>;

CivilDay dayOf(const icaltimetype& time) {
  return CivilDay(std::chrono::year_month_day{std::chrono::year(time.year),
                                              std::chrono::month(static_cast<unsigned>(time.month)),
                                              std::chrono::day(static_cast<unsigned>(time.day))});
}

CivilDay dayOf(time_t utc) {
  return std::chrono::floor<std::chrono::days>(
      std::chrono::local_seconds(std::chrono::seconds(utc)));
}

icaltimetype dateOf(CivilDay day) {
  const CivilFields fields = fieldsOf(day);
  icaltimetype time = icaltime_null_date();
  time.year = fields.year;
  time.month = static_cast<int>(fields.month);
  time.day = static_cast<int>(fields.day);
  return time;
}

std::string textOf(const char* text) { return text == nullptr ? std::string() : text; }

bool isDay(const icaltimetype& time) {
  return time.is_date != 0 &&
         std::chrono::year_month_day{std::chrono::year(time.year),
                                     std::chrono::month(static_cast<unsigned>(time.month)),
                                     std::chrono::day(static_cast<unsigned>(time.day))}
             .ok();
}

std::string dateText(const icaltimetype& time) {
  return fmt::format("{:04}{:02}{:02}{}", time.year, time.month, time.day,
                     time.is_date != 0 ? "" : "T…");
}

// Days of one event go into `days`; those that are changed by another entry stay out.
struct Spans {
  const IcalQuestion& question;
  const std::set<std::pair<std::string, CivilDay>>& changed;
  std::string uid;
  std::chrono::days length;     // Of each occurrence.
  bool counts_changed = false;  // The event is such a change itself.
  std::set<CivilDay>& days;
  size_t found = 0;
};

void takeSpan(icalcomponent*, icaltime_span* span, void* data) {
  Spans& spans = *static_cast<Spans*>(data);
  CivilDay first = dayOf(span->start);
  const CivilDay last = first + spans.length - kIcalDay;
  if (!spans.counts_changed && spans.changed.contains({spans.uid, first})) return;
  first = std::max(first, spans.question.from);
  for (; first <= last && first < spans.question.until; first += kIcalDay) {
    if (spans.days.size() > kCalendarDaysMax) return;
    spans.days.insert(first);
    ++spans.found;
  }
}

// Rules by the hour and below have no meaning for whole days (RFC 5545, 3.3.10), and would be
// walked through second by second; so would days that are cut into times.
bool repeatsByDays(icalcomponent* event) {
  for (icalproperty* rule = icalcomponent_get_first_property(event, ICAL_RRULE_PROPERTY);
       rule != nullptr; rule = icalcomponent_get_next_property(event, ICAL_RRULE_PROPERTY)) {
    const icalrecurrencetype recurrence = icalproperty_get_rrule(rule);
    if (recurrence.by_hour[0] != ICAL_RECURRENCE_ARRAY_MAX ||
        recurrence.by_minute[0] != ICAL_RECURRENCE_ARRAY_MAX ||
        recurrence.by_second[0] != ICAL_RECURRENCE_ARRAY_MAX) {
      return false;
    }
    switch (recurrence.freq) {
      case ICAL_DAILY_RECURRENCE:
      case ICAL_WEEKLY_RECURRENCE:
      case ICAL_MONTHLY_RECURRENCE:
      case ICAL_YEARLY_RECURRENCE:
        break;
      default:
        return false;
    }
  }
  return true;
}

// DTEND is exclusive; without it and without DURATION it is one day.
std::chrono::days lengthOf(icalcomponent* event, CivilDay first) {
  const icaltimetype end = icalcomponent_get_dtend(event);
  if (icaltime_is_null_time(end) != 0) return kIcalDay;
  return std::max(kIcalDay, dayOf(end) - first);
}

// Whether all dates of a kind are days, as those of an event that lasts whole days have to be.
std::string dateFault(icalcomponent* event, icalproperty_kind kind, const char* name,
                      icaltimetype (*dateIn)(icalproperty*)) {
  for (icalproperty* date = icalcomponent_get_first_property(event, kind); date != nullptr;
       date = icalcomponent_get_next_property(event, kind)) {
    const icaltimetype day = dateIn(date);
    if (!isDay(day)) return fmt::format("{} {} is no day", name, dateText(day));
  }
  return {};
}

// How long it says it lasts, where libical would take something else, or one of two lengths.
std::string lengthFault(icalcomponent* event) {
  for (const auto& [kind, name] : {std::pair{ICAL_DTSTART_PROPERTY, "DTSTART"},
                                   {ICAL_DTEND_PROPERTY, "DTEND"},
                                   {ICAL_DURATION_PROPERTY, "DURATION"}}) {
    if (icalcomponent_count_properties(event, kind) > 1) return fmt::format("it has two {}", name);
  }
  icalproperty* length = icalcomponent_get_first_property(event, ICAL_DURATION_PROPERTY);
  const bool ends = icalcomponent_count_properties(event, ICAL_DTEND_PROPERTY) > 0;
  if (ends && length != nullptr) return "it has DTEND and DURATION";
  if (length != nullptr) {
    const icaldurationtype lasts = icalproperty_get_duration(length);
    if (lasts.is_neg != 0 || lasts.days + 7 * lasts.weeks < 1 || lasts.hours != 0 ||
        lasts.minutes != 0 || lasts.seconds != 0) {
      return fmt::format("DURATION {} is no number of whole days",
                         textOf(icalproperty_get_value_as_string(length)));
    }
  }
  const icaltimetype end = icalcomponent_get_dtend(event);
  if (ends && dayOf(end) < dayOf(icalcomponent_get_dtstart(event))) {
    return fmt::format("DTEND {} is before DTSTART", dateText(end));
  }
  icalproperty* changed = icalcomponent_get_first_property(event, ICAL_RECURRENCEID_PROPERTY);
  if (changed != nullptr &&
      icalproperty_get_first_parameter(changed, ICAL_RANGE_PARAMETER) != nullptr) {
    return "RECURRENCE-ID has a RANGE, which is not read";
  }
  return {};
}

// What can't be read of when a whole-day event is: libical passes over it, and the days would be
// other ones than the file says. Empty: nothing.
std::string faultOf(icalcomponent* event) {
  constexpr std::string_view kTimes[] = {"DTSTART", "DTEND",  "DURATION", "RRULE",
                                         "RDATE",   "EXDATE", "EXRULE",   "RECURRENCE-ID"};
  for (icalproperty* error = icalcomponent_get_first_property(event, ICAL_XLICERROR_PROPERTY);
       error != nullptr; error = icalcomponent_get_next_property(event, ICAL_XLICERROR_PROPERTY)) {
    const std::string text = textOf(icalproperty_get_xlicerror(error));
    const auto about = [&](std::string_view name) { return text.find(name) != std::string::npos; };
    if (std::any_of(std::begin(kTimes), std::end(kTimes), about)) return truncateUtf8(text, 200);
  }
  const icaltimetype start = icalcomponent_get_dtstart(event);
  if (icaltime_is_null_time(start) != 0 || start.is_date == 0) return {};  // No whole days.
  if (!isDay(start)) return fmt::format("DTSTART {} is no day", dateText(start));
  const auto endIn = [](icalproperty* p) { return icalproperty_get_dtend(p); };
  const auto exceptionIn = [](icalproperty* p) { return icalproperty_get_exdate(p); };
  const auto moreIn = [](icalproperty* p) { return icalproperty_get_rdate(p).time; };
  for (std::string fault : {dateFault(event, ICAL_DTEND_PROPERTY, "DTEND", endIn),
                            dateFault(event, ICAL_EXDATE_PROPERTY, "EXDATE", exceptionIn),
                            dateFault(event, ICAL_RDATE_PROPERTY, "RDATE", moreIn)}) {
    if (!fault.empty()) return fault;
  }
  if (std::string fault = lengthFault(event); !fault.empty()) return fault;
  const icaltimetype end = icalcomponent_get_dtend(event);
  if (icaltime_is_null_time(end) == 0 &&
      (!isDay(end) || dayOf(end) - dayOf(start) > kIcalEventDaysMax)) {
    return fmt::format("it lasts more than {} days", kIcalEventDaysMax.count());
  }
  for (icalproperty* rule = icalcomponent_get_first_property(event, ICAL_RRULE_PROPERTY);
       rule != nullptr; rule = icalcomponent_get_next_property(event, ICAL_RRULE_PROPERTY)) {
    const icalrecurrencetype recurrence = icalproperty_get_rrule(rule);
    if (recurrence.freq == ICAL_NO_RECURRENCE || recurrence.interval < 1) {
      return fmt::format("RRULE {} is no rule", textOf(icalproperty_get_value_as_string(rule)));
    }
  }
  return {};
}

// What libical walks through again and again: bounded, so that no file keeps anybody waiting.
size_t repetitionsOf(icalcomponent* event) {
  size_t count = 0;
  for (const icalproperty_kind kind :
       {ICAL_RRULE_PROPERTY, ICAL_RDATE_PROPERTY, ICAL_EXDATE_PROPERTY, ICAL_EXRULE_PROPERTY}) {
    count += static_cast<size_t>(icalcomponent_count_properties(event, kind));
  }
  return count;
}

bool saysWorkday(icalcomponent* event) {
  for (icalproperty* property = icalcomponent_get_first_property(event, ICAL_X_PROPERTY);
       property != nullptr; property = icalcomponent_get_next_property(event, ICAL_X_PROPERTY)) {
    if (textOf(icalproperty_get_x_name(property)) == "X-APPLE-SPECIAL-DAY" &&
        textOf(icalproperty_get_x(property)) == "ALTERNATE-WORKDAY") {
      return true;
    }
  }
  return false;
}

// Calls `look` for every event of every calendar in the text.
template <typename Look>
void eachEvent(icalcomponent* root, Look look) {
  if (icalcomponent_isa(root) == ICAL_VEVENT_COMPONENT) return look(root);
  std::vector<icalcomponent*> inner;
  for (icalcomponent* child = icalcomponent_get_first_component(root, ICAL_ANY_COMPONENT);
       child != nullptr; child = icalcomponent_get_next_component(root, ICAL_ANY_COMPONENT)) {
    const icalcomponent_kind kind = icalcomponent_isa(child);
    if (kind == ICAL_VEVENT_COMPONENT || kind == ICAL_VCALENDAR_COMPONENT) inner.push_back(child);
  }
  for (icalcomponent* child : inner) eachEvent(child, look);
}

// Events of which a newer state stands in the same file: by UID, and by the occurrence that it
// changes.
class Revisions {
 public:
  void note(icalcomponent* event) {
    int& newest = newest_[keyOf(event)];
    newest = std::max(newest, icalcomponent_get_sequence(event));
  }
  bool isOld(icalcomponent* event) const {
    const auto newest = newest_.find(keyOf(event));
    return newest != newest_.end() && icalcomponent_get_sequence(event) < newest->second;
  }

 private:
  static std::pair<std::string, std::string> keyOf(icalcomponent* event) {
    return {textOf(icalcomponent_get_uid(event)), dateText(icalcomponent_get_recurrenceid(event))};
  }
  std::map<std::pair<std::string, std::string>, int> newest_;
};

bool isCancelled(icalcomponent* event) {
  icalcomponent* calendar = icalcomponent_get_parent(event);
  return icalcomponent_get_status(event) == ICAL_STATUS_CANCELLED ||
         (calendar != nullptr && icalcomponent_get_method(calendar) == ICAL_METHOD_CANCEL);
}

Status checkQuestion(const IcalQuestion& question) {
  if (question.from < question.until &&
      question.until - question.from <=
          std::chrono::duration_cast<std::chrono::days>(kIcalYearsMax)) {
    return {};
  }
  return Error::invalidArgument("the days from {} until {} are no range of at most 50 years",
                                formatCivilDay(question.from), formatCivilDay(question.until));
}

}  // namespace

Result<IcalDays> readIcal(std::string_view text, const IcalQuestion& question) {
  RETURN_IF_ERROR(checkQuestion(question));
  if (text.size() > kIcalBytesMax) {
    return Error::make(ErrorCode::TooLarge, "the calendar has {} bytes, at most {} are accepted",
                       text.size(), kIcalBytesMax);
  }
  const bool is_calendar = text.find("BEGIN:VCALENDAR") != text.npos;
  icalerror_set_errors_are_fatal(0);
  const std::string whole(text.substr(0, text.find('\0')));
  const Component root(is_calendar ? icalparser_parse_string(whole.c_str()) : nullptr);
  if (root == nullptr) {
    return Error::invalidArgument(
        "this is no whole iCalendar, expected BEGIN:VCALENDAR … END:VCALENDAR");
  }
  size_t repetitions = 0;
  Revisions revisions;
  eachEvent(root.get(), [&](icalcomponent* event) {
    repetitions += repetitionsOf(event);
    revisions.note(event);
  });
  if (repetitions > kRepetitionsMax) {
    return Error::invalidArgument(
        "the calendar has {} rules and exceptions of repeated events, at most {} are accepted",
        repetitions, kRepetitionsMax);
  }
  std::string fault;
  eachEvent(root.get(), [&](icalcomponent* event) {
    if (!fault.empty() || isCancelled(event)) return;
    const std::string found = faultOf(event);
    if (found.empty()) return;
    fault = fmt::format("event \"{}\" can't be read: {}",
                        truncateUtf8(textOf(icalcomponent_get_summary(event)), 80), found);
  });
  if (!fault.empty()) return Error(ErrorCode::InvalidArgument, fault);
  std::set<std::pair<std::string, CivilDay>> changed;
  eachEvent(root.get(), [&](icalcomponent* event) {
    const icaltimetype id = icalcomponent_get_recurrenceid(event);
    if (!icaltime_is_null_time(id) && icaltime_is_valid_time(id)) {
      changed.emplace(textOf(icalcomponent_get_uid(event)), dayOf(id));
    }
  });
  IcalDays out;
  std::set<CivilDay> holidays, workdays;
  size_t whole_days = 0;
  size_t left_out = 0;
  eachEvent(root.get(), [&](icalcomponent* event) {
    if (isCancelled(event) || revisions.isOld(event)) return;
    const std::string summary = textOf(icalcomponent_get_summary(event));
    const icaltimetype start = icalcomponent_get_dtstart(event);
    const bool whole_day =
        !icaltime_is_null_time(start) && icaltime_is_valid_time(start) != 0 && start.is_date != 0;
    if (!whole_day || !repeatsByDays(event)) {
      if (left_out++ < kLeftOutShown) out.left_out.push_back(truncateUtf8(summary, 80));
      return;
    }
    ++whole_days;
    const bool works =
        saysWorkday(event) || (!question.workday_text.empty() &&
                               summary.find(question.workday_text) != std::string::npos);
    Spans spans{.question = question,
                .changed = changed,
                .uid = textOf(icalcomponent_get_uid(event)),
                .length = lengthOf(event, dayOf(start)),
                .counts_changed = !icaltime_is_null_time(icalcomponent_get_recurrenceid(event)),
                .days = works ? workdays : holidays};
    icalcomponent_foreach_recurrence(event, dateOf(question.from), dateOf(question.until), takeSpan,
                                     &spans);
    out.events += spans.found > 0 ? 1 : 0;
  });
  if (whole_days == 0) {
    return Error::invalidArgument("the calendar has no event that lasts whole days");
  }
  // A day that is moved is worked, whatever holiday lies around it.
  for (const CivilDay day : workdays) holidays.erase(day);
  if (holidays.size() + workdays.size() > kCalendarDaysMax) {
    return Error::invalidArgument("the calendar has more than {} days", kCalendarDaysMax);
  }
  out.holidays.assign(holidays.begin(), holidays.end());
  out.adjusted_workdays.assign(workdays.begin(), workdays.end());
  return out;
}

}  // namespace baton::flow
