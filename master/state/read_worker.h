#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "common/base/named_thread.h"
#include "common/service/service.h"
#include "dao/reader.h"

namespace baton::master {

// Reads from the database for the dispatcher, which never blocks: jobs run in order on one thread
// with one read connection and post what they found.
class ReadWorker final : public Service {
 public:
  using Job = std::function<void(dao::Reader&)>;

  explicit ReadWorker(std::unique_ptr<dao::Reader> reader);
  ~ReadWorker() override;

  void submit(Job job);  // Any thread; dropped after stop.
  // Runs what is queued on the calling thread; for tests that drive it without a thread.
  void runPendingForTest();

 protected:
  Status onStart() override;
  void onStop() noexcept override;

 private:
  void run(std::stop_token stop);

  const std::unique_ptr<dao::Reader> reader_;
  std::mutex mutex_;
  std::condition_variable wake_;  // Signalled when: a job is queued, the thread shall stop.
  std::vector<Job> jobs_;         // Guarded by mutex_.
  NamedThread thread_;
};

}  // namespace baton::master
