#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

// What is wrong with a command line, in words that name it.
namespace baton::cli {

// A word that stands where a command or verb is expected and is none, or none where one is needed;
// nothing: the line names a verb, which `verb` gets, or asks for help (then it keeps what it has).
std::optional<std::string> wrongVerb(const CLI::App& app, const std::vector<std::string>& words,
                                     const CLI::App** verb);

// The verb (or noun, or program) that the words came to. After the parsing.
const CLI::App& namedApp(const CLI::App& app);

// What the parser refused.
std::string refusalText(const CLI::App& app, const CLI::ParseError& wrong);

// An option whose value is the empty text, which no verb has a use for: most often a variable of a
// shell that was never set. After the parsing.
std::optional<std::string> emptyValue(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace baton::cli
