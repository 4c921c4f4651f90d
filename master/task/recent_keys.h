#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/model/records.h"
#include "master/state/operation.h"

namespace baton::master {

// Idempotency keys of requests that were accepted lately: the database may not show them yet to
// whoever looked them up there. One for all kinds of requests, as keys are of a principal, whatever
// they are used for. Dispatcher thread only.
class RecentKeys {
 public:
  explicit RecentKeys(Clock& clock) : clock_(clock) {}

  // The answer to the first request of this key, if there was one lately. Errors: Conflict (its
  // body was another).
  Result<std::optional<std::string>> find(const std::string& principal, const std::string& key,
                                          const std::string& request_hash);
  // Whether "the key is not in the database", found at `looked_up_at`, can still be relied on.
  // Errors: Overloaded.
  Status checkFresh(BootTime looked_up_at) const;
  // Keeps the answer, in the operation and here.
  void keep(Operation& operation, IdempotencyRecord record);

 private:
  struct Recent {
    std::string request_hash;
    std::string answer;
  };
  void forget();

  Clock& clock_;
  std::unordered_map<std::string, Recent> keys_;
  std::deque<std::pair<BootTime, std::string>> order_;
};

// What a key found in the database means for a request: its answer, or Conflict. None: it is too
// old to count.
Result<std::optional<std::string>> answerOf(const IdempotencyRecord& record,
                                            const std::string& request_hash, WallTime now);

}  // namespace baton::master
