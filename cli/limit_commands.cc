#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_tree.h"
#include "cli/limit_verbs.h"
#include "cli/options.h"

namespace baton::cli {
namespace {

void addGroupSet(CLI::App& group, CommandTree& tree) {
  CLI::App* verb =
      group.add_subcommand("set", "Say what a group may run; what is not named stays as it is");
  auto options = std::make_shared<GroupSetOptions>();
  verb->add_option("NAME", options->name, "The group")->required();
  verb->add_option("--limit", options->limit,
                   "Units of weight that may run at a time, 0: nothing, none: no limit");
  verb->add_option(
      "--window", options->window,
      "When its tasks may start, HH:MM-HH:MM on the clock of --time-zone; none: always");
  verb->add_option("--time-zone", options->time_zone, "Zone of the window, e.g. Europe/Berlin");
  verb->add_option("--min-priority", options->min_priority,
                   "Lowest priority that is started: low, normal, high, critical; none: all");
  verb->add_option("--description", options->description, "For people; none: no description");
  verb->footer(
      "A limit below what runs now only holds back new starts.\n\nExamples:\n"
      "  baton group set warehouse --limit 4\n"
      "  baton group set night --window 22:00-06:00 --time-zone Europe/Berlin");
  verb->callback([&tree, options] {
    setClientAction(tree, [options](Session& session) { return groupSet(session, *options); });
  });
}

// A verb that takes one name.
void addNamed(CLI::App& parent, CommandTree& tree, const std::string& name, const std::string& help,
              int (*verb)(Session&, const std::string&)) {
  CLI::App* sub = parent.add_subcommand(name, help);
  auto argument = std::make_shared<std::string>();
  sub->add_option("NAME", *argument, "The group")->required();
  sub->footer(fmt::format("Example:\n  baton group {} warehouse", name));
  sub->callback([&tree, argument, verb] {
    setClientAction(tree, [argument, verb](Session& session) { return verb(session, *argument); });
  });
}

// What lists of groups and of limits have in common.
void addLimitListOptions(CLI::App& verb, LimitListOptions& options) {
  verb.add_option("--name", options.name, "The whole name");
  verb.add_option("-q,--text", options.text, "A part of the name");
  addPageOptions(verb, options.pages, true, 1000);
}

void addLimitVerbs(CLI::App& limit, CommandTree& tree) {
  struct Words {
    std::string kind, name, limit, description;
  };
  CLI::App* set = limit.add_subcommand("set", "Say how many tasks may run at a time");
  auto words = std::make_shared<Words>();
  const auto kinds = oneOf({"flow", "user", "host"});
  set->add_option("KIND", words->kind, "flow, user or host")->required()->check(kinds);
  set->add_option("NAME", words->name, "The flow, user or host")->required();
  set->add_option("LIMIT", words->limit, "Tasks at a time; 0: none is started")->required();
  set->add_option("--description", words->description, "For people");
  set->footer("Examples:\n  baton limit set host db-1 2\n  baton limit set flow nightly 10");
  set->callback([&tree, words] {
    setClientAction(tree, [words](Session& session) {
      return limitSet(session, words->kind, words->name, words->limit, words->description);
    });
  });
  CLI::App* list = limit.add_subcommand("list", "List limits, and what counts against them");
  auto options = std::make_shared<LimitListOptions>();
  addRepeated(*list, "--kind", options->kinds, "flow, user or host, several by commas");
  addLimitListOptions(*list, *options);
  list->footer("Examples:\n  baton limit list\n  baton limit list --kind host,user -q db --total");
  list->callback([&tree, options] {
    setClientAction(tree, [options](Session& session) { return limitList(session, *options); });
  });
  CLI::App* remove = limit.add_subcommand("delete", "End a limit");
  auto gone = std::make_shared<Words>();
  remove->add_option("KIND", gone->kind, "flow, user or host")->required()->check(kinds);
  remove->add_option("NAME", gone->name, "The flow, user or host")->required();
  remove->footer("Example:\n  baton limit delete host db-1");
  remove->callback([&tree, gone] {
    setClientAction(
        tree, [gone](Session& session) { return limitDelete(session, gone->kind, gone->name); });
  });
}

}  // namespace

void addLimitCommands(CLI::App& app, CommandTree& tree) {
  CLI::App* group = app.add_subcommand("group", "Limit what tasks that share something may run");
  group->require_subcommand(1);
  addGroupSet(*group, tree);
  CLI::App* list =
      group->add_subcommand("list", "List groups: limit, weight in use, running, queued");
  auto options = std::make_shared<LimitListOptions>();
  list->add_flag("--set", options->set, "Only groups that somebody set");
  list->add_flag("--unset", options->unset, "Only groups that tasks name and nobody set");
  list->add_flag("--open", options->open, "Only groups whose tasks may start now");
  list->add_flag("--closed", options->closed, "Only groups outside their window");
  addLimitListOptions(*list, *options);
  list->footer("Examples:\n  baton group list\n  baton group list --unset -q etl --total");
  list->callback([&tree, options] {
    setClientAction(tree, [options](Session& session) { return groupList(session, *options); });
  });
  addNamed(*group, tree, "get", "Show one group", groupGet);
  addNamed(*group, tree, "delete", "Limit a group no more", groupDelete);
  CLI::App* limit = app.add_subcommand("limit", "Limit the running tasks of a flow, user or host");
  limit->require_subcommand(1);
  addLimitVerbs(*limit, tree);
}

void addClusterLimitCommands(CLI::App& cluster, CommandTree& tree) {
  CLI::App* limit = cluster.add_subcommand(
      "limit", "Show or set how many tasks may run in the cluster at a time");
  auto max = std::make_shared<std::string>();
  limit->add_option("LIMIT", *max,
                    "A number, 0: no limit, default: as limits.running_max says; left out: show");
  limit->footer("Examples:\n  baton cluster limit\n  baton cluster limit 200");
  limit->callback([&tree, max] {
    setClientAction(tree, [max](Session& session) { return clusterLimit(session, *max); });
  });
  CLI::App* degrade = cluster.add_subcommand(
      "degrade", "In an emergency: start only tasks of a priority and above; the rest waits");
  auto options = std::make_shared<DegradeOptions>();
  degrade->add_option("--min-priority", options->min_priority,
                      "Lowest priority that is still started: low, normal, high or critical");
  degrade->add_option("--group", options->group, "In this group alone (default: the cluster)");
  degrade->add_flag("--off", options->off, "Start everything again");
  degrade->footer(
      "Examples:\n  baton cluster degrade --min-priority high\n"
      "  baton cluster degrade --min-priority critical --group warehouse\n"
      "  baton cluster degrade --off");
  degrade->callback([&tree, options] {
    setClientAction(tree,
                    [options](Session& session) { return clusterDegrade(session, *options); });
  });
}

}  // namespace baton::cli
