#pragma once

#include <atomic>
#include <string_view>

namespace baton {

namespace detail {
extern std::atomic<bool> stop_points_armed;
void stopPointSlow(std::string_view name);
}  // namespace detail

// A labelled step at which a drill can halt the process: if the name is armed, the process sends
// itself SIGSTOP here and goes on after SIGCONT. Armed are, once each, the names (separated by
// commas) in the environment variable BATON_STOP_POINT, read once, and the names in the file that
// BATON_STOP_POINT_FILE names. That file may be put there at any time, whole (by rename); the
// first of its names to be reached removes it, so its absence tells that it was.
// Costs one relaxed load if neither variable is set.
inline void stopPoint(std::string_view name) {
  if (detail::stop_points_armed.load(std::memory_order_relaxed)) detail::stopPointSlow(name);
}

}  // namespace baton
