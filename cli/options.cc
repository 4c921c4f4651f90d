#include "cli/options.h"

#include <CLI/CLI.hpp>

namespace baton::cli {

CLI::Option* addRepeated(CLI::App& verb, const std::string& name, std::vector<std::string>& out,
                         const std::string& help) {
  return verb.add_option(name, out, help)->allow_extra_args(false);
}

std::string notPlainDigits(const std::string& text) {
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  if (digits && (text.front() != '0' || text.size() == 1)) return {};
  return fmt::format("is \"{}\", expected a whole number in plain digits", truncateUtf8(text, 40));
}

void addPageOptions(CLI::App& verb, PageOptions& options, bool total) {
  verb.add_option("-n,--limit", options.limit, "Items a page, 1 to 1000 (default: 50)");
  verb.add_option("--cursor", options.cursor, "Go on after the page that named this cursor");
  verb.add_flag("--all", options.all, "All pages");
  if (total) verb.add_flag("--total", options.total, "Count all that match, too");
}

Status addPairs(Json& json, const char* field, const char* option,
                const std::vector<std::string>& pairs) {
  for (const std::string& pair : pairs) {
    const size_t equals = pair.find('=');
    if (equals == pair.npos || equals == 0) {
      return Error::invalidArgument("{} is \"{}\", expected NAME=VALUE", option,
                                    truncateUtf8(pair, 60));
    }
    json[field][pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return {};
}

}  // namespace baton::cli
