#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/programs.h"
#include "cli/session.h"

namespace CLI {
class App;
}  // namespace CLI

namespace baton::cli {

// What parsing fills in: the options that all share, and the action of the verb that was named.
struct CommandTree {
  ClientOptions client;
  std::vector<std::string> behind_dashes;              // What stood behind "--".
  bool takes_dashes = false;                           // The verb has a use for them.
  std::map<const CLI::App*, std::string> usage_tails;  // What else stands in a verb's usage.
  std::function<int(Surroundings&)> action;
};

// Each adds its verbs to `app`; `tree` outlives the parsing.
void addTaskCommands(CLI::App& app, CommandTree& tree);
void addHostCommands(CLI::App& app, CommandTree& tree);
void addClusterCommands(CLI::App& app, CommandTree& tree, const Programs& programs);
void addProgramCommands(CLI::App& app, CommandTree& tree, const Programs& programs);
void addLimitCommands(CLI::App& app, CommandTree& tree);
// Those under `cluster`.
void addClusterLimitCommands(CLI::App& cluster, CommandTree& tree);
void addConfigCommands(CLI::App& app, CommandTree& tree);
void addScheduleCommands(CLI::App& app, CommandTree& tree);
void addFlowCommands(CLI::App& app, CommandTree& tree);
void addCalendarCommands(CLI::App& app, CommandTree& tree);
void addParamCommands(CLI::App& app, CommandTree& tree);
void addRunCommands(CLI::App& app, CommandTree& tree);
void addEventCommands(CLI::App& app, CommandTree& tree);  // And those of missed instants.
void addActivityCommands(CLI::App& app, CommandTree& tree);

// Sets the action to a client verb: opens a session, then calls `verb`.
template <typename Verb>
void setClientAction(CommandTree& tree, Verb verb) {
  tree.action = [&tree, verb = std::move(verb)](Surroundings& surroundings) {
    auto session = Session::open(surroundings, tree.client);
    if (!session.ok()) return reportError(surroundings.err, session.error());
    return verb(*session);
  };
}

}  // namespace baton::cli
