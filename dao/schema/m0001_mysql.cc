#include <array>

#include "dao/schema/migrations.h"

// Times are UTC microseconds, enumerations their stored integers, `epoch` and `batch_id` name the
// transaction that wrote the row.
//
// task.phase is 0 while the task is live, else its terminal status. It changes once in a task's
// life, so the one index (phase, task_id) serves recovery and the lists by status at the price of
// one index move a task; an index on status itself would move at each of the four to six steps.
// Specifications lie in their own table: updates and the recovery scan never touch them.
// Text that can be long is nullable, because MySQL allows no default for it.
//
// attempt_open_task starts with open_flag (NULL once the attempt has ended), so that the open
// attempts of a range of tasks are one short index range.
namespace baton::dao {
namespace {

constexpr std::array<std::string_view, 12> kMysqlMigration1{
    R"sql(CREATE TABLE IF NOT EXISTS ha_epoch (
  id TINYINT NOT NULL PRIMARY KEY CHECK (id = 1),
  epoch BIGINT UNSIGNED NOT NULL,
  node_id VARCHAR(128) NOT NULL DEFAULT '',
  incarnation VARCHAR(64) NOT NULL DEFAULT '',
  cluster_guid VARCHAR(64) NOT NULL DEFAULT '',
  state TINYINT UNSIGNED NOT NULL DEFAULT 0,
  address VARCHAR(255) NOT NULL DEFAULT '',
  acquired_at BIGINT NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
    R"sql(CREATE TABLE IF NOT EXISTS ha_epoch_log (
  epoch BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  prev_epoch BIGINT UNSIGNED NOT NULL,
  node_id VARCHAR(128) NOT NULL,
  incarnation VARCHAR(64) NOT NULL,
  address VARCHAR(255) NOT NULL DEFAULT '',
  reason VARCHAR(32) NOT NULL,
  lock_czxid BIGINT NOT NULL,
  bumped_at BIGINT NOT NULL,
  released_at BIGINT NOT NULL DEFAULT 0,
  detect_ms BIGINT NOT NULL DEFAULT 0,
  lock_ms BIGINT NOT NULL DEFAULT 0,
  bump_ms BIGINT NOT NULL DEFAULT 0,
  load_ms BIGINT NOT NULL DEFAULT 0,
  active_ms BIGINT NOT NULL DEFAULT 0,
  tasks_loaded BIGINT NOT NULL DEFAULT 0,
  attempts_in_doubt BIGINT NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
    R"sql(CREATE TABLE IF NOT EXISTS cluster (
  id TINYINT NOT NULL PRIMARY KEY CHECK (id = 1),
  name VARCHAR(64) NOT NULL,
  guid VARCHAR(64) NOT NULL,
  heartbeat_ms BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
    R"sql(CREATE TABLE IF NOT EXISTS task (
  task_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  phase TINYINT UNSIGNED NOT NULL DEFAULT 0,
  status TINYINT UNSIGNED NOT NULL DEFAULT 0,
  reason TINYINT UNSIGNED NOT NULL DEFAULT 0,
  priority TINYINT UNSIGNED NOT NULL DEFAULT 0,
  cause TINYINT UNSIGNED NOT NULL DEFAULT 0,
  hold TINYINT UNSIGNED NOT NULL DEFAULT 0,
  forced TINYINT UNSIGNED NOT NULL DEFAULT 0,
  ignored TINYINT UNSIGNED NOT NULL DEFAULT 0,
  unproven TINYINT UNSIGNED NOT NULL DEFAULT 0,
  attempt INT NOT NULL DEFAULT 0,
  retries_used INT NOT NULL DEFAULT 0,
  return_code INT NULL,
  signal_no INT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL DEFAULT 0,
  queued_at BIGINT NOT NULL DEFAULT 0,
  not_before BIGINT NOT NULL DEFAULT 0,
  started_at BIGINT NOT NULL DEFAULT 0,
  finished_at BIGINT NOT NULL DEFAULT 0,
  epoch BIGINT UNSIGNED NOT NULL DEFAULT 0,
  batch_id BIGINT UNSIGNED NOT NULL DEFAULT 0,
  runner_id VARCHAR(128) NOT NULL DEFAULT '',
  name VARCHAR(128) NOT NULL DEFAULT '',
  kind VARCHAR(32) NOT NULL DEFAULT '',
  policy TEXT NULL,
  tags TEXT NULL,
  reason_text TEXT NULL,
  outputs MEDIUMTEXT NULL,
  KEY task_phase (phase, task_id),
  KEY task_name (name, task_id),
  KEY task_created (created_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
    R"sql(CREATE TABLE IF NOT EXISTS task_spec (
  task_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  epoch BIGINT UNSIGNED NOT NULL,
  batch_id BIGINT UNSIGNED NOT NULL,
  spec MEDIUMTEXT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
    R"sql(CREATE TABLE IF NOT EXISTS task_tag (
  tag VARCHAR(128) NOT NULL,
  task_id BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (tag, task_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
    R"sql(CREATE TABLE IF NOT EXISTS attempt (
  task_id BIGINT UNSIGNED NOT NULL,
  number INT NOT NULL,
  open_flag TINYINT NULL CHECK (open_flag = 1),
  status TINYINT UNSIGNED NOT NULL,
  reason TINYINT UNSIGNED NOT NULL,
  return_code INT NULL,
  signal_no INT NOT NULL,
  incarnation BIGINT UNSIGNED NOT NULL,
  seq BIGINT UNSIGNED NOT NULL,
  dispatch_epoch BIGINT UNSIGNED NOT NULL,
  dispatched_at BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  finished_at BIGINT NOT NULL,
  stdout_bytes BIGINT NOT NULL,
  stderr_bytes BIGINT NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  batch_id BIGINT UNSIGNED NOT NULL,
  runner_id VARCHAR(128) NOT NULL,
  nonce VARCHAR(64) NOT NULL,
  worker_address VARCHAR(255) NOT NULL,
  reason_text TEXT NULL,
  late_report MEDIUMTEXT NULL,
  PRIMARY KEY (task_id, number),
  UNIQUE KEY attempt_open_task (open_flag, task_id),
  UNIQUE KEY attempt_open_runner (runner_id, open_flag)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
    R"sql(CREATE TABLE IF NOT EXISTS runner (
  runner_id VARCHAR(128) NOT NULL PRIMARY KEY,
  worker_id VARCHAR(128) NOT NULL,
  host VARCHAR(255) NOT NULL,
  boot_id VARCHAR(64) NOT NULL,
  version VARCHAR(64) NOT NULL,
  worker_address VARCHAR(255) NOT NULL,
  journal_id VARCHAR(64) NOT NULL,
  incarnation BIGINT UNSIGNED NOT NULL,
  plain TINYINT UNSIGNED NOT NULL,
  conflict TINYINT UNSIGNED NOT NULL,
  last_seen BIGINT NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  batch_id BIGINT UNSIGNED NOT NULL,
  labels TEXT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
    R"sql(CREATE TABLE IF NOT EXISTS outbox (
  id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  state TINYINT UNSIGNED NOT NULL,
  task_id BIGINT UNSIGNED NOT NULL,
  attempt INT NOT NULL,
  awaited TINYINT UNSIGNED NOT NULL,
  tries INT NOT NULL,
  next_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  batch_id BIGINT UNSIGNED NOT NULL,
  event VARCHAR(32) NOT NULL,
  url TEXT NULL,
  payload MEDIUMTEXT NULL,
  last_error TEXT NULL,
  KEY outbox_state (state, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
    R"sql(CREATE TABLE IF NOT EXISTS idempotency (
  principal VARCHAR(128) NOT NULL,
  key_text VARCHAR(255) NOT NULL,
  request_hash VARCHAR(64) NOT NULL,
  created_at BIGINT NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  batch_id BIGINT UNSIGNED NOT NULL,
  answer MEDIUMTEXT NULL,
  PRIMARY KEY (principal, key_text),
  KEY idempotency_created (created_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
    R"sql(CREATE TABLE IF NOT EXISTS counter (
  name VARCHAR(64) NOT NULL PRIMARY KEY,
  next_id BIGINT UNSIGNED NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  batch_id BIGINT UNSIGNED NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
    R"sql(CREATE TABLE IF NOT EXISTS batch (
  epoch BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  batch_id BIGINT UNSIGNED NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
};

}  // namespace

std::span<const std::string_view> mysqlMigration1() { return kMysqlMigration1; }

}  // namespace baton::dao
