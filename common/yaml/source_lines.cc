#include "common/yaml/source_lines.h"

namespace baton {

std::optional<QuotedText> findQuotedText(std::string_view source) {
  const char quote = source.front();
  size_t head = 1;
  size_t line_ends = 0;
  bool end_escaped = false;  // The first of those line ends, which stands for nothing.
  for (size_t i = 1; i < source.size(); ++i) {
    const std::string_view pair = source.substr(i, 2);
    const bool escape = quote == '"' ? pair.front() == '\\' : pair == "''";
    if (source[i] == quote && !escape) {
      const size_t folded = end_escaped || line_ends == 0 ? line_ends : line_ends - 1;
      return QuotedText{source.substr(0, head), folded, i + 1};
    }
    if (source[i] == '\n') ++line_ends;
    if (source[i] == '\n' || source[i] == ' ' || source[i] == '\t' || source[i] == '\r') continue;
    if (escape) ++i;
    if (pair == "\\\r" && source.substr(i).starts_with("\r\n")) ++i;
    end_escaped = escape && i < source.size() && source[i] == '\n';
    head = std::min(i + 1, source.size());
    line_ends = 0;
  }
  return std::nullopt;
}

bool endsInIndentation(std::string_view source) {
  const size_t last = source.rfind('\n');
  if (last == source.npos || last + 1 == source.size()) return false;
  if (source.find_first_not_of(' ', last + 1) != source.npos) return false;
  const size_t indent = source.size() - last - 1;
  bool first = true;
  for (size_t at = source.find('\n'); at < last; at = source.find('\n', at + 1)) {
    const size_t text = source.find_first_not_of(' ', at + 1);
    if (source[text] == '\n' || source[text] == '\r') continue;
    const size_t column = text - at - 1;
    if (first ? column != indent : column < indent) return false;
    first = false;
  }
  return !first;
}

}  // namespace baton
