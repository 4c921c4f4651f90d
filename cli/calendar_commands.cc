#include <CLI/CLI.hpp>
#include <memory>

#include "cli/calendar_verbs.h"
#include "cli/command_tree.h"
#include "cli/options.h"

namespace baton::cli {
namespace {

constexpr int kYearMin = 1970;
constexpr int kYearMax = 2199;

void addCalendarList(CLI::App& calendar, CommandTree& tree) {
  CLI::App* verb = calendar.add_subcommand("list", "List calendars by name");
  auto pages = std::make_shared<PageOptions>();
  addPageOptions(*verb, *pages, false);
  verb->footer("Example:\n  baton calendar list");
  verb->callback([&tree, pages] {
    setClientAction(tree, [pages](Session& session) { return calendarList(session, *pages); });
  });
}

void addCalendarGet(CLI::App& calendar, CommandTree& tree) {
  CLI::App* verb = calendar.add_subcommand(
      "get", "Show a calendar with its days; -o yaml prints it as it was stored");
  auto name = std::make_shared<std::string>();
  verb->add_option("NAME", *name, "The calendar")->required();
  verb->footer("Example:\n  baton calendar get cn-workdays -o yaml > cn-workdays.yaml");
  verb->callback([&tree, name] {
    setClientAction(tree, [name](Session& session) { return calendarGet(session, *name); });
  });
}

void addCalendarApply(CLI::App& calendar, CommandTree& tree) {
  CLI::App* verb = calendar.add_subcommand(
      "apply", "Store calendars; flows that follow a changed one are planned anew");
  auto options = std::make_shared<CalendarApplyOptions>();
  verb->add_option("FILE", options->files, "YAML or JSON; - for standard input")->required();
  verb->add_flag("--dry-run", options->dry_run, "Check and compare, and change nothing");
  verb->footer(
      "They are stored together or not at all; if one is wrong, the exit code is 2.\n\n"
      "Example:\n  baton calendar apply cn-workdays.yaml --dry-run");
  verb->callback([&tree, options] {
    tree.action = [&tree, options](Surroundings& surroundings) {
      auto session = Session::open(surroundings, tree.client);
      if (!session.ok()) return reportError(surroundings.err, session.error());
      return calendarApply(surroundings, *session, *options);
    };
  });
}

void addCalendarImport(CLI::App& calendar, CommandTree& tree) {
  CLI::App* verb = calendar.add_subcommand(
      "import", "Take the holidays of some years from an iCalendar file (.ics)");
  auto options = std::make_shared<CalendarImportOptions>();
  verb->add_option("NAME", options->name, "The calendar; made if it is not there")->required();
  verb->add_option("FILE", options->file, "iCalendar; - for standard input")->required();
  verb->add_option("--from", options->from_year, "First year (default: this year)")
      ->check(numberFrom(kYearMin, kYearMax));
  verb->add_option("--until", options->until_year, "Last year (default: the next year)")
      ->check(numberFrom(kYearMin, kYearMax));
  verb->add_option("--workday", options->workday_text,
                   "Events with this text in their summary are workdays that were moved to a "
                   "weekend");
  verb->add_flag("--dry-run", options->dry_run, "Say what would change, and change nothing");
  verb->footer(
      "Whole-day events, repeated ones too, are holidays. Days of other years, the days of the\n"
      "week and the description stay as they are.\n\n"
      "Examples:\n  baton calendar import de-by bavaria.ics --from 2026 --until 2030\n"
      "  baton calendar import cn-workdays holidays.ics --workday 班");
  verb->callback([&tree, options] {
    tree.action = [&tree, options](Surroundings& surroundings) {
      auto session = Session::open(surroundings, tree.client);
      if (!session.ok()) return reportError(surroundings.err, session.error());
      return calendarImport(surroundings, *session, *options);
    };
  });
}

void addCalendarDelete(CLI::App& calendar, CommandTree& tree) {
  CLI::App* verb =
      calendar.add_subcommand("delete", "Delete a calendar; refused while flows follow it");
  auto name = std::make_shared<std::string>();
  auto yes = std::make_shared<bool>(false);
  verb->add_option("NAME", *name, "The calendar")->required();
  verb->add_flag("-y,--yes", *yes, "Don't ask");
  verb->footer("Example:\n  baton calendar delete cn-workdays -y");
  verb->callback([&tree, name, yes] {
    setClientAction(tree,
                    [name, yes](Session& session) { return calendarDelete(session, *name, *yes); });
  });
}

}  // namespace

void addCalendarCommands(CLI::App& app, CommandTree& tree) {
  CLI::App* calendar =
      app.add_subcommand("calendar", "Work with calendars of workdays that schedules follow");
  calendar->require_subcommand(1);
  addCalendarList(*calendar, tree);
  addCalendarGet(*calendar, tree);
  addCalendarApply(*calendar, tree);
  addCalendarImport(*calendar, tree);
  addCalendarDelete(*calendar, tree);
}

}  // namespace baton::cli
