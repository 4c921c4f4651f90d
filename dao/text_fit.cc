#include "dao/text_fit.h"

#include "common/base/json.h"

namespace baton::dao {
namespace {

bool isAscii(std::string_view text) {
  unsigned char all = 0;
  for (const char c : text) all |= static_cast<unsigned char>(c);
  return all < 0x80;
}

// Length of the valid character at `at`, or 0.
size_t characterAt(std::string_view text, size_t at) {
  for (size_t length = 1; length <= 4 && at + length <= text.size(); ++length) {
    if (isValidUtf8(text.substr(at, length))) return length;
  }
  return 0;
}

void mendUtf8(std::string_view text, std::string& out) {
  out.clear();
  for (size_t at = 0; at < text.size();) {
    const size_t length = characterAt(text, at);
    if (length == 0) {
      out += "\xef\xbf\xbd";
      ++at;
    } else {
      out += text.substr(at, length);
      at += length;
    }
  }
}

}  // namespace

std::string_view fitText(std::string_view text, size_t bytes_max, std::string& scratch) {
  std::string_view fit = text;
  // What lies far behind the cut need not be looked at.
  if (fit.size() > bytes_max + 8) fit = fit.substr(0, bytes_max + 8);
  const bool cut = fit.size() < text.size();
  if (cut) {
    // Ends inside a character at worst; the last bytes fall to the cut below.
    while (!fit.empty() && (static_cast<unsigned char>(fit.back()) & 0x80) != 0 &&
           fit.size() > bytes_max + 1) {
      fit.remove_suffix(1);
    }
  }
  if (!isAscii(fit) && !isValidUtf8(fit)) {
    mendUtf8(fit, scratch);
    if (scratch.size() > bytes_max) scratch = truncateUtf8(scratch, bytes_max);
    return scratch;
  }
  if (fit.size() <= bytes_max) return fit;
  scratch = truncateUtf8(fit, bytes_max);
  return scratch;
}

std::string whyUnfit(std::string_view column, std::string_view text, size_t chars_max) {
  if (isAscii(text)) {
    if (text.size() <= chars_max) return {};
  } else if (!isValidUtf8(text)) {
    return fmt::format("{} is not UTF-8", column);
  } else if (utf8Length(text) <= chars_max) {
    return {};
  }
  return fmt::format("{} has {} characters, at most {} are stored", column, utf8Length(text),
                     chars_max);
}

std::string whyUnfitBytes(std::string_view column, std::string_view text, size_t bytes_max) {
  if (text.size() > bytes_max) {
    return fmt::format("{} has {} bytes, at most {} are stored", column, text.size(), bytes_max);
  }
  if (!isAscii(text) && !isValidUtf8(text)) return fmt::format("{} is not UTF-8", column);
  return {};
}

}  // namespace baton::dao
