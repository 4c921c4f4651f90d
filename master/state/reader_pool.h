#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "dao/database.h"

namespace baton::master {

// Read connections for the web threads: borrowed for one query, kept for the next. Thread-safe.
class ReaderPool {
 public:
  explicit ReaderPool(dao::Database& database) : database_(database) {}

  template <typename Query>
  auto with(Query query) {
    std::unique_ptr<dao::Reader> reader = borrow();
    auto result = query(*reader);
    std::lock_guard lock(mutex_);
    if (idle_.size() < kIdleMax) idle_.push_back(std::move(reader));
    return result;
  }

 private:
  static constexpr size_t kIdleMax = 16;

  std::unique_ptr<dao::Reader> borrow() {
    std::lock_guard lock(mutex_);
    if (idle_.empty()) return database_.makeReader();
    auto reader = std::move(idle_.back());
    idle_.pop_back();
    return reader;
  }

  dao::Database& database_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<dao::Reader>> idle_;  // Guarded by mutex_.
};

}  // namespace baton::master
