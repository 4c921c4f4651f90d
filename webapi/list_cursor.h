#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/json.h"
#include "master/api/ports.h"
#include "webapi/query_reader.h"

// Pages of lists.
namespace baton::webapi {

// The opaque cursor that stands behind the item of that number (hexadecimal behind the mark).
std::string cursorOf(std::string_view mark, uint64_t number);
// Reads parameter `cursor` of a list whose cursors have that mark; absent: `out` stays.
void readCursor(QueryReader& reader, std::string_view mark, uint64_t max, uint64_t& out);
void failCursor(QueryReader& reader);
// Parameter `limit`: 1 to 1,000.
void readPageLimit(QueryReader& reader, uint32_t& out);
// Digits of cursorOf, above 0. Errors: InvalidArgument.
Result<uint64_t> parseCursorNumber(std::string_view digits, uint64_t max);

// The same behind the item of that name, which may have any bytes.
std::string nameCursorOf(std::string_view mark, std::string_view name);
void readNameCursor(QueryReader& reader, std::string_view mark, std::string& out);

// {"items", "next_cursor"}; an empty cursor is null: this is the last page.
Json pageToJson(Json items, const std::string& next_cursor);

// A page that a port gave, with `total` if it was asked for. Errors: those of `to_json`.
template <typename View, typename ToJson, typename CursorAfter>
Result<Json> listToJson(const master::api::ListOf<View>& list, const ToJson& to_json,
                        const CursorAfter& cursor_after) {
  Json items = Json::array();
  for (const View& view : list.items) {
    Result<Json> json = to_json(view);
    RETURN_IF_ERROR(json.status());
    items.push_back(std::move(*json));
  }
  const bool more = list.more && !list.items.empty();
  Json page = pageToJson(std::move(items), more ? cursor_after(list.items.back()) : std::string());
  if (list.total) page["total"] = *list.total;
  return page;
}

// Filters of lists that a port gives whole; without a wanted word they let all pass.
inline bool isOneOf(const std::string& word, const std::vector<std::string>& wanted) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), word) != wanted.end();
}
inline bool isOrAny(const std::string& word, const std::string& wanted) {
  return wanted.empty() || word == wanted;
}
inline bool hasPart(const std::string& word, const std::string& part) {
  return word.find(part) != std::string::npos;
}

// Which page of a list of names is wanted.
struct NamePage {
  std::string after;       // The last key of the page before.
  uint32_t limit = 1'000;  // They were always given whole, and are seldom longer.
  bool total = false;
};
// Parameters `limit`, `cursor` and `total`.
void readNamePage(QueryReader& reader, std::string_view mark, NamePage& out);

// The page of a list that a port gives whole: of the views that are `wanted`, by their keys, which
// differ.
template <typename View, typename Wanted, typename KeyOf>
master::api::ListOf<View> pageOf(std::vector<View> views, const NamePage& page,
                                 const Wanted& wanted, const KeyOf& key_of) {
  std::erase_if(views, [&](const View& view) { return !wanted(view); });
  master::api::ListOf<View> list;
  if (page.total) list.total = views.size();
  std::erase_if(views, [&](const View& view) { return key_of(view) <= page.after; });
  std::sort(views.begin(), views.end(),
            [&](const View& a, const View& b) { return key_of(a) < key_of(b); });
  list.more = views.size() > page.limit;
  if (list.more) views.erase(views.begin() + page.limit, views.end());
  list.items = std::move(views);
  return list;
}

}  // namespace baton::webapi
