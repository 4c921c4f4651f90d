#include "cli/help_formatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace baton::cli {
namespace {

constexpr size_t kTextColumns = 70;  // Behind the names.

// Breaks a text at blanks; a word that is longer stays whole.
std::string wrapped(const std::string& text) {
  std::string out;
  size_t line = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const size_t word = end - at;
    if (line > 0 && line + 1 + word > kTextColumns) {
      out += '\n';
      line = 0;
    } else if (line > 0) {
      out += ' ';
      ++line;
    }
    out.append(text, at, word);
    line += word;
    at = end + 1;
  }
  return out;
}

// What stands for a value: a number is told from a text.
std::string valueWord(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.find("INT") != std::string::npos ? "N" : "TEXT";
}

}  // namespace

bool takesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::string commandOf(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : commandOf(*parent) + " " + app.get_name();
}

bool isVerb(const CLI::App& app) { return app.get_subcommands({}).empty(); }

std::string HelpFormatter::usageOf(const CLI::App& app) const {
  std::string usage = "usage: " + commandOf(app);
  if (!isVerb(app)) return usage + (app.get_parent() == nullptr ? " COMMAND ..." : " VERB ...");
  usage += " [OPTIONS]";
  for (const CLI::Option* option : app.get_options()) {
    if (!option->nonpositional() || !option->get_required()) continue;
    usage += fmt::format(" --{} {}", option->get_lnames().front(), valueWord(*option));
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) usage += " " + make_option_usage(option);
  }
  const auto tail = tree_.usage_tails.find(&app);
  return tail == tree_.usage_tails.end() ? usage : usage + " " + tail->second;
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string) const {
  return "\n" + usageOf(*app) + "\n";
}

std::string HelpFormatter::make_subcommands(const CLI::App* app, CLI::AppFormatMode) const {
  if (!isVerb(*app)) {
    std::string text = app->get_parent() == nullptr ? "\nCommands:\n" : "\nVerbs:\n";
    for (const CLI::App* sub : app->get_subcommands({})) text += make_subcommand(sub);
    return text;
  }
  // Programs and the like stand at the top; they are no clients.
  if (app->get_parent() == nullptr || app->get_parent()->get_parent() == nullptr) return {};
  return "\n-o json|yaml, --masters and all else that verbs have in common: baton --help\n";
}

std::string HelpFormatter::make_subcommand(const CLI::App* app) const {
  std::ostringstream out;
  CLI::detail::format_help(out, app->get_name(), wrapped(app->get_description()), column_width_);
  return out.str();
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  if (app->get_parent() == nullptr || isVerb(*app)) return CLI::Formatter::make_footer(app);
  return fmt::format("{} VERB --help shows the options of a verb, with examples.\n",
                     commandOf(*app));
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  return takesValue(*option) && option->nonpositional() ? " " + valueWord(*option) : "";
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  const bool said = option->get_required() && option->nonpositional();
  return wrapped(option->get_description() + (said ? " (required)" : ""));
}

std::string HelpFormatter::make_option_usage(const CLI::Option* option) const {
  std::string name = option->get_name(true);
  if (option->get_expected_max() > 1) name += "...";
  return option->get_required() ? name : "[" + name + "]";
}

}  // namespace baton::cli
