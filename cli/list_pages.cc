#include "cli/list_pages.h"

#include "cli/exit_code.h"
#include "common/base/duration_text.h"

namespace baton::cli {
namespace {

Result<Json> fetchPages(Session& session, const std::string& path, QueryFields fields,
                        const PageOptions& options) {
  const std::string limit = !options.limit.empty() ? options.limit : options.all ? "1000" : "";
  fields.emplace_back("limit", limit);
  fields.emplace_back("total", options.total ? "true" : "");
  fields.emplace_back("cursor", options.cursor);
  Json whole;
  while (true) {
    const std::string query = webapi::queryString(fields);
    ASSIGN_OR_RETURN(Json page, session.api().get(path + (query.empty() ? "" : "?" + query)));
    if (!page.is_object() || !page.contains("items") || !page["items"].is_array()) {
      return Error::make(ErrorCode::Corrupt, "the master's answer is no list");
    }
    std::string& cursor = fields.back().second;
    cursor = memberText(page, "next_cursor");
    if (whole.is_null()) {
      whole = std::move(page);
    } else {
      for (Json& item : page["items"]) whole["items"].push_back(std::move(item));
      whole["next_cursor"] = page["next_cursor"];
    }
    if (!options.all || cursor.empty()) return whole;
  }
}

}  // namespace

int listPages(Session& session, const std::string& path, QueryFields fields,
              const std::vector<Column>& columns, const PageOptions& options) {
  const auto whole = fetchPages(session, path, std::move(fields), options);
  if (!whole.ok()) return session.fail(whole.error());
  session.printRows(columns, (*whole)["items"], *whole);
  if (session.format() == Format::Table) {
    const std::string total = memberText(*whole, "total");
    const std::string cursor = memberText(*whole, "next_cursor");
    if (!total.empty()) session.err() << total << " in all\n";
    if (!cursor.empty()) {
      session.err() << fmt::format("more: --cursor {} for the next page, --all for the rest\n",
                                   printable(cursor));
    }
  }
  return kExitOk;
}

Result<std::string> timeFrom(const char* option, const std::string& text, WallTime now) {
  const bool dated = text.size() > 10 && (text[10] == 'T' || text[10] == 't');
  if (text.empty() || dated) return text;
  auto ago = parseDuration(text);
  if (!ago.ok()) {
    return Error::invalidArgument(
        "{}: is \"{}\", expected a time such as 2026-11-29T12:00:00Z or an age such as 2h", option,
        truncateUtf8(text, 40));
  }
  return formatRfc3339(now - *ago);
}

Status addTimes(QueryFields& fields, WallTime now, const std::vector<TimeOption>& options) {
  for (const TimeOption& option : options) {
    ASSIGN_OR_RETURN(std::string time, timeFrom(option.option, option.text, now));
    fields.emplace_back(option.field, std::move(time));
  }
  return {};
}

std::string joinedWords(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ","));
}

}  // namespace baton::cli
