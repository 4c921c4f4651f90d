// Rows a second of the data access layer: inserts, state changes, attempts, and the recovery scan.
// Usage: dao_bench sqlite|mysql [tasks] [batch]
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "dao/database.h"
#include "tests/support/mariadb_server.h"

namespace baton {
namespace {

using dao::FencedTxn;

double secondsSince(BootTime start) {
  return static_cast<double>((SystemClock().bootNow() - start).count()) / 1e6;
}

void require(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "{}\n", status.text());
  std::exit(1);
}

TaskRecord benchTask(TaskId id) {
  TaskRecord task;
  task.name = fmt::format("job-{}", id % 1'000);
  task.kind = "command";
  task.spec = R"({"command":["/bin/true"],"env":{"A":"1"},"dir":"/tmp"})";
  task.created_at = wallFromMicros(1'700'000'000'000'000 + static_cast<int64_t>(id));
  task.state.id = id;
  task.state.status = TaskStatus::Queued;
  task.state.queued_at = task.created_at;
  return task;
}

AttemptRecord benchAttempt(TaskId id) {
  AttemptRecord attempt;
  attempt.task_id = id;
  attempt.number = 1;
  attempt.nonce = "0123456789abcdef";
  return attempt;
}

class Bench {
 public:
  Bench(dao::Database& database, uint64_t tasks, uint64_t batch)
      : database_(database), writer_(database.makeWriter()), tasks_(tasks), batch_rows_(batch) {}

  void run() {
    require(database_.initCluster({.name = "bench", .guid = "g"}).status());
    dao::EpochClaim claim;
    claim.epoch = 1;
    require(database_.makeEpochStore()->bump(claim));
    write("insertTasks", [](FencedTxn& txn, TaskId from, TaskId to) {
      std::vector<TaskRecord> rows;
      for (TaskId id = from; id < to; ++id) rows.push_back(benchTask(id));
      return txn.insertTasks(rows);
    });
    write("storeTaskStates", [](FencedTxn& txn, TaskId from, TaskId to) {
      std::vector<TaskState> rows;
      for (TaskId id = from; id < to; ++id) {
        rows.push_back(benchTask(id).state);
        rows.back().status = TaskStatus::Running;
        rows.back().attempt = 1;
        rows.back().runner_id = "worker-1:3";
      }
      return txn.storeTaskStates(rows);
    });
    // An ended attempt for each task, and an open one on each of 1,000 runners.
    write("storeAttempts", [](FencedTxn& txn, TaskId from, TaskId to) {
      std::vector<AttemptRecord> rows;
      for (TaskId id = from; id < to; ++id) {
        AttemptRecord row = benchAttempt(id);
        row.runner_id = fmt::format("worker-1:{}", id % 1'000);
        row.status = id <= 1'000 ? AttemptStatus::Running : AttemptStatus::Finished;
        rows.push_back(row);
      }
      return txn.storeAttempts(rows);
    });
    scan(1);
    scan(4);
    write("end: state + attempt", [](FencedTxn& txn, TaskId from, TaskId to) -> Status {
      std::vector<TaskState> states;
      std::vector<AttemptRecord> attempts;
      for (TaskId id = from; id < to; ++id) {
        states.push_back(benchTask(id).state);
        states.back().status = TaskStatus::Finished;
        states.back().return_code = 0;
        attempts.push_back(benchAttempt(id));
        attempts.back().runner_id = fmt::format("worker-1:{}", id % 1'000);
        attempts.back().status = AttemptStatus::Finished;
      }
      RETURN_IF_ERROR(txn.storeTaskStates(states));
      return txn.storeAttempts(attempts);
    });
  }

 private:
  template <typename Put>
  void write(const char* what, const Put& put) {
    const BootTime start = SystemClock().bootNow();
    for (TaskId from = 1; from <= tasks_; from += batch_rows_) {
      auto txn = writer_->begin(1, ++batch_);
      require(txn.status());
      require(put(**txn, from, std::min(from + batch_rows_, tasks_ + 1)));
      require((*txn)->commit());
    }
    const double seconds = secondsSince(start);
    fmt::print("{:<22} {:>9.0f} rows/s in batches of {}\n", what,
               static_cast<double>(tasks_) / seconds, batch_rows_);
  }

  void scan(uint32_t ranges) {
    for (int round = 0; round < 2; ++round) {
      const BootTime start = SystemClock().bootNow();
      const auto parts = database_.makeReader()->liveRanges(ranges);
      require(parts.status());
      const double bounds_seconds = secondsSince(start);
      std::vector<std::thread> threads;
      std::vector<uint64_t> counts(parts->size());
      for (size_t i = 0; i < parts->size(); ++i) {
        threads.emplace_back([&, i] {
          require(
              database_.makeReader()->liveTasks((*parts)[i], [&counts, i](const dao::LiveTask&) {
                ++counts[i];
                return true;
              }));
        });
      }
      for (std::thread& thread : threads) thread.join();
      uint64_t rows = 0;
      for (const uint64_t count : counts) rows += count;
      const double seconds = secondsSince(start);
      fmt::print("scan in {} ranges       {:>9.0f} rows/s, {} rows in {:.0f} ms (bounds {:.0f})\n",
                 ranges, static_cast<double>(rows) / seconds, rows, seconds * 1e3,
                 bounds_seconds * 1e3);
    }
  }

  dao::Database& database_;
  const std::unique_ptr<dao::Writer> writer_;
  const uint64_t tasks_;
  const uint64_t batch_rows_;
  uint64_t batch_ = 0;
};

int benchMain(int argc, char** argv) {
  const bool mysql = argc > 1 && std::string(argv[1]) == "mysql";
  const uint64_t tasks = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100'000;
  const uint64_t batch = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1'000;
  std::unique_ptr<test::MariadbServer> server;
  dao::DatabaseOptions options;
  std::string folder = (std::filesystem::temp_directory_path() / "baton-bench-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  options.path = folder + "/bench.db";
  if (mysql) {
    auto started = test::MariadbServer::start();
    require(started.status());
    server = std::move(*started);
    options = server->options();
  }
  auto database = dao::openDatabase(options);
  require(database.status());
  Bench(**database, tasks, batch).run();
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace baton

int main(int argc, char** argv) { return baton::benchMain(argc, argv); }
