#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/command_tree.h"

namespace baton::cli {

// Help of the command line: what a verb takes as one reads it in a manual, in lines of at most a
// hundred columns. `tree` outlives this.
class HelpFormatter final : public CLI::Formatter {
 public:
  explicit HelpFormatter(const CommandTree& tree) : tree_(tree) {
    label("Positionals", "Arguments");
  }

  // "usage: baton flow get [OPTIONS] NAME", one line.
  std::string usageOf(const CLI::App& app) const;

  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override;
  std::string make_subcommand(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_option_usage(const CLI::Option* option) const override;

 private:
  const CommandTree& tree_;
};

// "baton flow get".
std::string commandOf(const CLI::App& app);
// False for flags.
bool takesValue(const CLI::Option& option);
// True for those that have no verbs of their own.
bool isVerb(const CLI::App& app);

}  // namespace baton::cli
