#include "master/task/recent_keys.h"

namespace baton::master {
namespace {

// A key is remembered well beyond the time that a request may be under way after its look-up.
constexpr Seconds kRecentKeyKept{120};
constexpr Seconds kLookUpFresh{60};

std::string scopedKey(const std::string& principal, const std::string& key) {
  return principal + '\n' + key;
}

Error usedOtherwise(const std::string& key) {
  return Error::conflict("Idempotency-Key {} was used with another body", key);
}

}  // namespace

Result<std::optional<std::string>> RecentKeys::find(const std::string& principal,
                                                    const std::string& key,
                                                    const std::string& request_hash) {
  forget();
  const auto known = keys_.find(scopedKey(principal, key));
  if (key.empty() || known == keys_.end()) return std::optional<std::string>();
  if (known->second.request_hash != request_hash) return usedOtherwise(key);
  return std::optional(known->second.answer);
}

Status RecentKeys::checkFresh(BootTime looked_up_at) const {
  if (clock_.bootNow() - looked_up_at <= kLookUpFresh) return {};
  return Error(ErrorCode::Overloaded, "the request waited too long; repeat it");
}

void RecentKeys::keep(Operation& operation, IdempotencyRecord record) {
  const std::string key = scopedKey(record.principal, record.key);
  order_.emplace_back(clock_.bootNow(), key);
  keys_[key] = {record.request_hash, record.answer};
  operation.changes.idempotency.push_back(std::move(record));
}

void RecentKeys::forget() {
  const BootTime now = clock_.bootNow();
  while (!order_.empty() && now - order_.front().first > kRecentKeyKept) {
    keys_.erase(order_.front().second);
    order_.pop_front();
  }
}

Result<std::optional<std::string>> answerOf(const IdempotencyRecord& record,
                                            const std::string& request_hash, WallTime now) {
  if (now - record.created_at >= kIdempotencyKept) return std::optional<std::string>();
  if (record.request_hash != request_hash) return usedOtherwise(record.key);
  return std::optional(record.answer);
}

}  // namespace baton::master
