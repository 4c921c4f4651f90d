#include "cli/usage_error.h"

#include <algorithm>

#include "cli/help_formatter.h"
#include "common/base/json.h"
#include "common/base/nearest_word.h"

namespace baton::cli {
namespace {

std::string shownWord(const std::string& word) { return '"' + truncateUtf8(word, 60) + '"'; }

std::string meantText(std::string_view word, const std::vector<std::string>& known) {
  return hintFor(word, std::vector<std::string_view>(known.begin(), known.end()));
}

std::vector<std::string> namesBelow(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  return names;
}

const CLI::App* subNamed(const CLI::App& app, const std::string& name) {
  const auto found =
      app.get_subcommands([&](const CLI::App* sub) { return sub->check_name(name); });
  return found.empty() ? nullptr : found.front();
}

bool looksLikeOption(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

// The option of that name of the app or of those above it.
const CLI::Option* optionNamed(const CLI::App* app, const std::string& name) {
  for (; app != nullptr; app = app->get_parent()) {
    if (const CLI::Option* option = app->get_option_no_throw(name)) return option;
  }
  return nullptr;
}

// Whether the next word is the value of this one.
bool takesNext(const CLI::App& app, const std::string& word) {
  if (word.find('=') != word.npos) return false;
  if (!word.starts_with("--") && word.size() > 2) return false;  // "-n5"
  const CLI::Option* option = optionNamed(&app, word);
  return option != nullptr && takesValue(*option);
}

std::string unknownOption(const CLI::App& verb, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> known;
  std::vector<std::string> shared;
  for (const CLI::App* app = &verb; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      if (!option->nonpositional() || option == app->get_help_ptr()) continue;
      (app == &verb ? known : shared).push_back("--" + option->get_lnames().front());
    }
  }
  std::vector<std::string> all = known;
  all.insert(all.end(), shared.begin(), shared.end());
  const std::string meant = meantText(name, all);
  return fmt::format("unknown option {} of {}{}", shownWord(name), commandOf(verb),
                     meant.empty() ? fmt::format("; options: {}", fmt::join(known, ", ")) : meant);
}

// Their names are not always those of their kinds.
template <typename Kind>
bool isA(const CLI::ParseError& wrong) {
  return dynamic_cast<const Kind*>(&wrong) != nullptr;
}

// "NAME" of "NAME: what is wrong", "Could not convert: NAME = x" and the like.
std::string between(const std::string& text, std::string_view lead, std::string_view end) {
  const size_t at = text.find(lead);
  if (at == text.npos) return {};
  const size_t begin = at + lead.size();
  return text.substr(begin, text.find(end, begin) - begin);
}

}  // namespace

std::optional<std::string> wrongVerb(const CLI::App& app, const std::vector<std::string>& words,
                                     const CLI::App** verb) {
  const CLI::App* at = &app;
  for (size_t i = 0; i < words.size() && !isVerb(*at); ++i) {
    const std::string& word = words[i];
    if (looksLikeOption(word)) {
      if (word == "-h" || word == "--help" || (at == &app && word == "--version")) return {};
      if (takesNext(*at, word)) ++i;
      continue;
    }
    const CLI::App* sub = subNamed(*at, word);
    if (sub == nullptr) {
      const std::vector<std::string> names = namesBelow(*at);
      const std::string meant = meantText(word, names);
      return fmt::format("unknown {} {} of {}{} {}: {}", at == &app ? "command" : "verb",
                         shownWord(word), commandOf(*at), meant.empty() ? ";" : meant,
                         at == &app ? "commands" : "verbs", fmt::join(names, ", "));
    }
    at = sub;
  }
  *verb = at;
  if (isVerb(*at)) return {};
  return at == &app
             ? fmt::format("a command is missing; commands: {}", fmt::join(namesBelow(app), ", "))
             : fmt::format("a verb of {} is missing; verbs: {}", commandOf(*at),
                           fmt::join(namesBelow(*at), ", "));
}

const CLI::App& namedApp(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : namedApp(*parsed.front());
}

std::string refusalText(const CLI::App& app, const CLI::ParseError& wrong) {
  const CLI::App& verb = namedApp(app);
  // An option that is not known explains whatever else is wrong.
  std::vector<std::string> left = app.remaining(true);
  std::erase(left, "--");
  const auto option = std::find_if(left.begin(), left.end(), looksLikeOption);
  if (option != left.end()) return unknownOption(verb, *option);
  const std::string text = wrong.what();
  if (isA<CLI::RequiredError>(wrong)) {
    const std::string name = text.substr(0, text.find(" is required"));
    return fmt::format("{}: is missing", name);
  }
  if (isA<CLI::ExtrasError>(wrong) && !left.empty()) {
    return fmt::format("{} is one word more than {} takes", shownWord(left.front()),
                       commandOf(verb));
  }
  if (isA<CLI::ArgumentMismatch>(wrong)) {
    return fmt::format("{}: needs a value", text.substr(0, text.find(':')));
  }
  if (isA<CLI::ConversionError>(wrong)) {
    const std::string name = between(text, "Could not convert: ", " = ");
    const CLI::Option* known = name.empty() ? nullptr : optionNamed(&verb, name);
    if (known != nullptr && !takesValue(*known)) {
      return fmt::format("{}: takes no value", name);
    }
    if (known != nullptr) {
      return fmt::format("{}: is {}, expected a smaller number", name,
                         shownWord(between(text, " = ", "\n")));
    }
  }
  return text;  // Of our own checks: "NAME: what is wrong".
}

std::optional<std::string> emptyValue(const CLI::App& app, const std::vector<std::string>& words) {
  constexpr const char* kAdvice = "is empty; give it a value, or leave it out";
  // The parser takes the next word for the value of "--name=".
  for (const std::string& word : words) {
    if (!word.starts_with("--") || word.find('=') != word.size() - 1) continue;
    return fmt::format("{}: {}", word.substr(0, word.size() - 1), kAdvice);
  }
  for (const CLI::App* at = &namedApp(app); at != nullptr; at = at->get_parent()) {
    for (const CLI::Option* option : at->get_options()) {
      const auto& results = option->results();
      const bool empty = option->nonpositional() && takesValue(*option) &&
                         std::find(results.begin(), results.end(), "") != results.end();
      if (empty) {
        return fmt::format("--{}: {}", option->get_lnames().front(), kAdvice);
      }
    }
  }
  return std::nullopt;
}

}  // namespace baton::cli
