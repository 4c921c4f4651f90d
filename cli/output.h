#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/status.h"

namespace baton::cli {

enum class Format : uint8_t { Table, Json, Yaml };

// Errors: InvalidArgument (not table, json or yaml). Empty is a table.
Result<Format> parseFormat(std::string_view word);

// One column of a table: its heading and how a row's text is found.
struct Column {
  std::string_view heading;
  std::function<std::string(const Json& row)> cell;
};

// The member of that name as a person reads it ("" for null or absent).
std::string memberText(const Json& row, std::string_view name);
// A column that shows memberText of `name`.
Column memberColumn(std::string_view heading, std::string name);

// A time as tables show it, to the second (what is no time stays as it is); a column of them.
std::string shortTime(std::string_view rfc3339);
Column timeColumn(std::string_view heading, std::string name);
// How long a row's task or run took from `started_at` to `finished_at`, or has been under way by
// `now`; empty: it never began.
std::string tookText(const Json& row, WallTime now);
Column tookColumn(WallTime now);

// Writes rows as a table, columns as wide as needed. Control characters, which could play tricks
// on a terminal, are shown as "?".
void printTable(std::ostream& out, const std::vector<Column>& columns, const Json& rows,
                bool header);
// Writes the members of one object as "name: value" lines.
void printMembers(std::ostream& out, const Json& object);
// Lines "label: value" in the order given, values one below the other; those without a value are
// left out, a line without a label goes on with the one above.
using Facts = std::vector<std::pair<std::string, std::string>>;
void printFacts(std::ostream& out, const Facts& facts);
// Writes JSON with an indentation of two and a line break, or the same as YAML.
void printJson(std::ostream& out, const Json& json);
void printYaml(std::ostream& out, const Json& json);

// The text with control characters as "?".
std::string printable(std::string_view text);

}  // namespace baton::cli
