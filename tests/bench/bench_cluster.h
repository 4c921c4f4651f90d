#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "dao/database.h"
#include "dao/sql_session.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/child.h"
#include "webapi/client/api_client.h"

namespace baton::bench {

// What a cluster of the bench's own consists of.
struct ClusterPlan {
  uint32_t masters = 1;
  uint32_t workers = 0;
  uint32_t runners = 0;  // Of each worker; 0: baton's default.
};

// The cluster that is measured: one of the bench's own, which goes with the object, or a given
// one. baton runs with its default settings. One thread.
class BenchCluster {
 public:
  // Makes and starts one in `dir`, which exists; returns when a master leads and all runners have
  // reported. Errors: Unavailable, Conflict (what has to be so is not: durability, no tmpfs).
  static Result<std::unique_ptr<BenchCluster>> start(const BenchOptions& options,
                                                     const ClusterPlan& plan,
                                                     const std::filesystem::path& dir);
  // Uses the given cluster of the options. Errors as above.
  static Result<std::unique_ptr<BenchCluster>> attach(const BenchOptions& options);
  ~BenchCluster();
  BenchCluster(const BenchCluster&) = delete;
  BenchCluster& operator=(const BenchCluster&) = delete;

  Result<webapi::ApiClient> makeClient() const;
  const std::vector<std::string>& masters() const { return masters_; }
  const std::string& token() const { return token_; }
  const std::string& workerToken() const { return worker_token_; }
  const std::vector<std::string>& workerDirs() const { return worker_dirs_; }
  dao::Database& database() { return *database_; }
  // A session that may write, for the database's own limits; a takeover ends it.
  Result<std::unique_ptr<dao::SqlSession>> writingSession() const;
  // One that only reads, and that no takeover ends.
  Result<std::unique_ptr<dao::SqlSession>> readingSession() const;
  // "innodb_flush_log_at_trx_commit" and so on with their values; they have been checked.
  const std::vector<std::pair<std::string, std::string>>& settings() const { return settings_; }

  // Processes of a cluster of its own.
  Child& master(size_t index) { return master_processes_[index]; }
  Child& worker(size_t index) { return worker_processes_[index]; }
  Status startMaster(size_t index);
  // The address of the one that leads. Errors: Unavailable (nobody within the patience).
  Result<std::string> activeMaster();
  // Waits until the active one has heard of so many runners.
  Status awaitRunners(size_t count);

 private:
  BenchCluster() = default;
  Status makeServers(const BenchOptions& options);
  Status makeMasters(const ClusterPlan& plan);
  Status makeWorkers(const ClusterPlan& plan);
  Status openDatabase();
  // What the issue of a figure demands of the database.
  Status checkDurable();
  std::string logOf(const std::string& name) const { return (dir_ / (name + ".log")).string(); }

  std::filesystem::path dir_;  // Empty: a given cluster.
  std::string baton_;          // This program.
  std::filesystem::path scripts_;
  bool has_database_ = false;
  bool has_zookeeper_ = false;
  std::vector<std::string> masters_;
  std::vector<std::string> worker_dirs_;
  std::vector<Child> master_processes_;
  std::vector<Child> worker_processes_;
  std::string token_;
  std::string worker_token_;
  dao::DatabaseOptions database_options_;
  std::unique_ptr<dao::Database> database_;
  std::vector<std::pair<std::string, std::string>> settings_;
};

// Is the folder in memory only?
bool onTmpfs(const std::string& path);

}  // namespace baton::bench
