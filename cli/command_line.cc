#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/command_tree.h"
#include "cli/exit_code.h"
#include "cli/help_formatter.h"
#include "cli/usage_error.h"

namespace baton::cli {
namespace {

constexpr const char* kDescription =
    "baton runs tasks on many machines, on time, each exactly as often as it should.";

constexpr const char* kFooter =
    "Environment:\n"
    "  BATON_MASTERS        host:port of the masters, separated by commas\n"
    "  BATON_TOKEN          the token\n"
    "  BATON_OUTPUT_FORMAT  table, json or yaml\n"
    "  BATON_CLIENT_CONFIG  file with masters, token_file and output, instead of\n"
    "                       baton/client.yaml in the user's configuration folder\n"
    "\n"
    "Exit codes: 0 well, 1 failure, 2 wrong usage, 3 not found, 4 refused, 5 no active master.\n"
    "With --wait: the task's own, 128+n for signal n, 124 for a timeout.\n"
    "\n"
    "Begin with: baton standalone, and in another terminal\n"
    "  baton task submit --wait -- echo hello";

void addSharedOptions(CLI::App& app, CommandTree& tree) {
  app.add_option("--masters", tree.client.sources.masters,
                 "Masters as host:port, separated by commas or repeated")
      ->allow_extra_args(false)
      ->group("Options of all client verbs");
  app.add_option("--token-file", tree.client.sources.token_file, "File that holds the token")
      ->group("Options of all client verbs");
  app.add_option("-o,--output", tree.client.sources.output, "table, json or yaml (default: table)")
      ->group("Options of all client verbs");
  app.add_flag("--no-header", tree.client.no_header, "Tables without their first line")
      ->group("Options of all client verbs");
  app.add_option("--patience", tree.client.patience,
                 "How long to look for an active master (default: 60s)")
      ->group("Options of all client verbs");
}

// Everything behind the first "--" is the task's, or no option whatever it looks like.
std::vector<std::string> splitAtDashes(const std::vector<std::string>& arguments,
                                       CommandTree& tree) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (dashes != arguments.end()) tree.behind_dashes.assign(dashes + 1, arguments.end());
  return {arguments.begin(), dashes};
}

// Whether something stands beside the options of the verb: a file, a name.
bool takesWords(const CLI::App& verb) {
  const auto all = verb.get_options();
  return std::any_of(all.begin(), all.end(),
                     [](const CLI::Option* option) { return option->get_positional(); });
}

// All commands with what their parsing fills in.
struct Commands {
  explicit Commands(const Programs& programs) : app(kDescription, "baton") {
    app.formatter(help);
    app.require_subcommand(1);
    app.fallthrough();
    app.set_version_flag("--version", "baton " BATON_VERSION, "Print the version and exit");
    addSharedOptions(app, tree);
    addTaskCommands(app, tree);
    addFlowCommands(app, tree);
    addRunCommands(app, tree);
    addEventCommands(app, tree);
    addActivityCommands(app, tree);
    addScheduleCommands(app, tree);
    addCalendarCommands(app, tree);
    addParamCommands(app, tree);
    addHostCommands(app, tree);
    addLimitCommands(app, tree);
    addClusterCommands(app, tree, programs);
    addConfigCommands(app, tree);
    addProgramCommands(app, tree, programs);
    app.footer(kFooter);  // Last: those that are added take it over.
  }
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  CommandTree tree;
  CLI::App app;
  const std::shared_ptr<HelpFormatter> help = std::make_shared<HelpFormatter>(tree);
};

void addVerbs(const CLI::App& app, const std::vector<std::string>& path,
              std::vector<std::vector<std::string>>& verbs) {
  for (const CLI::App* sub : app.get_subcommands({})) {
    std::vector<std::string> named = path;
    named.push_back(sub->get_name());
    if (isVerb(*sub)) verbs.push_back(named);
    addVerbs(*sub, named, verbs);
  }
}

}  // namespace

std::vector<std::vector<std::string>> allVerbs(const Programs& programs) {
  const Commands commands(programs);
  std::vector<std::vector<std::string>> verbs;
  addVerbs(commands.app, {}, verbs);
  return verbs;
}

int run(const std::vector<std::string>& arguments, const Programs& programs,
        Surroundings& surroundings) {
  // The arguments of these are their own.
  for (const auto& [name, program] :
       {std::pair("shepherd", &programs.shepherd), std::pair("http-task", &programs.http_task),
        std::pair("bench", &programs.bench)}) {
    if (!arguments.empty() && arguments.front() == name && *program) {
      return (*program)({arguments.begin() + 1, arguments.end()});
    }
  }
  Commands commands(programs);
  CLI::App& app = commands.app;
  CommandTree& tree = commands.tree;
  const auto refuse = [&](const std::string& why) {
    surroundings.err << "baton: " << printable(why) << "\n"
                     << commands.help->usageOf(namedApp(app)) << "; --help tells more\n";
    return kExitUsage;
  };
  const std::vector<std::string> words = splitAtDashes(arguments, tree);
  const CLI::App* verb = &app;
  if (const auto wrong = wrongVerb(app, words, &verb)) {
    surroundings.err << "baton: " << printable(*wrong) << "\n";
    return kExitUsage;
  }
  std::vector<std::string> read = words;
  if (!tree.behind_dashes.empty() && !tree.usage_tails.contains(verb) && takesWords(*verb)) {
    read.push_back("--");
    read.insert(read.end(), tree.behind_dashes.begin(), tree.behind_dashes.end());
    tree.behind_dashes.clear();
  }
  try {
    app.parse(std::vector<std::string>(read.rbegin(), read.rend()));  // As the parser takes them.
  } catch (const CLI::Success& asked) {
    app.exit(asked, surroundings.out, surroundings.err);
    return kExitOk;
  } catch (const CLI::ParseError& wrong) {
    return refuse(refusalText(app, wrong));
  }
  if (const auto empty = emptyValue(app, words)) return refuse(*empty);
  if (!tree.behind_dashes.empty() && !tree.takes_dashes) {
    return refuse(fmt::format("{} has no use for what stands behind --", commandOf(namedApp(app))));
  }
  CHECK(tree.action != nullptr);
  int code = tree.action(surroundings);
  surroundings.out.flush();
  if (!surroundings.out && code == kExitOk) {
    // Who has seen enough knows why it ends here.
    if (surroundings.reader_gone && surroundings.reader_gone()) return kExitReaderGone;
    surroundings.err << "baton: standard output can't be written\n";
    code = kExitFailure;
  }
  return code;
}

}  // namespace baton::cli
