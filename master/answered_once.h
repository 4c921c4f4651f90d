#pragma once

#include <memory>
#include <utility>

#include "master/api/ports.h"

namespace baton::master {

inline Error notActive() { return Error(ErrorCode::NotActive, "this master does not lead"); }

// Calls back exactly once: with NotActive if the callback is dropped unused, as happens to what
// waits in a queue when the term ends.
template <typename T>
api::Callback<T> answeredOnce(api::Callback<T> done) {
  struct Guard {
    explicit Guard(api::Callback<T> callback) : done(std::move(callback)) {}
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() {
      if (done) done(notActive());
    }
    api::Callback<T> done;
  };
  auto guard = std::make_shared<Guard>(std::move(done));
  return [guard](Result<T> result) {
    if (auto callback = std::exchange(guard->done, nullptr)) callback(std::move(result));
  };
}

}  // namespace baton::master
