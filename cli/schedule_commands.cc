#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_tree.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "common/calendar/schedule_preview.h"
#include "common/model/task_spec.h"

namespace baton::cli {
namespace {

struct PreviewOptions {
  PreviewRequest request;
  std::string after;
  std::string output;
  bool no_header = false;
};

std::vector<Column> fireColumns() {
  return {memberColumn("UTC", "utc"), memberColumn("LOCAL", "local"),
          memberColumn("WEEKDAY", "weekday")};
}

int schedulePreview(Surroundings& surroundings, PreviewOptions options) {
  options.request.after = surroundings.clock.wallNow();
  if (!options.after.empty()) {
    const auto after = parseRfc3339(options.after);
    if (!after.ok()) {
      return reportError(surroundings.err,
                         Error::invalidArgument(
                             "--after: is \"{}\", expected an instant as 2026-03-29T00:00:00+01:00",
                             options.after));
    }
    options.request.after = *after;
  }
  const auto format = parseFormat(options.output);
  if (!format.ok()) return reportError(surroundings.err, format.error());
  const auto preview = previewSchedule(options.request);
  if (!preview.ok()) return reportError(surroundings.err, preview.error());
  if (*format == Format::Json) {
    printJson(surroundings.out, *preview);
    return kExitOk;
  }
  if (*format == Format::Yaml) {
    printYaml(surroundings.out, *preview);
    return kExitOk;
  }
  const Json& items = preview->at("items");
  printTable(surroundings.out, fireColumns(), items, !options.no_header);
  if (items.size() < options.request.count) surroundings.out << "It never fires again.\n";
  if (const Json& change = preview->at("next_clock_change"); !change.is_null()) {
    surroundings.out << fmt::format(
        "The clock of {} next goes {} at {}.\n", preview->at("timezone").get<std::string>(),
        change.at("shift").get<std::string>(), change.at("local").get<std::string>());
  }
  return kExitOk;
}

}  // namespace

void addScheduleCommands(CLI::App& app, CommandTree& tree) {
  CLI::App* schedule = app.add_subcommand("schedule", "Look at schedules");
  schedule->require_subcommand(1);
  CLI::App* preview = schedule->add_subcommand(
      "preview", "Show when a cron expression fires next; needs no master");
  auto options = std::make_shared<PreviewOptions>();
  PreviewRequest& request = options->request;
  preview->add_option("--cron", request.cron, "Five fields (Unix), or six or seven (Quartz)")
      ->required();
  preview->add_option("--timezone", request.timezone, "Zone, such as Europe/Berlin or UTC")
      ->required();
  preview->add_option("--dialect", request.dialect,
                      "unix5 or quartz (default: by the number of fields)");
  preview->add_option("--gap", request.gap,
                      "What a time does that a clock set forward leaves out: run_after or skip "
                      "(default: run_after)");
  preview->add_option("--overlap", request.overlap,
                      "Which of two passes counts when a clock is set back: first, second or both "
                      "(default: first)");
  preview->add_option("--after", options->after, "Look behind this instant (default: now)");
  preview->add_option("--name", request.hash_key, "Name of the flow, for the slots of H");
  preview->add_option("-n,--limit", request.count, "How many, 1 to 1000 (default: 5)")
      ->check(numberFrom(1, 1'000));
  preview->footer(
      "The language of expressions (lists, ranges, steps, ?, L, L-n, LW, W, nL, n#k, H, @daily,\n"
      "@every) and what clocks that are set do to them: docs/schedules.md.\n\n"
      "Examples:\n  baton schedule preview --cron '30 2 * * *' --timezone America/New_York\n"
      "  baton schedule preview --cron '0 0 18 LW * ?' --timezone Europe/Berlin -n 12");
  preview->callback([&tree, options] {
    tree.action = [&tree, options](Surroundings& surroundings) {
      options->output = conf::findOutputFormat(tree.client.sources.output);
      options->no_header = tree.client.no_header;
      return schedulePreview(surroundings, *options);
    };
  });
}

}  // namespace baton::cli
