#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dao/epoch_store.h"

namespace baton::test {

// The one epoch row of a test, shared by all stores made from it. Any thread.
class FakeEpochTable {
 public:
  explicit FakeEpochTable(std::string guid = "guid-1") { cluster_.guid = std::move(guid); }

  // Everything fails with this code from now on; nothing ends that.
  void failWith(std::optional<ErrorCode> code) {
    locked([&] { failure_ = code; });
  }
  // Another master takes the row, without any election.
  void stealRow(uint64_t epoch) {
    locked([&] {
      row_.epoch = epoch;
      row_.node_id = "thief";
      row_.incarnation = "thief-inc";
    });
  }
  dao::EpochRow row() const {
    return locked([&] { return row_; });
  }
  std::vector<dao::EpochClaim> bumps() const {
    return locked([&] { return bumps_; });
  }
  void setRow(const dao::EpochRow& row) {
    locked([&] { row_ = row; });
  }
  // Looks at the condition behind every use of the row by a store: who leads reads it all the
  // time. False if it does not hold within `limit`.
  bool await(const std::function<bool()>& condition, Millis limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    std::unique_lock lock(mutex_);
    while (true) {
      const uint64_t seen = uses_;
      lock.unlock();
      if (condition()) return true;
      lock.lock();
      if (!used_.wait_until(lock, end, [&] { return uses_ != seen; })) return false;
    }
  }
  // Waits for so many more uses.
  bool awaitUses(uint64_t more, Millis limit) {
    std::unique_lock lock(mutex_);
    return used_.wait_for(lock, limit, [&, until = uses_ + more] { return uses_ >= until; });
  }

 private:
  friend class FakeEpochStore;
  template <typename F>
  std::invoke_result_t<F> locked(F f) const {
    const std::lock_guard lock(mutex_);
    return f();
  }
  // Of a store.
  template <typename F>
  std::invoke_result_t<F> use(F f) {
    const std::lock_guard lock(mutex_);
    ++uses_;
    used_.notify_all();
    return f();
  }
  Status failureStatus() const {
    return failure_ ? Status(Error(*failure_, "the fake database is out of order")) : Status();
  }

  mutable std::mutex mutex_;
  std::condition_variable used_;  // Signalled when uses_ rises.
  uint64_t uses_ = 0;             // Guarded by mutex_, as all below.
  dao::EpochRow row_;
  dao::ClusterRow cluster_;
  std::vector<dao::EpochClaim> bumps_;
  std::optional<ErrorCode> failure_;
};

// A store on a FakeEpochTable, which outlives it.
class FakeEpochStore final : public dao::EpochStore {
 public:
  explicit FakeEpochStore(FakeEpochTable& table) : table_(table) {}

  Result<dao::ClusterRow> readCluster() override {
    return table_.use([&]() -> Result<dao::ClusterRow> {
      RETURN_IF_ERROR(table_.failureStatus());
      return table_.cluster_;
    });
  }
  Result<dao::EpochRow> read() override {
    return table_.use([&]() -> Result<dao::EpochRow> {
      RETURN_IF_ERROR(table_.failureStatus());
      dao::EpochRow row = table_.row_;
      row.cluster_guid = table_.cluster_.guid;
      return row;
    });
  }
  Status bump(const dao::EpochClaim& claim) override {
    return table_.use([&]() -> Status {
      RETURN_IF_ERROR(table_.failureStatus());
      if (table_.row_.epoch >= claim.epoch) return fenced();
      store(claim);
      return {};
    });
  }
  Status reaffirm(const dao::EpochClaim& claim) override {
    return table_.use([&]() -> Status {
      RETURN_IF_ERROR(table_.failureStatus());
      if (table_.row_.epoch != claim.prev_epoch) return fenced();
      store(claim);
      return {};
    });
  }
  Status setState(uint64_t epoch, dao::EpochState state) override {
    return table_.use([&]() -> Status {
      RETURN_IF_ERROR(table_.failureStatus());
      if (table_.row_.epoch != epoch) return fenced();
      table_.row_.state = state;
      return {};
    });
  }
  Status recordTakeover(const dao::EpochLogRow&) override { return {}; }
  Result<std::vector<dao::EpochLogRow>> history(uint32_t limit) override {
    return table_.use([&]() -> Result<std::vector<dao::EpochLogRow>> {
      std::vector<dao::EpochLogRow> rows;
      for (auto it = table_.bumps_.rbegin(); it != table_.bumps_.rend() && rows.size() < limit;
           ++it) {
        dao::EpochLogRow row;
        row.epoch = it->epoch;
        row.prev_epoch = it->prev_epoch;
        row.node_id = it->node_id;
        row.reason = it->reason;
        rows.push_back(std::move(row));
      }
      return rows;
    });
  }

 private:
  Status fenced() const {
    return Error::make(ErrorCode::Fenced, "the row is at epoch {}", table_.row_.epoch);
  }
  void store(const dao::EpochClaim& claim) {
    table_.row_.epoch = claim.epoch;
    table_.row_.node_id = claim.node_id;
    table_.row_.incarnation = claim.incarnation;
    table_.row_.address = claim.address;
    table_.row_.state = dao::EpochState::Recovering;
    table_.bumps_.push_back(claim);
  }

  FakeEpochTable& table_;
};

}  // namespace baton::test
