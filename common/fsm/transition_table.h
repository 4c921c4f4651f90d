#pragma once

#include <array>
#include <cstddef>
#include <optional>

namespace baton {

// One legal move of a life cycle: in `from`, `on` leads to `to`. What no row names is illegal.
template <typename State, typename Event>
struct Move {
  State from;
  Event on;
  State to;
};

// True if no (from, on) pair stands twice: the table is a function.
template <typename State, typename Event, size_t N>
constexpr bool isDeterministic(const std::array<Move<State, Event>, N>& moves) {
  for (size_t i = 0; i < N; ++i) {
    for (size_t k = i + 1; k < N; ++k) {
      if (moves[i].from == moves[k].from && moves[i].on == moves[k].on) return false;
    }
  }
  return true;
}

// The state after the event, or nothing if the move is not in the table.
template <typename State, typename Event, size_t N>
constexpr std::optional<State> nextState(const std::array<Move<State, Event>, N>& moves, State from,
                                         Event on) {
  for (const auto& move : moves) {
    if (move.from == from && move.on == on) return move.to;
  }
  return std::nullopt;
}

}  // namespace baton
