#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_tree.h"
#include "cli/param_verbs.h"

namespace baton::cli {
namespace {

void addParamList(CLI::App& param, CommandTree& tree) {
  CLI::App* verb =
      param.add_subcommand("list", "List the parameters with the beginnings of their values");
  verb->footer("Example:\n  baton param list -o yaml");
  verb->callback([&tree] { setClientAction(tree, paramList); });
}

void addParamGet(CLI::App& param, CommandTree& tree) {
  CLI::App* verb = param.add_subcommand("get", "Show a parameter with its whole value");
  auto name = std::make_shared<std::string>();
  verb->add_option("NAME", *name, "The parameter")->required();
  verb->footer(
      "Exit codes: 0 there is one, 3 there is none.\n\nExample:\n  baton param get region");
  verb->callback([&tree, name] {
    setClientAction(tree, [name](Session& session) { return paramGet(session, *name); });
  });
}

void addParamSet(CLI::App& param, CommandTree& tree) {
  CLI::App* verb = param.add_subcommand("set",
                                        "Give a parameter a value; runs that are there keep "
                                        "the value they were made with");
  auto name = std::make_shared<std::string>();
  auto value = std::make_shared<std::string>();
  verb->add_option("NAME", *name, "Letters, digits and _, at most 64")->required();
  verb->add_option("VALUE", *value, "Taken as it is; - for standard input")->required();
  verb->footer(
      "A value that begins with - comes by standard input, whose last line break is left out.\n"
      "One that stands already makes no new version. All together may have 128 KB.\n"
      "Values are no secrets: whoever may read the API reads them.\n"
      "Exit codes: 0 it has the value, 2 a wrong name, or too much.\n\n"
      "Examples:\n  baton param set region eu-west-1\n"
      "  baton param set query - < query.sql");
  verb->callback([&tree, name, value] {
    tree.action = [&tree, name, value](Surroundings& surroundings) {
      auto session = Session::open(surroundings, tree.client);
      if (!session.ok()) return reportError(surroundings.err, session.error());
      return paramSet(surroundings, *session, *name, *value);
    };
  });
}

void addParamDelete(CLI::App& param, CommandTree& tree) {
  CLI::App* verb = param.add_subcommand(
      "delete", "Delete a parameter; refused while the newest version of a flow uses it");
  auto name = std::make_shared<std::string>();
  auto yes = std::make_shared<bool>(false);
  verb->add_option("NAME", *name, "The parameter")->required();
  verb->add_flag("-y,--yes", *yes, "Don't ask");
  verb->footer(
      "Exit codes: 0 deleted, 3 there is none, 4 flows use it.\n\n"
      "Example:\n  baton param delete region -y");
  verb->callback([&tree, name, yes] {
    setClientAction(tree,
                    [name, yes](Session& session) { return paramDelete(session, *name, *yes); });
  });
}

}  // namespace

void addParamCommands(CLI::App& app, CommandTree& tree) {
  CLI::App* param = app.add_subcommand(
      "param", "Work with the parameters of the project, which all flows can use");
  param->require_subcommand(1);
  addParamList(*param, tree);
  addParamGet(*param, tree);
  addParamSet(*param, tree);
  addParamDelete(*param, tree);
}

}  // namespace baton::cli
