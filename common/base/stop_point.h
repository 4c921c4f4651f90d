#pragma once

#include <atomic>
#include <string_view>

namespace baton {

namespace detail {
extern std::atomic<bool> stop_points_armed;
void stopPointSlow(std::string_view name);
}  // namespace detail

// A labelled step at which a drill can halt the process: if the environment variable
// BATON_STOP_POINT (read once; names separated by commas) has the name, the process sends itself
// SIGSTOP here, once per name, and goes on after SIGCONT. Costs one relaxed load if unset.
inline void stopPoint(std::string_view name) {
  if (detail::stop_points_armed.load(std::memory_order_relaxed)) detail::stopPointSlow(name);
}

}  // namespace baton
