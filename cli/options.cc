#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

namespace baton::cli {

CLI::Option* addRepeated(CLI::App& verb, const std::string& name, std::vector<std::string>& out,
                         const std::string& help) {
  return verb.add_option(name, out, help)->allow_extra_args(false);
}

std::function<std::string(const std::string&)> oneOf(std::vector<std::string> words) {
  return [words = std::move(words)](const std::string& text) {
    if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
    std::string expected;
    for (size_t i = 0; i < words.size(); ++i) {
      expected += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
    }
    return fmt::format("is \"{}\", expected {}", truncateUtf8(text, 40), expected);
  };
}

std::function<std::string(const std::string&)> numberFrom(int64_t min, int64_t max) {
  return [min, max](const std::string& text) {
    int64_t number = -1;
    const char* const end = text.data() + text.size();
    const auto [read, failure] = std::from_chars(text.data(), end, number);
    const bool whole = failure == std::errc() && read == end;
    const bool plain = whole && (text.front() != '0' || text.size() == 1);
    if (plain && number >= min && number <= max) return std::string();
    return fmt::format("is \"{}\", expected a whole number from {} to {}", truncateUtf8(text, 40),
                       min, max);
  };
}

void addPageOptions(CLI::App& verb, PageOptions& options, bool total, int page) {
  verb.add_option("-n,--limit", options.limit,
                  fmt::format("Items a page, 1 to 1000 (default: {})", page));
  verb.add_option("--cursor", options.cursor, "Go on after the page that named this cursor");
  verb.add_flag("--all", options.all, "All pages");
  if (total) verb.add_flag("--total", options.total, "Count all that match, too");
}

Status addPairs(Json& json, const char* field, const char* option,
                const std::vector<std::string>& pairs) {
  for (const std::string& pair : pairs) {
    const size_t equals = pair.find('=');
    if (equals == pair.npos || equals == 0) {
      return Error::invalidArgument("{}: is \"{}\", expected NAME=VALUE", option,
                                    truncateUtf8(pair, 60));
    }
    json[field][pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return {};
}

}  // namespace baton::cli
