#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "net/http_message.h"

namespace baton::webapi {

// Reads query parameters into typed variables; absent ones leave them as they were. The first
// thing that is wrong is kept and names its parameter. Unknown and repeated parameters were
// refused before.
class QueryReader {
 public:
  explicit QueryReader(const net::HttpRequest& request) : request_(request) {}

  bool has(std::string_view name) const { return request_.findQuery(name) != nullptr; }
  // 1 to `max` characters.
  QueryReader& text(std::string_view name, std::string& out, size_t max = 256);
  QueryReader& integer(std::string_view name, int64_t& out, int64_t min, int64_t max);
  QueryReader& boolean(std::string_view name, bool& out);  // true or false
  QueryReader& time(std::string_view name, WallTime& out);
  // Words separated by commas and repetition; an empty word is an error.
  QueryReader& words(std::string_view name, std::vector<std::string>& out);

  // Words each of which `parse` (text to optional) knows, each once; `expected` names them.
  template <typename Word, typename Parse>
  QueryReader& choices(std::string_view name, std::string_view expected, Parse parse,
                       std::vector<Word>& out) {
    std::vector<std::string> given;
    words(name, given);
    for (const std::string& word : given) {
      const std::optional<Word> known = parse(word);
      if (!known) {
        failWord(name, word, expected);
      } else if (std::find(out.begin(), out.end(), *known) == out.end()) {
        out.push_back(*known);
      }
    }
    return *this;
  }

  // The same of words that stand for themselves.
  QueryReader& knownWords(std::string_view name, const std::vector<std::string_view>& known,
                          std::vector<std::string>& out);

  // `"FOO" is not one of A, B, C`
  void failWord(std::string_view name, std::string_view word, std::string_view expected);
  void fail(std::string_view name, std::string message);
  Status finish() const;

 private:
  const net::HttpRequest& request_;
  std::optional<Error> error_;
};

// "low, normal, high": the words of an enumeration; those without a name are left out.
template <typename Word>
std::string namesOf(size_t count) {
  std::string names;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view name = toString(static_cast<Word>(i));
    if (!name.empty()) names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

// Decimal digits without sign or blanks. Errors: InvalidArgument (other, or outside the bounds).
Result<int64_t> parseDecimal(std::string_view text, int64_t min, int64_t max);

}  // namespace baton::webapi
