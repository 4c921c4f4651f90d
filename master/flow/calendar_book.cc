#include "master/flow/calendar_book.h"

#include "common/base/log.h"

namespace baton::master {

void CalendarBook::adopt(const CalendarRecord& record) {
  KnownCalendar known;
  known.record = record;
  if (!record.deleted) {
    flow::ParsedCalendar parsed = flow::parseCalendar(record.name, record.text);
    if (parsed.calendar) {
      known.spec = std::move(*parsed.calendar);
      known.days = std::move(parsed.days);
    } else {
      logError("calendar_unreadable", field("calendar", record.name),
               field("error", parsed.issues.front().text()));
    }
  }
  put(std::move(known));
}

void CalendarBook::put(KnownCalendar calendar) {
  auto known = std::make_shared<const KnownCalendar>(std::move(calendar));
  const std::lock_guard lock(mutex_);
  calendars_[known->record.key()] = std::move(known);
}

std::shared_ptr<const KnownCalendar> CalendarBook::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto it = calendars_.find(nameKey(name));
  return it == calendars_.end() ? nullptr : it->second;
}

std::shared_ptr<const WorkCalendar> CalendarBook::days(const std::string& name) const {
  const auto known = find(name);
  return known == nullptr ? nullptr : known->days;
}

std::map<std::string, std::shared_ptr<const WorkCalendar>> CalendarBook::all() const {
  std::map<std::string, std::shared_ptr<const WorkCalendar>> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, known] : calendars_) {
    if (known->days != nullptr) all.emplace(key, known->days);
  }
  return all;
}

}  // namespace baton::master
