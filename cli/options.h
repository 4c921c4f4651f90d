#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/list_pages.h"
#include "common/base/json.h"
#include "common/base/status.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

// Options that several verbs have.
namespace baton::cli {

// An option that may be repeated and takes one value each time, so that it can't swallow others.
CLI::Option* addRepeated(CLI::App& verb, const std::string& name, std::vector<std::string>& out,
                         const std::string& help);
// Checks for options that are one of some words, and for whole numbers from `min` to `max` in plain
// digits (CLI11 alone reads 010 as 8 and 0x10 as 16): what was expected, or nothing.
std::function<std::string(const std::string&)> oneOf(std::vector<std::string> words);
std::function<std::string(const std::string&)> numberFrom(int64_t min, int64_t max);
// --limit, --cursor, --all, and --total where the list can count. `page`: what the master gives
// where no limit is asked for.
void addPageOptions(CLI::App& verb, PageOptions& options, bool total, int page = 50);

// Adds NAME=VALUE words to the object `field` of `json`; without words there is none. Errors:
// InvalidArgument (names the option).
Status addPairs(Json& json, const char* field, const char* option,
                const std::vector<std::string>& pairs);

}  // namespace baton::cli
