#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_tree.h"
#include "cli/event_verbs.h"
#include "cli/options.h"

namespace baton::cli {
namespace {

void addEventSend(CLI::App& event, CommandTree& tree) {
  CLI::App* verb = event.add_subcommand("send", "Say that something happened");
  auto options = std::make_shared<EventSendOptions>();
  verb->add_option("NAME", options->name, "Name of the event, such as fx-rates")->required();
  verb->add_option("KEY", options->key, "Which of them, such as 2026-11-29")->required();
  addRepeated(*verb, "--data", options->data, "K=V for those who wait for it; may be repeated");
  verb->add_option("--at", options->at, "When it happened, as 2026-11-29T06:00:00Z (default: now)");
  verb->add_option("--idempotency-key", options->idempotency_key,
                   "Key of this request (default: a random key)");
  verb->footer(
      "An event is stored once by its name and key; who waits for it later finds it.\n\n"
      "Example:\n  baton event send fx-rates 2026-11-29 --data rows=512");
  verb->callback([&tree, options] {
    setClientAction(tree, [options](Session& session) { return eventSend(session, *options); });
  });
}

void addEventList(CLI::App& event, CommandTree& tree) {
  CLI::App* verb = event.add_subcommand("list", "List events, the newest first");
  auto options = std::make_shared<EventListOptions>();
  verb->add_option("--name", options->name, "Name of the event");
  verb->add_option("-q,--text", options->text, "A part of the name");
  verb->add_option("--key", options->key, "The whole key");
  verb->add_option("--since", options->since,
                   "Happened at this time or later; an age (2h) or a time");
  verb->add_option("--before", options->before, "Happened before this; an age or a time");
  addPageOptions(*verb, options->pages, true);
  verb->footer(
      "Examples:\n  baton event list --name fx-rates -n 10\n"
      "  baton event list -q rates --since 24h --total");
  verb->callback([&tree, options] {
    setClientAction(tree, [options](Session& session) { return eventList(session, *options); });
  });
}

void addMissedList(CLI::App& missed, CommandTree& tree) {
  CLI::App* verb = missed.add_subcommand(
      "list", "List instants of schedules that were not run, and why; the newest first");
  auto options = std::make_shared<MissedListOptions>();
  verb->add_option("--flow", options->flow, "Name of the flow");
  verb->add_option("-q,--text", options->text, "A part of the flow's name");
  addRepeated(*verb, "--reason", options->reasons,
              "policy_none, not_the_latest, over_max, too_old, offline or redefined, several by "
              "commas");
  verb->add_option("--since", options->since,
                   "Plan time at this time or later; an age (2h) or a time");
  verb->add_option("--before", options->before, "Plan time before this; an age or a time");
  addPageOptions(*verb, options->pages, true);
  verb->footer(
      "Examples:\n  baton missed list --flow nightly-sales\n"
      "  baton missed list --reason too_old,over_max --since 7d --total");
  verb->callback([&tree, options] {
    setClientAction(tree, [options](Session& session) { return missedList(session, *options); });
  });
}

void addMissedRun(CLI::App& missed, CommandTree& tree) {
  CLI::App* verb = missed.add_subcommand("run", "Run a missed instant; prints the id of the run");
  auto flow = std::make_shared<std::string>();
  auto plan_time = std::make_shared<std::string>();
  verb->add_option("FLOW", *flow, "Name of the flow")->required();
  verb->add_option("PLAN_TIME", *plan_time, "The instant, as `missed list` shows it")->required();
  verb->footer("Example:\n  baton missed run nightly-sales 2026-11-28T01:00:00Z");
  verb->callback([&tree, flow, plan_time] {
    setClientAction(tree, [flow, plan_time](Session& session) {
      return missedRun(session, *flow, *plan_time);
    });
  });
}

void addMissedExplain(CLI::App& missed, CommandTree& tree) {
  CLI::App* verb =
      missed.add_subcommand("explain", "Say what became of an instant of a schedule, and why");
  auto flow = std::make_shared<std::string>();
  auto plan_time = std::make_shared<std::string>();
  verb->add_option("FLOW", *flow, "Name of the flow")->required();
  verb->add_option("PLAN_TIME", *plan_time, "The instant, as 2026-11-28T01:00:00Z")->required();
  verb->footer("Example:\n  baton missed explain nightly-sales 2026-11-28T01:00:00Z");
  verb->callback([&tree, flow, plan_time] {
    setClientAction(tree, [flow, plan_time](Session& session) {
      return missedExplain(session, *flow, *plan_time);
    });
  });
}

}  // namespace

void addEventCommands(CLI::App& app, CommandTree& tree) {
  CLI::App* event = app.add_subcommand("event", "Send events and look at them");
  event->require_subcommand(1);
  addEventSend(*event, tree);
  addEventList(*event, tree);
  CLI::App* missed = app.add_subcommand("missed", "Look at missed instants and run them");
  missed->require_subcommand(1);
  addMissedList(*missed, tree);
  addMissedExplain(*missed, tree);
  addMissedRun(*missed, tree);
}

}  // namespace baton::cli
