#include <array>

#include "dao/schema/migrations.h"

// Flows, their runs, and events. flow_key is the name in small letters. run.phase is to runs what
// task.phase is to tasks. run_once makes a second run of the same instant impossible, whoever asks.
// Which run a task belongs to stands in a table of its own: tasks without a flow pay nothing for
// it. An event's key is any text of others, where trailing blanks count: as bytes they do.
namespace baton::dao {
namespace {

constexpr std::array<std::string_view, 7> kMysqlMigration2{
    R"sql(CREATE TABLE IF NOT EXISTS flow (
  flow_key VARCHAR(128) NOT NULL PRIMARY KEY,
  name VARCHAR(128) NOT NULL,
  version INT UNSIGNED NOT NULL,
  online TINYINT UNSIGNED NOT NULL,
  deleted TINYINT UNSIGNED NOT NULL,
  online_since BIGINT NOT NULL,
  next_at BIGINT NOT NULL,
  last_instant BIGINT NOT NULL,
  missed_after BIGINT NOT NULL,
  missed_until BIGINT NOT NULL,
  fired BIGINT NOT NULL,
  last_success BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  batch_id BIGINT UNSIGNED NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
    R"sql(CREATE TABLE IF NOT EXISTS flow_version (
  flow_key VARCHAR(128) NOT NULL,
  version INT UNSIGNED NOT NULL,
  name VARCHAR(128) NOT NULL,
  author VARCHAR(128) NOT NULL,
  created_at BIGINT NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  batch_id BIGINT UNSIGNED NOT NULL,
  text_body MEDIUMTEXT NULL,
  PRIMARY KEY (flow_key, version)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
    R"sql(CREATE TABLE IF NOT EXISTS run (
  run_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  phase TINYINT UNSIGNED NOT NULL DEFAULT 0,
  status TINYINT UNSIGNED NOT NULL DEFAULT 0,
  reason TINYINT UNSIGNED NOT NULL DEFAULT 0,
  priority TINYINT UNSIGNED NOT NULL DEFAULT 0,
  late TINYINT UNSIGNED NOT NULL DEFAULT 0,
  reruns INT NOT NULL DEFAULT 0,
  started_at BIGINT NOT NULL DEFAULT 0,
  finished_at BIGINT NOT NULL DEFAULT 0,
  due_at BIGINT NOT NULL DEFAULT 0,
  epoch BIGINT UNSIGNED NOT NULL DEFAULT 0,
  batch_id BIGINT UNSIGNED NOT NULL DEFAULT 0,
  reason_text TEXT NULL,
  flow_key VARCHAR(128) NOT NULL DEFAULT '',
  flow VARCHAR(128) NOT NULL DEFAULT '',
  version INT UNSIGNED NOT NULL DEFAULT 0,
  trigger_kind TINYINT UNSIGNED NOT NULL DEFAULT 0,
  trigger_key VARCHAR(255) NOT NULL DEFAULT '',
  compensates TINYINT UNSIGNED NOT NULL DEFAULT 0,
  plan_time BIGINT NOT NULL DEFAULT 0,
  prev_success BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL DEFAULT 0,
  parent_run BIGINT UNSIGNED NOT NULL DEFAULT 0,
  parent_task BIGINT UNSIGNED NOT NULL DEFAULT 0,
  backfill BIGINT UNSIGNED NOT NULL DEFAULT 0,
  principal VARCHAR(128) NOT NULL DEFAULT '',
  params MEDIUMTEXT NULL,
  UNIQUE KEY run_once (flow_key, trigger_kind, trigger_key),
  KEY run_phase (phase, run_id),
  KEY run_flow (flow_key, run_id),
  KEY run_plan (flow_key, plan_time, run_id),
  KEY run_parent (parent_run),
  KEY run_backfill (backfill, run_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
    R"sql(CREATE TABLE IF NOT EXISTS run_task (
  run_id BIGINT UNSIGNED NOT NULL,
  task_id BIGINT UNSIGNED NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  batch_id BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (run_id, task_id),
  UNIQUE KEY run_task_task (task_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
    R"sql(CREATE TABLE IF NOT EXISTS missed (
  flow_key VARCHAR(128) NOT NULL,
  plan_time BIGINT NOT NULL,
  flow VARCHAR(128) NOT NULL,
  reason VARCHAR(32) NOT NULL,
  recorded_at BIGINT NOT NULL,
  run_id BIGINT UNSIGNED NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  batch_id BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (flow_key, plan_time),
  KEY missed_plan (plan_time, flow_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
    R"sql(CREATE TABLE IF NOT EXISTS event (
  id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  name VARCHAR(128) NOT NULL,
  key_text VARBINARY(512) NOT NULL,
  happened_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  batch_id BIGINT UNSIGNED NOT NULL,
  principal VARCHAR(128) NOT NULL,
  data MEDIUMTEXT NULL,
  UNIQUE KEY event_once (name, key_text),
  KEY event_name (name, id),
  KEY event_time (name, happened_at, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
    R"sql(CREATE TABLE IF NOT EXISTS backfill (
  id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  flow_key VARCHAR(128) NOT NULL,
  flow VARCHAR(128) NOT NULL,
  parallel INT NOT NULL,
  stop_on_failure TINYINT UNSIGNED NOT NULL,
  total INT NOT NULL,
  created_at BIGINT NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  batch_id BIGINT UNSIGNED NOT NULL,
  principal VARCHAR(128) NOT NULL,
  KEY backfill_flow (flow_key, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin)sql",
};

}  // namespace

std::span<const std::string_view> mysqlMigration2() { return kMysqlMigration2; }

}  // namespace baton::dao
