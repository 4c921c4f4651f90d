#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "common/base/json.h"
#include "common/yaml/yaml_document.h"

namespace baton {

// Finds the lines of a text, to count columns in characters where the parser counts bytes.
class SourceLines {
 public:
  // `joined`: where characters stand that were two escapes of six characters each, rising.
  explicit SourceLines(std::string_view text, std::vector<size_t> joined = {})
      : text_(text), joined_(std::move(joined)) {
    starts_.push_back(0);
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') starts_.push_back(i + 1);
    }
  }

  int count() const { return static_cast<int>(starts_.size()); }

  // From 0; without its line break.
  std::string_view line(int number) const {
    if (number < 0 || static_cast<size_t>(number) >= starts_.size()) return {};
    const size_t begin = starts_[static_cast<size_t>(number)];
    const bool last = static_cast<size_t>(number) + 1 == starts_.size();
    const size_t end = last ? text_.size() : starts_[static_cast<size_t>(number) + 1] - 1;
    return text_.substr(begin, end - begin);
  }

  // A place as the parser tells it: line and byte in it, from 0; negative: it knows none.
  struct Place {
    int line = -1;
    int byte = -1;
  };

  YamlMark markOf(Place at) {
    if (at.line < 0 || at.line >= count()) return {};
    return markAt(at.line, std::min(static_cast<size_t>(at.byte), line(at.line).size()));
  }

  YamlMark markOf(size_t byte) {
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), byte);
    const auto number = static_cast<int>(next - starts_.begin()) - 1;
    return markAt(number, byte - starts_[static_cast<size_t>(number)]);
  }

  // The text from there on; empty if nobody knows where that is.
  std::string_view from(Place at) const {
    if (at.line < 0 || at.line >= count()) return {};
    const size_t begin = starts_[static_cast<size_t>(at.line)] + static_cast<size_t>(at.byte);
    return text_.substr(std::min(begin, text_.size()));
  }

  bool hasTabInFront(int number) const {
    const std::string_view text = line(number);
    return text.substr(0, text.find_first_not_of(" \t")).find('\t') != text.npos;
  }

 private:
  // Counts from the last place asked for, so that a text of one long line costs no square.
  YamlMark markAt(int number, size_t bytes) {
    if (number != counted_line_) {
      counted_line_ = number;
      counted_bytes_ = 0;
      counted_chars_ = 0;
    }
    const std::string_view text = line(number);
    if (bytes >= counted_bytes_) {
      counted_chars_ += utf8Length(text.substr(counted_bytes_, bytes - counted_bytes_));
    } else {
      counted_chars_ -= utf8Length(text.substr(bytes, counted_bytes_ - bytes));
    }
    counted_bytes_ = bytes;
    const size_t begin = starts_[static_cast<size_t>(number)];
    const auto joined = std::lower_bound(joined_.begin(), joined_.end(), begin + bytes) -
                        std::lower_bound(joined_.begin(), joined_.end(), begin);
    return {number + 1, static_cast<int>(counted_chars_) + 11 * static_cast<int>(joined) + 1};
  }

  std::string_view text_;
  std::vector<size_t> joined_;
  std::vector<size_t> starts_;
  int counted_line_ = 0;
  size_t counted_bytes_ = 0;
  size_t counted_chars_ = 0;
};

// A text in quotes as it stands in the source.
struct QuotedText {
  std::string_view head;   // From the quote to the last character that is no blank.
  size_t empty_lines = 0;  // Behind that.
  size_t size = 0;         // With both quotes.
};

// `source` begins with the quote. None: it does not end; the parser takes the end of the source.
std::optional<QuotedText> findQuotedText(std::string_view source);

// `source` begins with the head of a block. Whether that goes to the end, and ends in blanks
// without a line end, as many as it is indented by: the parser folds those into it.
bool endsInIndentation(std::string_view source);

}  // namespace baton
