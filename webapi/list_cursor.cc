#include "webapi/list_cursor.h"

#include <charconv>

namespace baton::webapi {

std::string cursorOf(std::string_view mark, uint64_t number) {
  return fmt::format("{}{:x}", mark, number);
}

Result<uint64_t> parseCursorNumber(std::string_view digits, uint64_t max) {
  uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [read, failure] = std::from_chars(digits.data(), end, number, 16);
  if (digits.empty() || failure != std::errc() || read != end || number == 0 || number > max) {
    return Error::invalidArgument("is not a next_cursor of this address");
  }
  return number;
}

void failCursor(QueryReader& reader) {
  reader.fail("cursor", "is not a next_cursor of this address");
}

void readCursor(QueryReader& reader, std::string_view mark, uint64_t max, uint64_t& out) {
  std::string cursor;
  reader.text("cursor", cursor);
  if (cursor.empty()) return;
  const std::string_view text = cursor;
  if (!text.starts_with(mark)) return failCursor(reader);
  const auto number = parseCursorNumber(text.substr(mark.size()), max);
  if (!number.ok()) return failCursor(reader);
  out = *number;
}

void readPageLimit(QueryReader& reader, uint32_t& out) {
  int64_t limit = out;
  reader.integer("limit", limit, 1, 1'000);
  out = static_cast<uint32_t>(limit);
}

Json pageToJson(Json items, const std::string& next_cursor) {
  return {{"items", std::move(items)},
          {"next_cursor", next_cursor.empty() ? Json(nullptr) : Json(next_cursor)}};
}

}  // namespace baton::webapi
