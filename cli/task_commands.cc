#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_tree.h"
#include "cli/explain.h"
#include "cli/options.h"
#include "cli/task_logs.h"
#include "cli/task_submit.h"
#include "cli/task_verbs.h"
#include "cli/task_wait.h"

namespace baton::cli {
namespace {

constexpr const char* kSubmitFooter =
    "The command is run as it is, without a shell; use --script, or -- sh -c '...', for one.\n"
    "A submit is repeated with its idempotency key until it is answered, so that a failover\n"
    "neither loses nor doubles it. A file holds one task, a list, or {\"tasks\": [...]}.\n"
    "\n"
    "Examples:\n"
    "  baton task submit -- /usr/local/bin/report --day 2026-11-29\n"
    "  baton task submit --name nightly --retry 3 --retry-delay 10s --timeout 1h --script load.sh\n"
    "  baton task submit --label gpu=a100 --param DAY=monday --wait -- python3 train.py\n"
    "  baton task submit --http http://etl.example/start --method POST --expect 202\n"
    "  baton task submit --kind wait-for-file --with '{\"path\": \"/in/x.csv\"}'\n"
    "  baton task submit --file tasks.json";

void addSubmitOptions(CLI::App& verb, SubmitOptions& options) {
  verb.add_option("--name", options.name, "Name for people (default: the program's)");
  verb.add_option("--priority", options.priority, "low, normal, high or critical");
  verb.add_option("-g,--group", options.group, "Count against the limit of this group");
  verb.add_option("--weight", options.weight,
                  "Units of the group's limit that it takes, 1 to 1000 (default: 1)");
  addRepeated(verb, "-l,--label", options.labels, "K=V that the runner must have; may be repeated");
  addRepeated(verb, "-e,--env", options.env, "K=V for the task's environment; may be repeated");
  addRepeated(verb, "-p,--param", options.params,
              "K=V, a parameter (arrives as an environment variable); may be repeated");
  addRepeated(verb, "-t,--tag", options.tags, "A word to find the task by; may be repeated");
  verb.add_option("--timeout", options.timeout, "Stop an attempt that runs longer, e.g. 90s, 2h");
  verb.add_option("--dispatch-timeout", options.dispatch_timeout,
                  "Fail the task if no runner takes it within this time");
  verb.add_option("--kill-grace", options.kill_grace,
                  "Time between TERM and KILL when it is stopped (default: 10s)");
  verb.add_option("--retry", options.retry, "How many extra attempts after a failure (default: 0)");
  verb.add_option("--retry-delay", options.retry_delay,
                  "Pause before the first extra attempt, doubled each time (default: 1s)");
  verb.add_option("--not-before", options.not_before,
                  "Don't start it earlier: 2026-11-29T12:00:00Z, or +10m from now");
  verb.add_flag("--hold", options.hold, "Don't start it before `baton task release`");
  verb.add_option("--dir", options.dir, "Working directory (default: a folder of the attempt)");
  verb.add_option("--callback", options.callback, "URL to call when the task has ended");
}

void addSubmit(CLI::App& task, CommandTree& tree) {
  CLI::App* verb = task.add_subcommand("submit", "Hand in a task, or a file of tasks");
  auto options = std::make_shared<SubmitOptions>();
  addSubmitOptions(*verb, *options);
  verb->add_option("--script", options->script, "Run this script; - reads it from standard input");
  verb->add_option("--interpreter", options->interpreter,
                   "What runs the script, e.g. \"python3 -u\" (default: /bin/sh -e)");
  verb->add_option("--http", options->http,
                   "Send a request to this http:// address; its body is the task's output");
  verb->add_option("--method", options->method, "Of the request (default: GET)");
  addRepeated(*verb, "--header", options->headers,
              "\"NAME: VALUE\" for the request; may be repeated");
  verb->add_option("--body", options->body,
                   "Text that the request carries; @FILE reads it, @- too");
  verb->add_option("--expect", options->expect,
                   "Statuses that are well, e.g. 200,3xx,400-404 (default: 2xx)");
  verb->add_option("--capture", options->capture, "Keep the answer's body as this output");
  verb->add_option("--kind", options->kind, "Run the workers' plug-in baton-task-KIND");
  verb->add_option("--with", options->with,
                   "What the plug-in gets: {\"a\": ...}, or a JSON file; - reads standard input");
  verb->add_option("--file", options->file, "JSON file with whole tasks; - reads standard input");
  verb->add_option("--idempotency-key", options->idempotency_key,
                   "Repeats with the same key are one submission (default: a random key)");
  verb->add_flag("--wait", options->wait, "Wait for the end; the exit code is the task's own");
  verb->add_flag("--follow", options->follow, "Wait, and show the output meanwhile");
  verb->add_option("--wait-timeout", options->wait_timeout,
                   "With --wait: wait no longer than this (exit code 124)");
  verb->footer(kSubmitFooter);
  tree.usage_tails[verb] = "-- PROGRAM ARGS...";
  verb->callback([&tree, options] {
    options->command = tree.behind_dashes;
    tree.takes_dashes = true;
    setClientAction(tree, [options](Session& session) { return taskSubmit(session, *options); });
  });
}

void addGet(CLI::App& task, CommandTree& tree) {
  CLI::App* verb = task.add_subcommand("get", "Show one task, and why it waits");
  auto id = std::make_shared<std::string>();
  auto attempts = std::make_shared<bool>(false);
  verb->add_option("ID", *id, "The task")->required();
  verb->add_flag("--attempts", *attempts, "Show its attempts instead");
  verb->footer("Examples:\n  baton task get 42\n  baton task get 42 --attempts");
  verb->callback([&tree, id, attempts] {
    setClientAction(tree,
                    [id, attempts](Session& session) { return taskGet(session, *id, *attempts); });
  });
}

void addList(CLI::App& task, CommandTree& tree) {
  CLI::App* verb = task.add_subcommand("list", "List tasks, the newest first");
  auto options = std::make_shared<TaskListOptions>();
  addRepeated(*verb, "-s,--status", options->statuses,
              "CREATED, QUEUED, DISPATCHED, RUNNING, CALLBACK, FINISHED, FAILED, SKIPPED, "
              "TERMINATING, TERMINATED or RETRYING, several by commas; other schedulers' words "
              "are understood");
  addRepeated(*verb, "--priority", options->priorities, "low, normal, high or critical");
  verb->add_option("--reason", options->reason, "Failure reason, e.g. exit_code, timeout");
  verb->add_flag("--ignored", options->ignored, "Only failures that their flow ignores");
  verb->add_option("--name", options->name, "The whole name");
  verb->add_option("-q,--text", options->text, "A part of the name");
  verb->add_option("-t,--tag", options->tag, "A tag");
  verb->add_option("-g,--group", options->group, "The group that it counts against");
  verb->add_option("--host", options->host, "Host of the newest attempt");
  verb->add_option("--runner", options->runner, "Runner of the newest attempt");
  verb->add_option("--run", options->run, "Run of a flow that they are parts of");
  verb->add_option("--flow", options->flow, "Flow whose runs they are parts of");
  verb->add_option("--since,--created-since", options->since,
                   "Made at this time or later; an age (2h) or a time");
  verb->add_option("--before,--created-before", options->before,
                   "Made before this time; an age or a time");
  addPageOptions(*verb, options->pages, true);
  verb->footer(
      "Examples:\n  baton task list --status RUNNING,QUEUED\n"
      "  baton task list --status FAILED --since 24h --all -o json\n"
      "  baton task list --flow nightly-sales --status RUNNING");
  verb->callback([&tree, options] {
    setClientAction(tree, [options](Session& session) { return taskList(session, *options); });
  });
}

void addExplain(CLI::App& task, CommandTree& tree) {
  CLI::App* verb = task.add_subcommand("explain", "Say why a task is as it is");
  auto id = std::make_shared<std::string>();
  verb->add_option("ID", *id, "The task")->required();
  verb->footer("Example:\n  baton task explain 42");
  verb->callback([&tree, id] {
    setClientAction(
        tree, [id](Session& session) { return explain(session, "task", taskPath(*id), *id); });
  });
}

void addLogs(CLI::App& task, CommandTree& tree) {
  CLI::App* verb = task.add_subcommand(
      "logs", "Show a task's output: its standard output on ours, its standard error on ours");
  auto options = std::make_shared<LogsOptions>();
  verb->add_option("ID", options->id, "The task")->required();
  verb->add_option("--stream", options->stream, "stdout, stderr or both (default: both)");
  verb->add_option("--attempt", options->attempt, "Number of the attempt (default: the newest)");
  verb->add_option("--tail", options->tail, "Only the last lines of each stream");
  verb->add_flag("-f,--follow", options->follow, "Go on until the task has ended");
  verb->footer(
      "Examples:\n  baton task logs 42 --tail 100\n  baton task logs 42 --follow\n"
      "  baton task logs 42 --stream stderr --attempt 1");
  verb->callback([&tree, options] {
    setClientAction(tree, [options](Session& session) { return taskLogs(session, *options); });
  });
}

void addWait(CLI::App& task, CommandTree& tree) {
  CLI::App* verb =
      task.add_subcommand("wait", "Wait until a task has ended; the exit code is the task's own");
  auto options = std::make_shared<WaitOptions>();
  verb->add_option("ID", options->id, "The task")->required();
  verb->add_option("--timeout", options->timeout, "Wait no longer than this (exit code 124)");
  verb->footer("Example:\n  baton task wait 42 --timeout 10m");
  verb->callback([&tree, options] {
    setClientAction(tree, [options](Session& session) { return taskWait(session, *options); });
  });
}

void addAction(CLI::App& task, CommandTree& tree, const std::string& action,
               const std::string& help) {
  CLI::App* verb = task.add_subcommand(action, help);
  auto id = std::make_shared<std::string>();
  auto force = std::make_shared<bool>(false);
  verb->add_option("ID", *id, "The task")->required();
  if (action == "rerun") {
    verb->add_flag(
        "--force", *force,
        "Even if nobody proved that its stopped attempt is gone: two copies may overlap");
  }
  verb->footer(fmt::format("Example:\n  baton task {} 42", action));
  verb->callback([&tree, id, force, action] {
    setClientAction(tree, [id, force, action](Session& session) {
      return taskAction(session, *id, action, *force);
    });
  });
}

}  // namespace

void addTaskCommands(CLI::App& app, CommandTree& tree) {
  CLI::App* task = app.add_subcommand("task", "Submit, watch and steer tasks");
  task->require_subcommand(1);
  addSubmit(*task, tree);
  addGet(*task, tree);
  addList(*task, tree);
  addExplain(*task, tree);
  addLogs(*task, tree);
  addWait(*task, tree);
  addAction(*task, tree, "stop", "Stop a task, or cancel it when it waits");
  addAction(*task, tree, "rerun", "Run a task that has ended again");
  addAction(*task, tree, "hold", "Keep a waiting task from being started");
  addAction(*task, tree, "release", "End a hold");
  addAction(*task, tree, "skip", "A waiting task will not run at all");
  addAction(*task, tree, "force-success", "Declare a failed task finished");
}

}  // namespace baton::cli
