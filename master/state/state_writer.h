#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "common/base/clock.h"
#include "common/base/named_thread.h"
#include "common/service/service.h"
#include "dao/fenced_txn.h"
#include "master/state/operation.h"

namespace baton::master {

// What the state writer tells of. Writer thread; must not block.
class WriterListener {
 public:
  virtual ~WriterListener() = default;
  // The database names another epoch: this master is deposed. The writer has halted.
  virtual void onWriterFenced() = 0;
  // A commit failed in a way that only a bug explains. The writer has halted.
  virtual void onWriterBug(const std::string& what) = 0;
  // Commits fail because of the database (why) or work again after `gap`.
  virtual void onDatabaseOutage(const Error& why) = 0;
  virtual void onDatabaseBack(Micros gap) = 0;
  // A batch is durable. `rows` counts changed rows.
  virtual void onCommitted(size_t operations, size_t rows, Micros took) = 0;
  // What that batch changed.
  virtual void onChanged(Epoch, uint64_t /*batch*/, const ChangeSet&) {}
};

// Makes decisions durable: commits everything that gathered since the last commit in one fenced
// transaction, then lets the effects of those decisions out. One batch in flight.
//
// What a failed commit means:
//   Fenced                   halt and tell; the memory is worth nothing any more.
//   link lost                ask the database whether the batch is in; if not, repeat it.
//   deadlock, lock wait      repeat; after three times commit the operations one by one, so that
//                            a locked row delays only the operations about it.
//   disk full, read-only     keep the batch and repeat; meanwhile acceptsWork() is false.
//   anything else            a bug: halt and tell. If it may be about a row, the operations are
//                            first committed one by one, so that it costs only those about the
//                            refused one's tasks and runners.
//
// Threads: submit and publish on the dispatcher thread; the rest any thread.
class StateWriter final : public Service {
 public:
  struct Options {
    Millis retry_min{50};
    Millis retry_max{500};
    Millis blocked_retry{2'000};  // Pause between tries of operations on locked rows.
    size_t batch_operations_max = 4'096;
  };

  // All outlive this.
  StateWriter(dao::Writer& writer, Clock& clock, const std::atomic<Epoch>& epoch,
              WriterListener& listener, Options options);
  ~StateWriter() override;

  // Number of the first batch of this term; before start only.
  void setFirstBatch(uint64_t batch) { batch_number_ = batch - 1; }
  // Queues a decision. An operation without changes waits only for what was decided before it.
  void submit(Operation operation);
  // Hands what was submitted to the writer thread; behind every burst of the dispatcher.
  void publish();

  // False while the database refuses writes (disk full, read-only, out of reach).
  bool acceptsWork() const { return !outage_.load(std::memory_order_relaxed); }
  // The same for people: StorageFull or Unavailable while nothing can be written.
  Status acceptance() const;
  // dao::Writer::rowBytesMax.
  size_t rowBytesMax() const { return writer_.rowBytesMax(); }
  // Ended by a fence or a bug: nothing that is published from then on will become durable.
  bool halted() const { return halted_.load(std::memory_order_acquire); }
  // While frozen no transaction begins.
  void freeze();
  void resume();
  // Waits until everything published is durable. False: the deadline came first.
  bool flush(BootTime deadline);
  size_t pendingOperations() const { return uncommitted_.load(std::memory_order_relaxed); }
  uint64_t batchNumber() const { return batch_number_.load(std::memory_order_relaxed); }
  uint64_t progress() const { return progress_.load(std::memory_order_relaxed); }

  // Writes what is published on the calling thread, as the writer's own would; for tests and
  // simulations that drive it without a thread.
  void runPendingForTest();

 protected:
  Status onStart() override;
  void onStop() noexcept override;

 private:
  enum class Outcome { Committed, Busy, Refused, Halt };

  void run(std::stop_token stop);
  std::vector<Operation> takeBatch(std::stop_token stop);
  std::vector<Operation> takePublished();  // mutex_ is held.
  // One round: the batch, then what was blocked and is due. False: halted or stopped.
  bool runOnce(std::vector<Operation> batch, std::stop_token stop);
  // Moves operations that concern locked rows out of `batch` behind the blocked ones.
  void setAsideBlocked(std::vector<Operation>& batch);
  // Commits or sets aside every operation of the batch; false: halted or stopped.
  bool writeBatch(std::vector<Operation> batch, std::stop_token stop);
  bool writeOneByOne(std::vector<Operation> batch, std::stop_token stop, std::string_view why);
  bool haltForBug();  // False.
  void retryBlocked(std::stop_token stop);
  // Repeats one transaction until it is committed, blocked, refused or hopeless.
  Outcome persist(std::span<Operation> operations, int busy_tries, std::stop_token stop);
  Status writeOnce(const ChangeSet& changes, std::span<Operation> operations, Epoch epoch,
                   uint64_t batch, bool& in_doubt);
  // Tells whether the batch is in the database; repeats until the database answers.
  Result<bool> resolveDoubt(Epoch epoch, uint64_t batch, std::stop_token stop);
  void release(std::span<Operation> operations);
  void reportOutage(const Error& why);
  void reportBack();
  void pause(Millis time, std::stop_token stop);
  void waitWhileFrozen(std::stop_token stop);
  void block(Operation operation);

  dao::Writer& writer_;
  Clock& clock_;
  const std::atomic<Epoch>& epoch_;
  WriterListener& listener_;
  const Options options_;

  std::atomic<size_t> uncommitted_{0};  // Submitted and not yet released.
  std::atomic<bool> outage_{false};
  std::atomic<bool> storage_full_{false};  // What the outage is about.
  std::atomic<uint64_t> batch_number_{0};
  std::atomic<uint64_t> progress_{0};
  std::atomic<bool> halted_{false};

  // Dispatcher thread only.
  std::vector<Operation> collecting_;
  uint64_t decisions_ = 0;

  std::mutex mutex_;
  // Signalled when: operations are published, a batch is done, a freeze ends, the thread shall
  // stop.
  std::condition_variable wake_;
  std::deque<Operation> published_;  // Guarded by mutex_.
  bool frozen_ = false;              // Guarded by mutex_.

  // Writer thread only.
  std::vector<Operation> blocked_;  // In order of decision.
  std::unordered_set<uint64_t> blocked_keys_;
  BootTime blocked_due_{};
  BootTime outage_since_{};
  std::string refusal_;          // What the database said about the last refused transaction.
  bool refusal_of_row_ = false;  // It may be about a row, and not about us.

  NamedThread thread_;
};

}  // namespace baton::master
