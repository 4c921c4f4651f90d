#include "master/state/read_worker.h"

namespace baton::master {

ReadWorker::ReadWorker(std::unique_ptr<dao::Reader> reader)
    : Service("read worker"), reader_(std::move(reader)) {}

ReadWorker::~ReadWorker() { stop(); }

void ReadWorker::submit(Job job) {
  {
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
}

Status ReadWorker::onStart() {
  thread_ = NamedThread("read worker", [this](std::stop_token stop) { run(stop); });
  return {};
}

void ReadWorker::onStop() noexcept {
  thread_.requestStop();
  wake_.notify_all();
  thread_.requestStopAndJoin();
}

void ReadWorker::runPendingForTest() {
  std::vector<Job> jobs;
  {
    std::lock_guard lock(mutex_);
    jobs.swap(jobs_);
  }
  for (Job& job : jobs) job(*reader_);
}

void ReadWorker::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    std::vector<Job> jobs;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, Millis(500), [&] { return stop.stop_requested() || !jobs_.empty(); });
      jobs.swap(jobs_);
    }
    for (Job& job : jobs) {
      if (stop.stop_requested()) return;
      job(*reader_);
    }
  }
}

}  // namespace baton::master
