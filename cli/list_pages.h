#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/session.h"

// Lists of the API, page by page.
namespace baton::cli {

struct PageOptions {
  std::string limit = {};
  std::string cursor = {};
  bool all = false;  // Every page.
  bool total = false;
};

using QueryFields = std::vector<std::pair<std::string, std::string>>;

// Fetches and prints a list: the rows as a table, and beside it how to go on. Fields without a
// value do not filter. Returns the exit code.
int listPages(Session& session, const std::string& path, QueryFields fields,
              const std::vector<Column>& columns, const PageOptions& options);

// An option that is a time, or an age before now, and the field of the query that it becomes.
struct TimeOption {
  const char* option;
  const char* field;
  std::string text;
};
// Adds the fields of those that were given. Errors: InvalidArgument (names the option).
Status addTimes(QueryFields& fields, WallTime now, const std::vector<TimeOption>& options);

// A time as given, or "1h" as that long before now. Errors: InvalidArgument (names the option).
Result<std::string> timeFrom(const char* option, const std::string& text, WallTime now);
std::string joinedWords(const std::vector<std::string>& words);  // "a,b"

}  // namespace baton::cli
