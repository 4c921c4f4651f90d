#include <CLI/CLI.hpp>
#include <memory>

#include "cli/cluster_verbs.h"
#include "cli/command_tree.h"
#include "cli/config_verbs.h"
#include "cli/exit_code.h"
#include "cli/help_formatter.h"
#include "cli/options.h"
#include "cli/version.h"
#include "common/base/duration_text.h"

namespace baton::cli {
namespace {

// Options of the verbs that start a program.
struct ProgramOptions {
  struct ShortCut {
    std::string key;
    std::string value = {};
  };
  std::string config;
  std::vector<std::string> overrides;          // section.key=value
  std::map<std::string, ShortCut> short_cuts;  // By option.
};

// Options of `cluster init`.
struct ClusterInitWords : ProgramOptions {
  std::string heartbeat;
  bool adopt = false;
};

// The environment's overrides and, stronger, those of the command line.
Result<conf::Environment> environmentWith(const ProgramOptions& options) {
  conf::Environment environment = conf::overridesFromProcess();
  for (const std::string& text : options.overrides) {
    const size_t equals = text.find('=');
    const size_t dot = text.find('.');
    if (equals == text.npos || dot == text.npos || dot > equals) {
      return Error::invalidArgument("--set: is \"{}\", expected section.key=value",
                                    truncateUtf8(text, 60));
    }
    environment["--set " + text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const auto& [option, short_cut] : options.short_cuts) {
    if (short_cut.value.empty()) continue;
    environment.erase("--set " + short_cut.key);
    environment[option + " " + short_cut.key] = short_cut.value;
  }
  return environment;
}

void addProgramOptions(CLI::App& verb, ProgramOptions& options, const std::string& file) {
  verb.add_option("--config", options.config,
                  file.empty() ? "Settings file (default: none)"
                               : fmt::format("Settings file (default: {})", file));
  verb.add_option("--set", options.overrides,
                  "section.key=value, stronger than file and environment; may be repeated")
      ->allow_extra_args(false);
  options.config = file;
}

// Loads the settings and starts the program with them.
template <typename Load, typename Start>
int loadAndStart(Surroundings& surroundings, const ProgramOptions& options, Load load,
                 Start start) {
  const auto environment = environmentWith(options);
  if (!environment.ok()) return reportError(surroundings.err, environment.error());
  const auto config = load(options.config, *environment);
  if (!config.ok()) {
    const bool missing = config.error().code() == ErrorCode::NotFound;
    surroundings.err << (missing ? "baton: " : "") << config.error().message() << "\n";
    return missing ? kExitNotFound : kExitUsage;
  }
  return start(*config);
}

void addInit(CLI::App& cluster, CommandTree& tree, const Programs& programs) {
  CLI::App* verb = cluster.add_subcommand(
      "init", "Make a cluster in its database and ZooKeeper; may be run again");
  auto options = std::make_shared<ClusterInitWords>();
  addProgramOptions(*verb, *options, "/etc/baton/master.yaml");
  verb->add_option("--heartbeat", options->heartbeat,
                   "Heartbeat interval of the cluster, 200ms to 5m (default: kept, or 30s); to "
                   "change it stop all masters first");
  verb->add_flag("--adopt", options->adopt,
                 "Make the database's cluster anew in a ZooKeeper that lost its data");
  verb->footer("Example:\n  baton cluster init --config /etc/baton/master.yaml --heartbeat 5s");
  verb->callback([&tree, options, init = programs.cluster_init] {
    tree.action = [options, init](Surroundings& surroundings) {
      InitOptions init_options;
      init_options.adopt = options->adopt;
      if (!options->heartbeat.empty()) {
        const auto heartbeat = parseDuration(options->heartbeat);
        if (!heartbeat.ok() || *heartbeat < Millis(200) || *heartbeat > Millis(300'000)) {
          return reportError(surroundings.err,
                             Error::invalidArgument("--heartbeat: is \"{}\", expected 200ms to 5m",
                                                    truncateUtf8(options->heartbeat, 40)));
        }
        init_options.heartbeat = *heartbeat;
      }
      return loadAndStart(
          surroundings, *options, conf::loadMasterConfig,
          [&](const conf::MasterConfig& config) { return init(config, init_options); });
    };
  });
}

// Adds a verb that needs no options of its own.
void addPlain(CLI::App& parent, CommandTree& tree, const std::string& name, const std::string& help,
              int (*verb)(Session&)) {
  CLI::App* added = parent.add_subcommand(name, help);
  added->footer(fmt::format("Example:\n  {} {}", commandOf(parent), name));
  added->callback([&tree, verb] { setClientAction(tree, verb); });
}

template <typename Config, typename Load>
void addProgram(CLI::App& app, CommandTree& tree, const std::string& name, const std::string& help,
                const std::string& file, Load load,
                const std::function<int(const Config&)>& program) {
  if (!program) return;
  CLI::App* verb = app.add_subcommand(name, help);
  auto options = std::make_shared<ProgramOptions>();
  addProgramOptions(*verb, *options, file);
  verb->footer(fmt::format("Example:\n  baton {} --config {}", name, file));
  verb->callback([&tree, options, load, program] {
    tree.action = [options, load, program](Surroundings& surroundings) {
      return loadAndStart(surroundings, *options, load, program);
    };
  });
}

void addStandalone(CLI::App& app, CommandTree& tree, const Programs& programs) {
  if (!programs.standalone) return;
  CLI::App* verb = app.add_subcommand("standalone",
                                      "Run master and worker in one, on SQLite, without ZooKeeper");
  auto options = std::make_shared<ProgramOptions>();
  addProgramOptions(*verb, *options, "");
  const auto add_short_cut = [&](const std::string& option, const std::string& key,
                                 const std::string& help) {
    ProgramOptions::ShortCut& short_cut = options->short_cuts[option] = {.key = key};
    verb->add_option(option, short_cut.value, fmt::format("{} ({})", help, key));
  };
  add_short_cut("--data-dir", "standalone.data_dir", "Folder for everything it keeps");
  add_short_cut("--host", "http.host", "Address to listen on");
  add_short_cut("--port", "http.port", "Port to listen on, 0 for any free one");
  add_short_cut("--runners", "standalone.runners", "How many tasks run at a time");
  add_short_cut("--heartbeat", "heartbeat.interval", "Heartbeat interval");
  verb->footer(
      "It makes a token of its own and leaves client.yaml where the client verbs find it, so that\n"
      "they work without any setting. Beside another standalone that still runs they stay with\n"
      "that one; BATON_CLIENT_CONFIG=DATA_DIR/client.yaml leads them to this one.\n\n"
      "Example:\n  baton standalone --port 7410 --runners 8");
  verb->callback([&tree, options, program = programs.standalone] {
    tree.action = [options, program](Surroundings& surroundings) {
      return loadAndStart(surroundings, *options, conf::loadStandaloneConfig, program);
    };
  });
}

}  // namespace

void addClusterCommands(CLI::App& app, CommandTree& tree, const Programs& programs) {
  CLI::App* cluster = app.add_subcommand("cluster", "Make a cluster and look at it");
  cluster->require_subcommand(1);
  if (programs.cluster_init) addInit(*cluster, tree, programs);
  addPlain(*cluster, tree, "status", "Show who leads, and every master (exit code 5: nobody leads)",
           clusterStatus);
  addPlain(*cluster, tree, "stats", "Count tasks by status, priority and reason of waiting",
           clusterStats);
  addPlain(*cluster, tree, "verify",
           "Compare the active master's memory with the database (exit code 1: they differ)",
           clusterVerify);
  addPlain(*cluster, tree, "sync",
           "Have the database read again, definitions and all, by whoever leads then", clusterSync);
  addClusterLimitCommands(*cluster, tree);
  CLI::App* history = cluster->add_subcommand("history", "List takeovers with their phase times");
  auto limit = std::make_shared<std::string>();
  history->add_option("-n,--limit", *limit, "How many, 1 to 1000 (default: 100)");
  history->footer("Example:\n  baton cluster history -n 10");
  history->callback([&tree, limit] {
    setClientAction(tree, [limit](Session& session) { return clusterHistory(session, *limit); });
  });
}

void addConfigCommands(CLI::App& app, CommandTree& tree) {
  CLI::App* config = app.add_subcommand("config", "Check and explain settings; needs no master");
  config->require_subcommand(1);
  CLI::App* check =
      config->add_subcommand("check", "Say everything that is wrong with a settings file");
  auto check_options = std::make_shared<ConfigCheckOptions>();
  check->add_option("FILE", check_options->file, "The settings file")->required();
  check
      ->add_option("--program", check_options->program,
                   "master, worker or standalone (default: by the file's name or its keys)")
      ->check(oneOf({"master", "worker", "standalone"}));
  check->footer("Example:\n  baton config check /etc/baton/master.yaml");
  check->callback([&tree, check_options] {
    tree.action = [check_options](Surroundings& surroundings) {
      return configCheck(surroundings.out, surroundings.err, *check_options,
                         conf::overridesFromProcess());
    };
  });
  CLI::App* keys = config->add_subcommand("keys", "List every setting");
  auto keys_options = std::make_shared<ConfigKeysOptions>();
  keys->add_option("--sample", keys_options->sample,
                   "Write the sample file of master, worker or standalone")
      ->check(oneOf({"master", "worker", "standalone"}));
  keys->add_flag("--markdown", keys_options->markdown, "Write docs/configuration.md");
  keys->footer("Examples:\n  baton config keys\n  baton config keys --sample worker > worker.yaml");
  keys->callback([&tree, keys_options] {
    tree.action = [&tree, keys_options](Surroundings& surroundings) {
      keys_options->output = conf::findOutputFormat(tree.client.sources.output);
      return configKeys(surroundings.out, surroundings.err, *keys_options);
    };
  });
}

void addProgramCommands(CLI::App& app, CommandTree& tree, const Programs& programs) {
  addProgram(app, tree, "master", "Run a master: one leads, the others wait",
             "/etc/baton/master.yaml", conf::loadMasterConfig, programs.master);
  addProgram(app, tree, "worker", "Run a worker: it carries the runners of this host",
             "/etc/baton/worker.yaml", conf::loadWorkerConfig, programs.worker);
  addStandalone(app, tree, programs);
  // For the list of verbs: its arguments never come to this parser.
  if (programs.bench) {
    app.add_subcommand("bench", "Measure baton and the limits of this machine; see bench --help")
        ->footer("Example:\n  baton bench --help");
  }
  CLI::App* version = app.add_subcommand("version", "Print the version; with -o json its parts");
  version->footer("Examples:\n  baton version\n  baton version -o json");
  version->callback([&tree] {
    tree.action = [&tree](Surroundings& surroundings) {
      return printVersion(surroundings.out, surroundings.err,
                          conf::findOutputFormat(tree.client.sources.output));
    };
  });
}

}  // namespace baton::cli
