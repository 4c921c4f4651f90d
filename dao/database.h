#pragma once

#include <memory>
#include <string>

#include "common/base/status.h"
#include "dao/epoch_store.h"
#include "dao/fenced_txn.h"
#include "dao/reader.h"

namespace baton::dao {

// Where the state is and how to get in. Passwords never show in logs or errors.
struct DatabaseOptions {
  enum class Kind : uint8_t { Sqlite, Mysql };
  Kind kind = Kind::Sqlite;
  std::string path;  // SQLite: the file.
  std::string host;  // MySQL: host, or empty for the socket.
  int port = 3306;
  std::string socket;
  std::string name;  // Database (schema) name.
  std::string user;  // Read-write user: one per cluster.
  std::string password;
  std::string reader_user;  // Read-only user; empty: the read-write one with read-only sessions.
  std::string reader_password;
  std::string tls_ca;  // File; empty: no TLS.
  Millis connect_timeout{1'000};
  Millis io_timeout{3'000};
};

// Result of `cluster init` on the database side.
struct ClusterInit {
  std::string name;
  std::string guid;  // Kept if the row exists already.
  int64_t heartbeat_ms = 30'000;
  bool set_heartbeat =
      false;  // Change the row's heartbeat; the caller saw to it that no master runs.
};

// A database: makes connections of each kind. Both bodies (dao/mysql, dao/sqlite) pass one contract
// suite (tests/contract). Thread-safe.
class Database {
 public:
  virtual ~Database() = default;

  // Brings the schema up to date under a lock, migration by migration; running it twice is free.
  // Errors: Conflict (the schema is newer than this program: names both versions), Unavailable.
  virtual Status migrate() = 0;
  // Conflict if the schema's version is not exactly this program's (says which command mends it) or
  // the server takes no statements of 1 MB.
  virtual Status checkSchema() = 0;
  // Writes or completes the cluster row and the epoch row; returns the row as it now is.
  // Errors: Conflict (another name).
  virtual Result<ClusterRow> initCluster(const ClusterInit& init) = 0;
  // Warnings about settings under which an accepted task could be lost by a crash of the server
  // (innodb_flush_log_at_trx_commit, sync_binlog, doublewrite); empty: none.
  virtual Result<std::vector<std::string>> durabilityWarnings() = 0;

  virtual std::unique_ptr<Writer> makeWriter() = 0;
  virtual std::unique_ptr<Reader> makeReader() = 0;
  virtual std::unique_ptr<EpochStore> makeEpochStore() = 0;
};

// Errors: InvalidArgument (options that contradict each other).
Result<std::unique_ptr<Database>> openDatabase(const DatabaseOptions& options);

}  // namespace baton::dao
