#include "master/state/id_allocator.h"

#include <algorithm>
#include <memory>

namespace baton::master {

Status IdAllocator::prime(dao::Writer& writer, Epoch epoch, uint64_t batch) {
  ASSIGN_OR_RETURN(const auto txn, writer.begin(epoch, batch));
  ASSIGN_OR_RETURN(const uint64_t first, txn->reserveIds(counter_, stock_));
  RETURN_IF_ERROR(txn->commit());
  add(first, stock_);
  return {};
}

uint64_t IdAllocator::take() {
  CHECK(available_ > 0);
  Block& block = blocks_.front();
  const uint64_t id = block.next++;
  --available_;
  if (block.next == block.end) blocks_.pop_front();
  return id;
}

uint64_t IdAllocator::take(Operation& operation) {
  if (available_ > 0) return take();
  CHECK(reserved_end_ > 0);
  const uint64_t number = std::max(reserved_end_, floor_);
  operation.takeNumber(counter_, number);
  skipTo(number + 1);  // Those that are being reserved may begin below it.
  return number;
}

void IdAllocator::add(uint64_t first, uint64_t count) {
  reserved_end_ = std::max(reserved_end_, first + count);
  blocks_.push_back({first, first + count});
  available_ += count;
  skipTo(floor_);
}

void IdAllocator::skipTo(uint64_t number) {
  floor_ = std::max(floor_, number);
  while (!blocks_.empty() && blocks_.front().next < floor_) {
    Block& block = blocks_.front();
    const uint64_t next = std::min(floor_, block.end);
    available_ -= next - block.next;
    block.next = next;
    if (block.next == block.end) blocks_.pop_front();
  }
}

std::optional<Operation> IdAllocator::refill(std::function<void(std::function<void()>)> post) {
  if (refilling_ || available_ > stock_ / 2) return std::nullopt;
  refilling_ = true;
  const auto first = std::make_shared<uint64_t>(0);
  const uint64_t count = stock_ / 2;
  Operation operation;
  operation.statements.push_back([counter = counter_, count, first](dao::FencedTxn& txn) -> Status {
    ASSIGN_OR_RETURN(*first, txn.reserveIds(counter, count));
    return {};
  });
  operation.then([this, post = std::move(post), first, count] {
    post([this, first, count] {
      add(*first, count);
      refilling_ = false;
    });
  });
  return operation;
}

}  // namespace baton::master
