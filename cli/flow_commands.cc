#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_tree.h"
#include "cli/flow_actions.h"
#include "cli/flow_apply.h"
#include "cli/flow_queries.h"
#include "cli/flow_verbs.h"
#include "cli/options.h"

namespace baton::cli {
namespace {

void addProjectParams(CLI::App& verb, FlowFileOptions& options) {
  addRepeated(verb, "--project-param", options.project_params,
              "Name of a parameter that the project gives a value to; may be repeated");
}

void addValidate(CLI::App& flow, CommandTree& tree) {
  CLI::App* verb = flow.add_subcommand(
      "validate", "Check definitions and tell everything that is wrong; needs no master");
  auto options = std::make_shared<FlowFileOptions>();
  verb->add_option("FILE", options->files, "YAML or JSON; - for standard input")->required();
  addProjectParams(*verb, *options);
  verb->footer(
      "What the project has is not known without a master, so parameters of it are named\n"
      "(baton param list); flow apply and flow diff FILE ask the master.\n"
      "Exit codes: 0 all are well, 2 something is wrong, 3 no such file.\n\n"
      "Examples:\n  baton flow validate nightly.yaml hourly.yaml -o json\n"
      "  baton flow validate nightly.yaml --project-param region");
  verb->callback([&tree, options] {
    tree.action = [&tree, options](Surroundings& surroundings) {
      options->output = conf::findOutputFormat(tree.client.sources.output);
      return flowValidate(surroundings, *options);
    };
  });
}

// One file is compared by the master, two without one.
int diffFiles(CommandTree& tree, Surroundings& surroundings, FlowFileOptions& options) {
  if (options.files.size() == 2) {
    options.output = conf::findOutputFormat(tree.client.sources.output);
    return flowDiff(surroundings, options);
  }
  if (!options.project_params.empty()) {
    reportError(surroundings.err,
                Error::invalidArgument("--project-param goes with two files: the master knows the "
                                       "parameters of its project"));
    return kExitDiffFailed;
  }
  auto session = Session::open(surroundings, tree.client);
  if (session.ok()) return flowDiffStored(surroundings, *session, options.files.front());
  reportError(surroundings.err, session.error());
  return kExitDiffFailed;
}

void addDiff(CLI::App& flow, CommandTree& tree) {
  CLI::App* verb = flow.add_subcommand(
      "diff", "Say in words what a definition would change, or what differs between two");
  auto options = std::make_shared<FlowFileOptions>();
  auto newer = std::make_shared<std::string>();
  options->files.resize(1);
  verb->add_option("FILE", options->files.front(), "Compared with what the master has")->required();
  verb->add_option("NEW", *newer, "Compared with FILE instead, which needs no master");
  addProjectParams(*verb, *options);
  verb->footer(
      "Exit codes: 0 they mean the same, 1 they differ, 255 one can't be read or is wrong, or\n"
      "the master can't be asked.\n\n"
      "Examples:\n  baton flow diff nightly.yaml\n"
      "  baton flow diff old/nightly.yaml nightly.yaml");
  verb->callback([&tree, options, newer] {
    if (!newer->empty()) options->files.push_back(*newer);
    tree.action = [&tree, options](Surroundings& surroundings) {
      return diffFiles(tree, surroundings, *options);
    };
  });
}

void addApply(CLI::App& flow, CommandTree& tree) {
  CLI::App* verb = flow.add_subcommand(
      "apply", "Store definitions; what differs from the newest version becomes the next one");
  auto options = std::make_shared<FlowApplyOptions>();
  verb->add_option("FILE", options->files, "YAML or JSON; - for standard input")->required();
  verb->add_flag("--online", options->online, "Online afterwards (default: as it was)");
  verb->add_flag("--offline", options->offline, "Offline afterwards");
  verb->add_flag("--dry-run", options->dry_run, "Check and compare, and change nothing");
  verb->footer(
      "All files are checked before the first is stored: if one is wrong, nothing is applied.\n"
      "A new flow is offline, if not said otherwise. Runs keep the version they began with.\n"
      "Exit codes: 0 applied, 2 a definition is wrong.\n\n"
      "Examples:\n  baton flow apply nightly.yaml --online\n"
      "  baton flow apply flows/*.yaml --dry-run");
  verb->callback([&tree, options] {
    tree.action = [&tree, options](Surroundings& surroundings) {
      auto session = Session::open(surroundings, tree.client);
      if (!session.ok()) return reportError(surroundings.err, session.error());
      return flowApply(surroundings, *session, *options);
    };
  });
}

void addFlowGet(CLI::App& flow, CommandTree& tree) {
  CLI::App* verb = flow.add_subcommand("get", "Show one flow and when it fires next");
  auto name = std::make_shared<std::string>();
  auto version = std::make_shared<std::string>();
  verb->add_option("NAME", *name, "The flow")->required();
  verb->add_option("--version", *version, "Of its definition (default: the newest)");
  verb->footer(
      "With -o yaml the definition as it was stored, to be edited and applied again.\n\n"
      "Examples:\n  baton flow get nightly-sales\n"
      "  baton flow get nightly-sales --version 3 -o yaml > nightly.yaml");
  verb->callback([&tree, name, version] {
    setClientAction(
        tree, [name, version](Session& session) { return flowGet(session, *name, *version); });
  });
}

void addFlowList(CLI::App& flow, CommandTree& tree) {
  CLI::App* verb = flow.add_subcommand("list", "List flows by name");
  auto options = std::make_shared<FlowListOptions>();
  verb->add_option("-q,--text", options->text, "A part of the name");
  verb->add_option("--owner", options->owner, "Owner that the definition names");
  verb->add_option("-t,--tag", options->tag, "A tag that the definition has");
  verb->add_flag("--online", options->online, "Only those that are online");
  verb->add_flag("--offline", options->offline, "Only those that are offline");
  addPageOptions(*verb, options->pages, true);
  verb->footer(
      "Examples:\n  baton flow list --online -q sales\n"
      "  baton flow list --owner team-dwh --tag nightly --total");
  verb->callback([&tree, options] {
    setClientAction(tree, [options](Session& session) { return flowList(session, *options); });
  });
}

void addFlowVersions(CLI::App& flow, CommandTree& tree) {
  CLI::App* verb =
      flow.add_subcommand("versions", "List the versions of a definition, the newest first");
  auto name = std::make_shared<std::string>();
  auto pages = std::make_shared<PageOptions>();
  verb->add_option("NAME", *name, "The flow")->required();
  addPageOptions(*verb, *pages, false);
  verb->footer("Example:\n  baton flow versions nightly-sales -n 10");
  verb->callback([&tree, name, pages] {
    setClientAction(
        tree, [name, pages](Session& session) { return flowVersions(session, *name, *pages); });
  });
}

void addSetOnline(CLI::App& flow, CommandTree& tree, bool online) {
  CLI::App* verb = flow.add_subcommand(
      online ? "online" : "offline",
      online ? "Let flows fire" : "Flows fire no more; runs that are under way go on");
  auto names = std::make_shared<std::vector<std::string>>();
  verb->add_option("NAME", *names, "The flows")->required();
  verb->footer(fmt::format("Example:\n  baton flow {} nightly-sales hourly-import",
                           online ? "online" : "offline"));
  verb->callback([&tree, names, online] {
    setClientAction(
        tree, [names, online](Session& session) { return flowSetOnline(session, *names, online); });
  });
}

void addTrigger(CLI::App& flow, CommandTree& tree) {
  CLI::App* verb = flow.add_subcommand("trigger", "Begin a run by hand; prints its id");
  auto options = std::make_shared<FlowTriggerOptions>();
  verb->add_option("NAME", options->flow, "The flow; it may be offline")->required();
  addRepeated(*verb, "-p,--param", options->params,
              "K=V, a parameter, stronger than those of the definition; may be repeated");
  verb->add_option("--plan-time", options->plan_time,
                   "The instant that the run stands for, as 2026-11-29T02:00:00Z (default: now)");
  verb->add_option("--priority", options->priority,
                   "low, normal, high or critical (default: the flow's)");
  verb->add_option("--idempotency-key", options->idempotency_key,
                   "Repeats with the same key are one run (default: a random key)");
  verb->add_flag("--wait", options->wait, "Wait for the end; exit code 0 only if it is FINISHED");
  verb->add_option("--wait-timeout", options->wait_timeout,
                   "With --wait: wait no longer than this (exit code 124)");
  verb->footer(
      "A trigger is repeated with its idempotency key until it is answered, so that a failover\n"
      "neither loses nor doubles the run.\n\n"
      "Examples:\n  baton flow trigger nightly-sales --plan-time 2026-11-28T02:00:00Z\n"
      "  baton flow trigger nightly-sales -p region=eu -p full=yes --wait");
  verb->callback([&tree, options] {
    setClientAction(tree, [options](Session& session) { return flowTrigger(session, *options); });
  });
}

void addBackfill(CLI::App& flow, CommandTree& tree) {
  CLI::App* verb = flow.add_subcommand("backfill", "Make runs for plan times of the past");
  auto options = std::make_shared<FlowBackfillOptions>();
  verb->add_option("NAME", options->flow, "The flow")->required();
  verb->add_option("--from", options->from, "First instant of its schedule, included");
  verb->add_option("--to", options->to, "Last instant of its schedule, included");
  addRepeated(*verb, "--at", options->at, "This plan time instead of a range; may be repeated");
  verb->add_option("--parallel", options->parallel,
                   "Runs at a time, 1 to 100 (default: 1), if the flow's overlap is parallel")
      ->check(numberFrom(1, 100));
  verb->add_flag("--newest-first", options->newest_first, "Begin with the newest plan time");
  verb->add_flag("--keep-going", options->keep_going,
                 "Go on behind a run that failed (default: the rest is skipped)");
  verb->add_flag("--dry-run", options->dry_run, "Only say which runs would be made");
  addRepeated(*verb, "-p,--param", options->params, "K=V, a parameter; may be repeated");
  verb->add_option("--idempotency-key", options->idempotency_key,
                   "Repeats with the same key are one backfill (default: a random key)");
  verb->footer(
      "The schedule's own next instant stays where it is. `baton run stop --backfill ID` ends all\n"
      "that is left of one.\n\n"
      "Examples:\n"
      "  baton flow backfill nightly-sales --from 2026-11-01T00:00:00Z --to 2026-11-07T23:59:59Z "
      "--dry-run\n"
      "  baton flow backfill nightly-sales --at 2026-11-03T02:00:00Z --at 2026-11-05T02:00:00Z");
  verb->callback([&tree, options] {
    setClientAction(tree, [options](Session& session) { return flowBackfill(session, *options); });
  });
}

void addDelete(CLI::App& flow, CommandTree& tree) {
  CLI::App* verb = flow.add_subcommand(
      "delete", "Delete a flow; its runs that wait end TERMINATED, those that run are stopped");
  auto name = std::make_shared<std::string>();
  auto yes = std::make_shared<bool>(false);
  verb->add_option("NAME", *name, "The flow")->required();
  verb->add_flag("-y,--yes", *yes, "Don't ask");
  verb->footer("Example:\n  baton flow delete nightly-sales -y");
  verb->callback([&tree, name, yes] {
    setClientAction(tree,
                    [name, yes](Session& session) { return flowDelete(session, *name, *yes); });
  });
}

}  // namespace

void addFlowCommands(CLI::App& app, CommandTree& tree) {
  CLI::App* flow = app.add_subcommand("flow", "Work with flows and their definitions");
  flow->require_subcommand(1);
  addValidate(*flow, tree);
  addDiff(*flow, tree);
  addApply(*flow, tree);
  addFlowGet(*flow, tree);
  addFlowList(*flow, tree);
  addFlowVersions(*flow, tree);
  addSetOnline(*flow, tree, true);
  addSetOnline(*flow, tree, false);
  addTrigger(*flow, tree);
  addBackfill(*flow, tree);
  addDelete(*flow, tree);
}

}  // namespace baton::cli
