#include <array>

#include "dao/schema/migrations.h"

// The tables of m0001_mysql.cc, in SQLite's words; STRICT tables refuse a value of another type.
// Unsigned numbers of 64 bits are stored as the signed number of the same bits.
namespace baton::dao {
namespace {

constexpr std::array<std::string_view, 19> kSqliteMigration1{
    R"sql(CREATE TABLE IF NOT EXISTS ha_epoch (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  epoch INTEGER NOT NULL,
  node_id TEXT NOT NULL DEFAULT '' CHECK (length(node_id) <= 128),
  incarnation TEXT NOT NULL DEFAULT '' CHECK (length(incarnation) <= 64),
  cluster_guid TEXT NOT NULL DEFAULT '' CHECK (length(cluster_guid) <= 64),
  state INTEGER NOT NULL DEFAULT 0,
  address TEXT NOT NULL DEFAULT '' CHECK (length(address) <= 255),
  acquired_at INTEGER NOT NULL DEFAULT 0
) STRICT)sql",
    R"sql(CREATE TABLE IF NOT EXISTS ha_epoch_log (
  epoch INTEGER NOT NULL PRIMARY KEY,
  prev_epoch INTEGER NOT NULL,
  node_id TEXT NOT NULL CHECK (length(node_id) <= 128),
  incarnation TEXT NOT NULL CHECK (length(incarnation) <= 64),
  address TEXT NOT NULL DEFAULT '' CHECK (length(address) <= 255),
  reason TEXT NOT NULL CHECK (length(reason) <= 32),
  lock_czxid INTEGER NOT NULL,
  bumped_at INTEGER NOT NULL,
  released_at INTEGER NOT NULL DEFAULT 0,
  detect_ms INTEGER NOT NULL DEFAULT 0,
  lock_ms INTEGER NOT NULL DEFAULT 0,
  bump_ms INTEGER NOT NULL DEFAULT 0,
  load_ms INTEGER NOT NULL DEFAULT 0,
  active_ms INTEGER NOT NULL DEFAULT 0,
  tasks_loaded INTEGER NOT NULL DEFAULT 0,
  attempts_in_doubt INTEGER NOT NULL DEFAULT 0
) STRICT)sql",
    R"sql(CREATE TABLE IF NOT EXISTS cluster (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  name TEXT NOT NULL CHECK (length(name) <= 64),
  guid TEXT NOT NULL CHECK (length(guid) <= 64),
  heartbeat_ms INTEGER NOT NULL
) STRICT)sql",
    R"sql(CREATE TABLE IF NOT EXISTS task (
  task_id INTEGER NOT NULL PRIMARY KEY,
  phase INTEGER NOT NULL DEFAULT 0,
  status INTEGER NOT NULL DEFAULT 0,
  reason INTEGER NOT NULL DEFAULT 0,
  priority INTEGER NOT NULL DEFAULT 0,
  cause INTEGER NOT NULL DEFAULT 0,
  hold INTEGER NOT NULL DEFAULT 0,
  forced INTEGER NOT NULL DEFAULT 0,
  ignored INTEGER NOT NULL DEFAULT 0,
  unproven INTEGER NOT NULL DEFAULT 0,
  attempt INTEGER NOT NULL DEFAULT 0,
  retries_used INTEGER NOT NULL DEFAULT 0,
  return_code INTEGER,
  signal_no INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL DEFAULT 0,
  queued_at INTEGER NOT NULL DEFAULT 0,
  not_before INTEGER NOT NULL DEFAULT 0,
  started_at INTEGER NOT NULL DEFAULT 0,
  finished_at INTEGER NOT NULL DEFAULT 0,
  epoch INTEGER NOT NULL DEFAULT 0,
  batch_id INTEGER NOT NULL DEFAULT 0,
  runner_id TEXT NOT NULL DEFAULT '' CHECK (length(runner_id) <= 128),
  name TEXT NOT NULL DEFAULT '' CHECK (length(name) <= 128),
  kind TEXT NOT NULL DEFAULT '' CHECK (length(kind) <= 32),
  policy TEXT,
  tags TEXT,
  reason_text TEXT,
  outputs TEXT
) STRICT)sql",
    R"sql(CREATE INDEX IF NOT EXISTS task_phase ON task (phase, task_id))sql",
    R"sql(CREATE INDEX IF NOT EXISTS task_name ON task (name, task_id))sql",
    R"sql(CREATE INDEX IF NOT EXISTS task_created ON task (created_at))sql",
    R"sql(CREATE TABLE IF NOT EXISTS task_spec (
  task_id INTEGER NOT NULL PRIMARY KEY,
  epoch INTEGER NOT NULL,
  batch_id INTEGER NOT NULL,
  spec TEXT
) STRICT)sql",
    R"sql(CREATE TABLE IF NOT EXISTS task_tag (
  tag TEXT NOT NULL CHECK (length(tag) <= 128),
  task_id INTEGER NOT NULL,
  PRIMARY KEY (tag, task_id)
) STRICT, WITHOUT ROWID)sql",
    R"sql(CREATE TABLE IF NOT EXISTS attempt (
  task_id INTEGER NOT NULL,
  number INTEGER NOT NULL,
  open_flag INTEGER CHECK (open_flag = 1),
  status INTEGER NOT NULL,
  reason INTEGER NOT NULL,
  return_code INTEGER,
  signal_no INTEGER NOT NULL,
  incarnation INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  dispatch_epoch INTEGER NOT NULL,
  dispatched_at INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  stdout_bytes INTEGER NOT NULL,
  stderr_bytes INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  batch_id INTEGER NOT NULL,
  runner_id TEXT NOT NULL CHECK (length(runner_id) <= 128),
  nonce TEXT NOT NULL CHECK (length(nonce) <= 64),
  worker_address TEXT NOT NULL CHECK (length(worker_address) <= 255),
  reason_text TEXT,
  late_report TEXT,
  PRIMARY KEY (task_id, number)
) STRICT, WITHOUT ROWID)sql",
    R"sql(CREATE UNIQUE INDEX IF NOT EXISTS attempt_open_task ON attempt (open_flag, task_id))sql",
    R"sql(CREATE UNIQUE INDEX IF NOT EXISTS attempt_open_runner ON attempt (runner_id, open_flag))sql",
    R"sql(CREATE TABLE IF NOT EXISTS runner (
  runner_id TEXT NOT NULL PRIMARY KEY CHECK (length(runner_id) <= 128),
  worker_id TEXT NOT NULL CHECK (length(worker_id) <= 128),
  host TEXT NOT NULL CHECK (length(host) <= 255),
  boot_id TEXT NOT NULL CHECK (length(boot_id) <= 64),
  version TEXT NOT NULL CHECK (length(version) <= 64),
  worker_address TEXT NOT NULL CHECK (length(worker_address) <= 255),
  journal_id TEXT NOT NULL CHECK (length(journal_id) <= 64),
  incarnation INTEGER NOT NULL,
  plain INTEGER NOT NULL,
  conflict INTEGER NOT NULL,
  last_seen INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  batch_id INTEGER NOT NULL,
  labels TEXT
) STRICT, WITHOUT ROWID)sql",
    R"sql(CREATE TABLE IF NOT EXISTS outbox (
  id INTEGER NOT NULL PRIMARY KEY,
  state INTEGER NOT NULL,
  task_id INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  awaited INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  next_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  batch_id INTEGER NOT NULL,
  event TEXT NOT NULL CHECK (length(event) <= 32),
  url TEXT,
  payload TEXT,
  last_error TEXT
) STRICT)sql",
    R"sql(CREATE INDEX IF NOT EXISTS outbox_state ON outbox (state, id))sql",
    R"sql(CREATE TABLE IF NOT EXISTS idempotency (
  principal TEXT NOT NULL CHECK (length(principal) <= 128),
  key_text TEXT NOT NULL CHECK (length(key_text) <= 255),
  request_hash TEXT NOT NULL CHECK (length(request_hash) <= 64),
  created_at INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  batch_id INTEGER NOT NULL,
  answer TEXT,
  PRIMARY KEY (principal, key_text)
) STRICT, WITHOUT ROWID)sql",
    R"sql(CREATE INDEX IF NOT EXISTS idempotency_created ON idempotency (created_at))sql",
    R"sql(CREATE TABLE IF NOT EXISTS counter (
  name TEXT NOT NULL PRIMARY KEY CHECK (length(name) <= 64),
  next_id INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  batch_id INTEGER NOT NULL
) STRICT, WITHOUT ROWID)sql",
    R"sql(CREATE TABLE IF NOT EXISTS batch (
  epoch INTEGER NOT NULL PRIMARY KEY,
  batch_id INTEGER NOT NULL
) STRICT)sql",
};

}  // namespace

std::span<const std::string_view> sqliteMigration1() { return kSqliteMigration1; }

}  // namespace baton::dao
