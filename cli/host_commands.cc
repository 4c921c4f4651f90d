#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_tree.h"
#include "cli/host_verbs.h"
#include "cli/options.h"

namespace baton::cli {
namespace {

// Words of one verb about a host.
struct HostWords {
  std::string host;
  std::string reason;
  std::vector<std::string> labels;
  std::string word;
  bool wait = false;
};

constexpr const char* kHostHelp = "Worker id, or the name of a host: then all workers on it";

void addHostAction(CLI::App& host, CommandTree& tree, const std::string& action,
                   const std::string& help, const std::string& example) {
  CLI::App* verb = host.add_subcommand(action, help);
  auto words = std::make_shared<HostWords>();
  verb->add_option("HOST", words->host, kHostHelp)->required();
  if (action != "unregister") {
    verb->add_option("--reason", words->reason, "Why, for people; shown by host list");
  }
  if (action == "drain") {
    verb->add_flag("--wait", words->wait, "Wait until nothing runs there any more");
  }
  verb->footer("Example:\n  baton host " + example);
  verb->callback([&tree, words, action] {
    setClientAction(tree, [words, action](Session& session) {
      return hostAction(session, words->host, action, words->reason, words->wait);
    });
  });
}

void addHostList(CLI::App& host, CommandTree& tree) {
  CLI::App* list = host.add_subcommand(
      "list", "List workers: how busy, how healthy, and why one takes no tasks");
  auto options = std::make_shared<HostListOptions>();
  list->add_flag("--runners", options->runners, "List each runner instead");
  addRepeated(*list, "-s,--state", options->states,
              "Of hosts: active, draining, drained, excluded, unapproved or outdated; of runners: "
              "idle, busy, lost, leaving, conflict or unknown; several by commas");
  addRepeated(*list, "--health", options->health,
              "Of hosts: healthy, suspect, dead, quarantined or unknown, several by commas");
  list->add_option("--name", options->name,
                   "Worker id, or the name of a host: then all workers on it; with --runners the "
                   "runner's id");
  list->add_option("-q,--text", options->text,
                   "A part of the worker's id or host's name; with --runners of the runner's id");
  list->add_option("--worker", options->worker, "With --runners: those of this worker");
  list->add_option("--host", options->host, "With --runners: those on this host");
  addPageOptions(*list, options->pages, true, 1000);
  list->footer(
      "Examples:\n  baton host list\n  baton host list --health suspect,dead --total\n"
      "  baton host list --runners --state idle -o json");
  list->callback([&tree, options] {
    setClientAction(tree, [options](Session& session) { return hostList(session, *options); });
  });
}

void addHostLabel(CLI::App& host, CommandTree& tree) {
  CLI::App* verb = host.add_subcommand("label", "Set labels of a host over the worker's own");
  auto words = std::make_shared<HostWords>();
  verb->add_option("HOST", words->host, kHostHelp)->required();
  verb->add_option("LABEL", words->labels, "name=value sets a label, name- removes it again")
      ->required();
  verb->footer("Example:\n  baton host label worker-7 pool=etl disk=ssd old-");
  verb->callback([&tree, words] {
    setClientAction(
        tree, [words](Session& session) { return hostLabel(session, words->host, words->labels); });
  });
}

void addHostPolicy(CLI::App& host, CommandTree& tree) {
  CLI::App* policy =
      host.add_subcommand("policy", "Show the white list and the version that workers need");
  policy->footer("Example:\n  baton host policy");
  policy->callback([&tree] { setClientAction(tree, hostPolicy); });
  CLI::App* white_list = host.add_subcommand(
      "whitelist", "on: only hosts that were included get tasks; off: all that are not excluded");
  auto words = std::make_shared<HostWords>();
  white_list->add_option("WORD", words->word, "on or off")->required()->check(oneOf({"on", "off"}));
  white_list->footer("Example:\n  baton host whitelist on");
  white_list->callback([&tree, words] {
    setClientAction(tree,
                    [words](Session& session) { return hostWhiteList(session, words->word); });
  });
  CLI::App* version =
      host.add_subcommand("min-version", "Give no tasks to workers of an older version");
  auto wanted = std::make_shared<HostWords>();
  version->add_option("VERSION", wanted->word, "Such as 1.2.0, or none for any")->required();
  version->footer("Example:\n  baton host min-version 1.2.0");
  version->callback([&tree, wanted] {
    setClientAction(tree,
                    [wanted](Session& session) { return hostMinVersion(session, wanted->word); });
  });
}

}  // namespace

void addHostCommands(CLI::App& app, CommandTree& tree) {
  CLI::App* host = app.add_subcommand("host", "Look at workers and say which get tasks");
  host->require_subcommand(1);
  addHostList(*host, tree);
  addHostAction(*host, tree, "drain", "Give a host no new tasks; what runs there goes on",
                "drain worker-7 --reason 'new kernel' --wait");
  addHostAction(*host, tree, "exclude",
                "Put a host on the black list, also before it reports for the first time",
                "exclude worker-7 --reason 'bad disk'");
  addHostAction(*host, tree, "include", "Give a host tasks again; approves it under a white list",
                "include worker-7");
  addHostAction(*host, tree, "unregister",
                "Forget a worker that is dead or drained and has no open attempts",
                "unregister worker-7");
  addHostLabel(*host, tree);
  addHostPolicy(*host, tree);
}

}  // namespace baton::cli
