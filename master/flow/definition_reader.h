#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "master/flow/flow_version.h"

namespace baton::master {

// A stored definition that a takeover finds.
struct FoundDefinition {
  std::string flow;
  uint32_t number = 0;
  std::shared_ptr<const std::string> text;
  bool needed = false;  // It has to be read.
  bool online = false;  // It has to be read if an event begins the flow.
  // What came of it.
  bool names_calendar = false;  // It may follow one.
  std::optional<Result<std::shared_ptr<const FlowVersion>>> read = {};
};

// Whether a definition's text may have that word in a name or value: false is certain.
bool mayHaveWord(std::string_view text, std::string_view word);

// Reads what is needed before anything may begin or end, on up to `threads` threads; the others
// wait until somebody needs them: a takeover with 100,000 flows must not read them all. Ends early
// when stopped.
void readDefinitions(std::span<FoundDefinition> found, uint32_t threads,
                     const std::stop_token& stop);

}  // namespace baton::master
