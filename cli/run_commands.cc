#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_tree.h"
#include "cli/explain.h"
#include "cli/options.h"
#include "cli/run_verbs.h"
#include "cli/run_wait.h"

namespace baton::cli {
namespace {

// A verb that needs nothing but the run.
CLI::App* addRunVerb(CLI::App& run, CommandTree& tree, const std::string& name,
                     const std::string& help,
                     std::function<int(Session&, const std::string& id)> verb) {
  CLI::App* added = run.add_subcommand(name, help);
  auto id = std::make_shared<std::string>();
  added->add_option("ID", *id, "The run")->required();
  added->footer(fmt::format("Example:\n  baton run {} 12", name));
  added->callback([&tree, id, verb = std::move(verb)] {
    setClientAction(tree, [id, verb](Session& session) { return verb(session, *id); });
  });
  return added;
}

void addPlainAction(CLI::App& run, CommandTree& tree, const std::string& name,
                    const std::string& help) {
  addRunVerb(run, tree, name, help, [name](Session& session, const std::string& id) {
    return runAction(session, id, name, Json::object());
  });
}

void addRunList(CLI::App& run, CommandTree& tree) {
  CLI::App* verb = run.add_subcommand("list", "List runs, the newest first");
  auto options = std::make_shared<RunListOptions>();
  verb->add_option("--flow", options->flow, "Name of the flow");
  verb->add_option("-q,--text", options->text, "A part of the flow's name");
  addRepeated(*verb, "-s,--status", options->statuses,
              "WAITING, RUNNING, PAUSED, TERMINATING, FINISHED, FAILED, TERMINATED or SKIPPED, "
              "several by commas");
  addRepeated(*verb, "--reason", options->reasons,
              "Why they ended otherwise than well or never began: task_failed, timeout, "
              "stop_asked, overlap_skip, queue_full, overlap_cancel, bad_spec, flow_deleted, "
              "backfill_stopped or skipped_by_hand, several by commas");
  addRepeated(*verb, "--trigger", options->triggers,
              "schedule, manual, backfill, event or sub_flow, several by commas");
  verb->add_option("--backfill", options->backfill, "Id of the backfill that made them");
  verb->add_option("--since", options->since,
                   "Plan time at this time or later; an age (2h) or a time");
  verb->add_option("--before", options->before, "Plan time before this; an age or a time");
  verb->add_option("--created-since", options->created_since,
                   "Made at this time or later; an age or a time");
  verb->add_option("--created-before", options->created_before,
                   "Made before this; an age or a time");
  verb->add_option("--principal", options->principal, "Who asked for them");
  verb->add_flag("--late", options->late, "Only those that missed their deadline");
  addPageOptions(*verb, options->pages, true);
  verb->footer(
      "Examples:\n  baton run list --flow nightly-sales --since 7d\n"
      "  baton run list --status WAITING,RUNNING,PAUSED --all -o json\n"
      "  baton run list --reason overlap_skip,queue_full --created-since 24h --total");
  verb->callback([&tree, options] {
    setClientAction(tree, [options](Session& session) { return runList(session, *options); });
  });
}

void addRunStop(CLI::App& run, CommandTree& tree) {
  CLI::App* verb =
      run.add_subcommand("stop", "Stop a run and what runs of it, or a whole backfill");
  auto id = std::make_shared<std::string>();
  auto backfill = std::make_shared<std::string>();
  verb->add_option("ID", *id, "The run");
  verb->add_option("--backfill", *backfill,
                   "All runs of this backfill that wait or run, instead of one run");
  verb->footer("Examples:\n  baton run stop 12\n  baton run stop --backfill 60004");
  verb->callback([&tree, id, backfill] {
    setClientAction(tree, [id, backfill](Session& session) {
      if (id->empty() == backfill->empty()) {
        return session.fail(Error::invalidArgument("expected either a run or --backfill ID"));
      }
      if (!backfill->empty()) return backfillStop(session, *backfill);
      return runAction(session, *id, "stop", Json::object());
    });
  });
}

void addRunWait(CLI::App& run, CommandTree& tree) {
  CLI::App* verb =
      run.add_subcommand("wait", "Wait until a run has ended; exit code 0 only if it is FINISHED");
  auto options = std::make_shared<RunWaitOptions>();
  verb->add_option("ID", options->id, "The run")->required();
  verb->add_option("--timeout", options->timeout, "Wait no longer than this (exit code 124)");
  verb->footer("Example:\n  baton run wait 12 --timeout 2h");
  verb->callback([&tree, options] {
    setClientAction(tree, [options](Session& session) { return runWait(session, *options); });
  });
}

void addRunRerun(CLI::App& run, CommandTree& tree) {
  CLI::App* verb = run.add_subcommand("rerun", "Run an ended run, or parts of it, again");
  auto options = std::make_shared<RunRerunOptions>();
  verb->add_option("ID", options->id, "The run")->required();
  verb->add_flag("--failed", options->failed,
                 "What did not end well, and all behind it (the default)");
  verb->add_flag("--all", options->all, "All tasks");
  verb->add_option("--from", options->from, "This task and all behind it");
  verb->add_option("--task", options->task, "This task alone");
  verb->add_flag("--force", options->force,
                 "Even if nobody proved that a stopped attempt is gone: two copies may overlap");
  verb->footer(
      "It keeps the version of the definition that it began with, and its parameters; with others\n"
      "a new run is begun: baton flow trigger NAME --plan-time T -p K=V.\n\n"
      "Examples:\n  baton run rerun 12\n  baton run rerun 12 --from load");
  verb->callback([&tree, options] {
    setClientAction(tree, [options](Session& session) { return runRerun(session, *options); });
  });
}

// `skip` and `force-success`: of one task of the run.
void addTaskAction(CLI::App& run, CommandTree& tree, const std::string& action,
                   const std::string& help, bool needed, const std::string& example) {
  CLI::App* verb = run.add_subcommand(action, help);
  auto id = std::make_shared<std::string>();
  auto task = std::make_shared<std::string>();
  verb->add_option("ID", *id, "The run")->required();
  CLI::Option* name = verb->add_option("--task", *task, "Name of the task");
  if (needed) name->required();
  verb->footer("Example:\n  baton run " + example);
  verb->callback([&tree, id, task, action] {
    setClientAction(tree, [id, task, action](Session& session) {
      return runAction(session, *id, action,
                       task->empty() ? Json::object() : Json{{"task", *task}});
    });
  });
}

void addRunPriority(CLI::App& run, CommandTree& tree) {
  CLI::App* verb = run.add_subcommand("priority", "Change the priority of a run");
  auto id = std::make_shared<std::string>();
  auto priority = std::make_shared<std::string>();
  verb->add_option("ID", *id, "The run")->required();
  verb->add_option("PRIORITY", *priority, "low, normal, high or critical")->required();
  verb->footer("Example:\n  baton run priority 12 high");
  verb->callback([&tree, id, priority] {
    setClientAction(tree, [id, priority](Session& session) {
      return runAction(session, *id, "priority", {{"priority", *priority}});
    });
  });
}

}  // namespace

void addRunCommands(CLI::App& app, CommandTree& tree) {
  CLI::App* run = app.add_subcommand("run", "Watch and steer runs of flows");
  run->require_subcommand(1);
  addRunVerb(*run, tree, "get", "Show one run, and what it waits for", runGet);
  addRunList(*run, tree);
  addRunVerb(*run, tree, "tasks", "List the tasks of a run in the order of the definition",
             runTasks);
  addRunVerb(*run, tree, "explain", "Say why a run is as it is",
             [](Session& session, const std::string& id) {
               return explain(session, "run", runPath(id), id);
             });
  addRunWait(*run, tree);
  addRunStop(*run, tree);
  addPlainAction(*run, tree, "pause", "Start nothing of it any more; what runs goes on");
  addPlainAction(*run, tree, "resume", "End a pause");
  addRunRerun(*run, tree);
  addTaskAction(*run, tree, "skip", "A run that waits will not run; or one waiting task of a run",
                false, "skip 12 --task check");
  addTaskAction(*run, tree, "force-success",
                "Declare a failed task finished, without outputs; the run goes on behind it", true,
                "force-success 12 --task load");
  addRunPriority(*run, tree);
}

}  // namespace baton::cli
