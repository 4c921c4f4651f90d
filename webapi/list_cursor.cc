#include "webapi/list_cursor.h"

#include <charconv>

namespace baton::webapi {
namespace {

constexpr char kEscape = '~';
constexpr size_t kNameCursorCharsMax = 4'096;

// Stands in a query as it is.
bool isPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-' || c == ':';
}

// Empty: these are not the characters of a cursor.
std::string unescaped(std::string_view text) {
  std::string name;
  for (size_t i = 0; i < text.size(); ++i) {
    if (isPlain(text[i])) {
      name += text[i];
      continue;
    }
    unsigned byte = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto [read, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    const bool whole = failure == std::errc() && read == digits.data() + 2;
    if (text[i] != kEscape || !whole) return {};
    name += static_cast<char>(byte);
    i += 2;
  }
  return name;
}

}  // namespace

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

std::string nameCursorOf(std::string_view mark, std::string_view name) {
  std::string cursor(mark);
  for (const char c : name) {
    cursor += isPlain(c) ? std::string(1, c)
                         : fmt::format("{}{:02x}", kEscape, static_cast<unsigned char>(c));
  }
  return cursor;
}

void readNameCursor(QueryReader& reader, std::string_view mark, std::string& out) {
  std::string cursor;
  reader.text("cursor", cursor, kNameCursorCharsMax);
  if (cursor.empty()) return;
  if (cursor.starts_with(mark)) out = unescaped(std::string_view(cursor).substr(mark.size()));
  if (out.empty()) failCursor(reader);
}

void readNamePage(QueryReader& reader, std::string_view mark, NamePage& out) {
  reader.boolean("total", out.total);
  readPageLimit(reader, out.limit);
  readNameCursor(reader, mark, out.after);
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
