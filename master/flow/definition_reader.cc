#include "master/flow/definition_reader.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>
#include <vector>

#include "common/base/named_thread.h"

namespace baton::master {
namespace {

bool hasWord(std::string_view text, std::string_view word) {
  return memmem(text.data(), text.size(), word.data(), word.size()) != nullptr;
}

// Whether something is written with an escape that could stand for a part of a key.
bool hasEscapedLetters(std::string_view text) {
  for (size_t at = text.find('\\'); at < text.size() - 1; at = text.find('\\', at + 1)) {
    if (std::string_view("xuU\r\n").find(text[at + 1]) != std::string_view::npos) return true;
  }
  return false;
}

void lookAtText(FoundDefinition& one) {
  const bool escaped = hasEscapedLetters(*one.text);
  one.names_calendar = escaped || hasWord(*one.text, "calendar");
  if (!one.needed && !(one.online && (escaped || hasWord(*one.text, "trigger")))) return;
  one.read = readFlowVersion(one.flow, one.number, *one.text);
}

}  // namespace

bool mayHaveWord(std::string_view text, std::string_view word) {
  return hasEscapedLetters(text) || hasWord(text, word);
}

void readDefinitions(std::span<FoundDefinition> found, uint32_t threads,
                     const std::stop_token& stop) {
  std::atomic<size_t> next{0};
  const auto lookAtAll = [&] {
    for (size_t i = next++; i < found.size() && !stop.stop_requested(); i = next++)
      lookAtText(found[i]);
  };
  std::vector<NamedThread> others;
  const size_t wanted = std::min<size_t>(threads, found.size());
  for (size_t i = 1; i < wanted; ++i) {
    others.emplace_back("read flows", [&](const std::stop_token&) { lookAtAll(); });
  }
  lookAtAll();
}

}  // namespace baton::master
