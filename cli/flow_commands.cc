#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_tree.h"
#include "cli/flow_verbs.h"

namespace baton::cli {
namespace {

using FlowVerb = int (*)(Surroundings&, const FlowFileOptions&);

void addFlowFileVerb(CLI::App& verb, CommandTree& tree,
                     const std::shared_ptr<FlowFileOptions>& options, FlowVerb run) {
  verb.add_option("--project-param", options->project_params,
                  "Name of a parameter that the project gives a value to; may be repeated")
      ->allow_extra_args(false);
  verb.callback([&tree, options, run] {
    tree.action = [&tree, options, run](Surroundings& surroundings) {
      options->output = conf::findOutputFormat(tree.client.sources.output);
      return run(surroundings, *options);
    };
  });
}

}  // namespace

void addFlowCommands(CLI::App& app, CommandTree& tree) {
  CLI::App* flow = app.add_subcommand("flow", "Work with definitions of flows");
  flow->require_subcommand(1);

  CLI::App* validate = flow->add_subcommand(
      "validate", "Check definitions and tell everything that is wrong; needs no master");
  auto files = std::make_shared<FlowFileOptions>();
  validate->add_option("FILE", files->files, "YAML or JSON; - for standard input")->required();
  validate->footer(
      "Exit codes: 0 all are well, 2 something is wrong, 3 no such file.\n\n"
      "Example:\n  baton flow validate nightly.yaml hourly.yaml -o json");
  addFlowFileVerb(*validate, tree, files, flowValidate);

  CLI::App* diff = flow->add_subcommand(
      "diff", "Say in words what differs between two definitions; needs no master");
  auto pair = std::make_shared<FlowFileOptions>();
  diff->add_option("FILES", pair->files, "The old definition and the new one")
      ->required()
      ->expected(2);
  diff->footer(
      "Exit codes: 0 they mean the same, 1 they differ, 255 one can't be read or is wrong.\n\n"
      "Example:\n  baton flow diff old/nightly.yaml nightly.yaml");
  addFlowFileVerb(*diff, tree, pair, flowDiff);
}

}  // namespace baton::cli
