#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/model/limit_records.h"
#include "common/model/records.h"
#include "dao/database.h"

namespace baton::recover {

// A live task as read. Texts that many tasks share are stored once and pointed to.
struct RecoveredTask {
  TaskState state;
  const std::string* policy = nullptr;  // Valid until recover() returns.
  WallTime created_at{};
  std::unique_ptr<AttemptRecord> attempt;  // Open: in doubt until its runner reports; null: none.
  std::string spec;                        // Only of DISPATCHED tasks, whose order may be repeated.
};

// Where recovery puts what it reads; called on the caller's thread. Runners, then calendars,
// parameters, flows, versions, backfills and runs; tasks; callbacks; tasks of runs.
class RecoverySink {
 public:
  virtual ~RecoverySink() = default;
  virtual void expect(size_t tasks) = 0;  // About so many will come.
  virtual void expectFlows(size_t flows) = 0;
  virtual void addSetting(const SettingRecord& setting) = 0;
  virtual void addHost(const HostRecord& host) = 0;
  virtual void addLimit(const LimitRecord& limit) = 0;
  virtual void addRunner(const RunnerRecord& runner) = 0;
  // In rising id order. Errors: Corrupt (a row that can't be understood).
  virtual Status addTask(RecoveredTask task) = 0;
  virtual void addCallback(const OutboxRecord& callback) = 0;
  virtual void addCalendar(const CalendarRecord& calendar) = 0;  // Deleted ones too.
  virtual void addParam(const ParamRecord& param) = 0;           // Likewise.
  virtual Status addFlow(dao::FlowRow flow) = 0;
  // A version that live runs have and that is not the newest of its flow.
  virtual Status addVersion(const FlowVersionRecord& version) = 0;
  virtual void addBackfill(const BackfillRecord& backfill) = 0;
  // Flows and versions have come: what is needed of them is to be read, on up to `threads` threads.
  // `runs` come next. Errors: Corrupt, Cancelled.
  virtual Status readDefinitions(std::span<const RunRecord> runs, uint32_t threads,
                                 std::stop_token stop) = 0;
  virtual Status addRun(const RunRecord& run) = 0;
  // A task of a live run, ended ones included.
  virtual Status addRunTask(const TaskRecord& task) = 0;
  // Everything has come. Errors: Corrupt (it does not fit together).
  virtual Status finish() = 0;
};

struct RecoveryCounts {
  uint64_t tasks = 0;
  uint64_t attempts_in_doubt = 0;
  uint64_t callbacks = 0;
  uint64_t runners = 0;
  uint64_t flows = 0;
  uint64_t runs = 0;
};

// Rebuilds the live state from the database after the epoch row was bumped, so that every older
// write is either visible or can never come. Tasks are read in parallel ranges, and flows with
// their runs beside them, each with a read connection of its own.
class RecoverService {
 public:
  // `database` outlives this. `threads` at least 1.
  RecoverService(dao::Database& database, uint32_t threads)
      : database_(database), threads_(threads) {}

  // Errors: Unavailable (database), Corrupt, Cancelled (within 100 ms of a stop).
  Result<RecoveryCounts> recover(RecoverySink& sink, std::stop_token stop);

 private:
  struct Range;
  struct Flows;
  Status readRange(Range& range, std::stop_token stop);
  Status readSpecs(Range& range);
  Status takeTasks(Range& range, RecoverySink& sink, RecoveryCounts& counts, std::stop_token stop);
  static Status readFlows(Flows& flows, std::stop_token stop);
  Status takeFlows(Flows& flows, RecoverySink& sink, RecoveryCounts& counts, std::stop_token stop);
  Status takeRunTasks(RecoverySink& sink, std::stop_token stop);
  Status takeCallbacks(RecoverySink& sink, RecoveryCounts& counts, std::stop_token stop);

  dao::Database& database_;
  const uint32_t threads_;
};

}  // namespace baton::recover
