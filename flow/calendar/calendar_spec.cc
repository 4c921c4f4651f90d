#include "flow/calendar/calendar_spec.h"

#include <algorithm>

#include "flow/definition/map_reader.h"

namespace baton::flow {
namespace {

constexpr std::array<std::string_view, 7> kDayWords{"sun", "mon", "tue", "wed",
                                                    "thu", "fri", "sat"};
constexpr std::chrono::days kNextDay{1};
constexpr size_t kDayRangeShort = 3;  // Two days are as short without "..".

void readWorkdays(MapReader& reader, CalendarSpec& spec) {
  std::vector<std::string> words;
  if (!reader.texts("workdays", words, kDayWords.size())) return;
  spec.workdays = {};
  for (const std::string& word : words) {
    const auto at = std::find(kDayWords.begin(), kDayWords.end(), word);
    if (at == kDayWords.end()) {
      reader.fail(
          *reader.take("workdays"),
          fmt::format("has \"{}\", expected {}", truncateUtf8(word, 40), joinWords(kDayWords)));
      continue;
    }
    spec.workdays[static_cast<size_t>(at - kDayWords.begin())] = true;
  }
  if (words.empty()) reader.failKey("workdays", "is empty; expected at least one day");
}

// A day or a range of days. False: it is told.
bool readDays(MapReader& reader, const YamlNode& item, const std::string& path,
              std::vector<CivilDay>& list) {
  constexpr std::string_view kExpected =
      "a day such as 2026-12-24 or a range such as 2026-10-01..2026-10-07";
  const auto wrong = [&](std::string_view why) {
    reader.issues().error(item.mark, path, fmt::format("is {}, {}", shownNode(item), why));
    return false;
  };
  if (item.kind != YamlNode::Kind::Scalar) return wrong(fmt::format("expected {}", kExpected));
  const std::string_view text = item.text;
  const size_t dots = text.find("..");
  const auto first = parseCivilDay(text.substr(0, dots));
  const auto last = dots == text.npos ? first : parseCivilDay(text.substr(dots + 2));
  if (!first.ok() || !last.ok()) return wrong(fmt::format("expected {}", kExpected));
  if (*last < *first) return wrong("which ends before it begins");
  if ((*last - *first).count() >= kCalendarRangeDaysMax) {
    return wrong(fmt::format("expected at most {} days in one range", kCalendarRangeDaysMax));
  }
  for (CivilDay day = *first; day <= *last; day += kNextDay) list.push_back(day);
  return true;
}

void readDayList(MapReader& reader, std::string_view key, std::vector<CivilDay>& list) {
  const YamlEntry* entry = reader.take(key);
  if (entry == nullptr) return;
  if (entry->value.kind != YamlNode::Kind::List) {
    return reader.wrong(*entry, "a list of days and ranges of days");
  }
  for (size_t i = 0; i < entry->value.items.size(); ++i) {
    readDays(reader, entry->value.items[i], itemPath(reader.pathOf(key), i), list);
    if (list.size() <= kCalendarDaysMax) continue;
    return reader.fail(*entry, fmt::format("has more than {} days, at most so many are accepted",
                                           kCalendarDaysMax));
  }
  std::sort(list.begin(), list.end());
  if (const auto twice = std::adjacent_find(list.begin(), list.end()); twice != list.end()) {
    reader.issues().warning(entry->value.mark, reader.pathOf(key),
                            fmt::format("has {} twice", formatCivilDay(*twice)));
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
}

CalendarSpec readCalendarSpec(const YamlNode& root, IssueList& issues) {
  CalendarSpec spec;
  MapReader reader(root, "", issues);
  if (root.kind != YamlNode::Kind::Map) return spec;
  reader.name("calendar", spec.name);
  if (!reader.has("calendar")) {
    reader.failKey("calendar", "is missing; expected the name of the calendar");
  }
  reader.text("description", spec.description, 4'096);
  readWorkdays(reader, spec);
  readDayList(reader, "holidays", spec.holidays);
  readDayList(reader, "adjusted_workdays", spec.adjusted_workdays);
  reader.finish();
  return spec;
}

void saySet(const std::string& key, const std::vector<std::string>& added,
            const std::vector<std::string>& removed, std::vector<std::string>& lines) {
  if (added.empty() && removed.empty()) return;
  std::string line = key;
  for (const std::string& item : added) line += " +" + item;
  for (const std::string& item : removed) line += " -" + item;
  lines.push_back(std::move(line));
}

void compareDays(const std::string& key, const std::vector<CivilDay>& before,
                 const std::vector<CivilDay>& after, std::vector<std::string>& lines) {
  std::vector<CivilDay> added, removed;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                      std::back_inserter(added));
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                      std::back_inserter(removed));
  saySet(key, dayRanges(added), dayRanges(removed), lines);
}

// In quotes, with what JSON and YAML alike need there.
std::string quoted(const std::string& text) { return dumpJson(Json(text)); }

void putDayList(std::string& text, std::string_view key, const std::vector<CivilDay>& list) {
  if (list.empty()) return;
  text += fmt::format("{}:\n", key);
  for (const std::string& range : dayRanges(list)) text += fmt::format("  - {}\n", range);
}

}  // namespace

std::optional<CivilDay> CalendarSpec::lastDay() const {
  std::optional<CivilDay> last;
  for (const auto* days : {&holidays, &adjusted_workdays}) {
    if (!days->empty() && (!last || *last < days->back())) last = days->back();
  }
  return last;
}

ParsedCalendar parseCalendar(const std::string& file, std::string_view text) {
  IssueList issues;
  std::vector<YamlIssue> found;
  const auto root = readYaml(text, {}, found);
  for (YamlIssue& issue : found) issues.add(std::move(issue));
  ParsedCalendar parsed;
  if (root) {
    CalendarSpec spec = readCalendarSpec(*root, issues);
    if (issues.errors() == 0) {
      auto days = WorkCalendar::make(spec.workdays, spec.holidays, spec.adjusted_workdays);
      if (days.ok()) {
        parsed.days = std::make_shared<const WorkCalendar>(std::move(days).value());
        parsed.calendar = std::move(spec);
      } else {
        issues.error(root->mark, "", days.error().message());
      }
    }
  }
  for (YamlIssue& issue : issues.take()) {
    parsed.issues.push_back({file, issue.mark.line, issue.mark.column, std::move(issue.path),
                             std::move(issue.message), issue.warning});
  }
  return parsed;
}

std::vector<std::string> dayRanges(const std::vector<CivilDay>& list) {
  std::vector<std::string> out;
  for (size_t i = 0; i < list.size();) {
    size_t end = i + 1;
    while (end < list.size() && list[end] == list[end - 1] + kNextDay &&
           end - i < static_cast<size_t>(kCalendarRangeDaysMax)) {
      ++end;
    }
    if (end - i < kDayRangeShort) end = i + 1;
    out.push_back(end - i == 1 ? formatCivilDay(list[i])
                               : formatCivilDay(list[i]) + ".." + formatCivilDay(list[end - 1]));
    i = end;
  }
  return out;
}

std::vector<std::string> workdayWords(const CalendarSpec& calendar) {
  std::vector<std::string> out;
  for (const size_t day : {1, 2, 3, 4, 5, 6, 0}) {
    if (calendar.workdays[day]) out.emplace_back(kDayWords[day]);
  }
  return out;
}

std::string calendarText(const CalendarSpec& calendar) {
  std::string text = fmt::format("calendar: {}\n", quoted(calendar.name));
  if (!calendar.description.empty()) {
    text += fmt::format("description: {}\n", quoted(calendar.description));
  }
  text += fmt::format("workdays: [{}]\n", fmt::join(workdayWords(calendar), ", "));
  putDayList(text, "holidays", calendar.holidays);
  putDayList(text, "adjusted_workdays", calendar.adjusted_workdays);
  return text;
}

std::vector<std::string> diffCalendars(const CalendarSpec& before, const CalendarSpec& after) {
  std::vector<std::string> lines;
  if (before.name != after.name) {
    lines.push_back(fmt::format("calendar {} -> {}", before.name, after.name));
  }
  if (before.description != after.description) lines.emplace_back("description changed");
  const auto was = workdayWords(before);
  const auto is = workdayWords(after);
  const auto missingIn = [](const auto& there, const auto& here) {
    std::vector<std::string> out;
    std::copy_if(here.begin(), here.end(), std::back_inserter(out), [&](const std::string& day) {
      return std::find(there.begin(), there.end(), day) == there.end();
    });
    return out;
  };
  saySet("workdays", missingIn(was, is), missingIn(is, was), lines);
  compareDays("holidays", before.holidays, after.holidays, lines);
  compareDays("adjusted_workdays", before.adjusted_workdays, after.adjusted_workdays, lines);
  return lines;
}

}  // namespace baton::flow
