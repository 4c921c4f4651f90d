#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/json.h"
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

// {"items", "next_cursor"}; an empty cursor is null: this is the last page.
Json pageToJson(Json items, const std::string& next_cursor);

}  // namespace baton::webapi
