#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "dao/fenced_txn.h"
#include "master/state/operation.h"

namespace baton::master {

// Hands out numbers from blocks that a fenced transaction reserved, so that no two masters ever
// give the same one. Gaps are normal; the numbers of one allocator rise. Dispatcher thread (and,
// before it starts, the promoter's).
class IdAllocator {
 public:
  // `counter` names the row ("task_id"). `stock` numbers are kept in hand, reserved in steps of a
  // half of it.
  IdAllocator(std::string counter, uint64_t stock) : counter_(std::move(counter)), stock_(stock) {}

  // Reserves the first stock, waiting for the database.
  Status prime(dao::Writer& writer, Epoch epoch, uint64_t batch);
  uint64_t available() const { return available_; }
  // Only when available() > 0.
  uint64_t take();
  // The same whether or not there is one in hand: without, the number behind all that are reserved,
  // which the operation itself then reserves. So what needs a number now never has to wait, and
  // numbers taken by operations that are never stored are free again. Nobody but the master of this
  // epoch reserves, so the number can't be another's.
  uint64_t take(Operation& operation);
  // Reserves one number within a transaction, for when the stock is used up. Numbers in hand or on
  // their way may be lower: skipTo keeps those of one order from being given after it.
  Result<uint64_t> reserveOne(dao::FencedTxn& txn) const { return txn.reserveIds(counter_, 1); }
  // Gives up the numbers below `number`.
  void skipTo(uint64_t number);
  // An operation that reserves more when the stock is half used; the effect runs `post` with the
  // function to be called on the dispatcher thread. Empty if there is enough or it is under way.
  std::optional<Operation> refill(std::function<void(std::function<void()>)> post);

 private:
  struct Block {
    uint64_t next;
    uint64_t end;
  };
  void add(uint64_t first, uint64_t count);

  const std::string counter_;
  const uint64_t stock_;
  std::deque<Block> blocks_;
  uint64_t available_ = 0;
  uint64_t floor_ = 0;         // No number below it is given.
  uint64_t reserved_end_ = 0;  // Behind all numbers that are known to be reserved.
  bool refilling_ = false;
};

}  // namespace baton::master
