#pragma once

#include <string>
#include <vector>

#include "cli/list_pages.h"
#include "cli/session.h"

namespace baton::cli {

struct CalendarApplyOptions {
  std::vector<std::string> files;  // "-": standard input.
  bool dry_run = false;
};

struct CalendarImportOptions {
  std::string name;
  std::string file;          // iCalendar; "-": standard input.
  int from_year = 0;         // 0: this year.
  int until_year = 0;        // Inclusive; 0: the next year, or from_year if that is later.
  std::string workday_text;  // Events with it in their summary are adjusted workdays.
  bool dry_run = false;
};

// Each prints and returns the exit code. As YAML, `get` prints the calendar as it was stored.
int calendarList(Session& session, const PageOptions& options);
int calendarGet(Session& session, const std::string& name);
// Checks all files, then stores them; if one is wrong, none is: 2.
int calendarApply(Surroundings& surroundings, Session& session,
                  const CalendarApplyOptions& options);
// Replaces the days of those years by those of the file; other years, the days of the week and the
// description stay. The calendar need not be there. Repeated if somebody else changes it meanwhile.
int calendarImport(Surroundings& surroundings, Session& session,
                   const CalendarImportOptions& options);
int calendarDelete(Session& session, const std::string& name, bool yes);

}  // namespace baton::cli
