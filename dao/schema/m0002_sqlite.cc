#include <array>

#include "dao/schema/migrations.h"

// The tables of m0002_mysql.cc, in SQLite's words.
namespace baton::dao {
namespace {

constexpr std::array<std::string_view, 17> kSqliteMigration2{
    R"sql(CREATE TABLE IF NOT EXISTS flow (
  flow_key TEXT NOT NULL PRIMARY KEY CHECK (length(flow_key) <= 128),
  name TEXT NOT NULL CHECK (length(name) <= 128),
  version INTEGER NOT NULL,
  online INTEGER NOT NULL,
  deleted INTEGER NOT NULL,
  online_since INTEGER NOT NULL,
  next_at INTEGER NOT NULL,
  last_instant INTEGER NOT NULL,
  missed_after INTEGER NOT NULL,
  missed_until INTEGER NOT NULL,
  fired INTEGER NOT NULL,
  last_success INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  batch_id INTEGER NOT NULL
) STRICT)sql",
    R"sql(CREATE TABLE IF NOT EXISTS flow_version (
  flow_key TEXT NOT NULL CHECK (length(flow_key) <= 128),
  version INTEGER NOT NULL,
  name TEXT NOT NULL CHECK (length(name) <= 128),
  author TEXT NOT NULL CHECK (length(author) <= 128),
  created_at INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  batch_id INTEGER NOT NULL,
  text_body TEXT,
  PRIMARY KEY (flow_key, version)
) STRICT)sql",
    R"sql(CREATE TABLE IF NOT EXISTS run (
  run_id INTEGER NOT NULL PRIMARY KEY,
  phase INTEGER NOT NULL DEFAULT 0,
  status INTEGER NOT NULL DEFAULT 0,
  reason INTEGER NOT NULL DEFAULT 0,
  priority INTEGER NOT NULL DEFAULT 0,
  late INTEGER NOT NULL DEFAULT 0,
  reruns INTEGER NOT NULL DEFAULT 0,
  started_at INTEGER NOT NULL DEFAULT 0,
  finished_at INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL DEFAULT 0,
  epoch INTEGER NOT NULL DEFAULT 0,
  batch_id INTEGER NOT NULL DEFAULT 0,
  reason_text TEXT,
  flow_key TEXT NOT NULL DEFAULT '' CHECK (length(flow_key) <= 128),
  flow TEXT NOT NULL DEFAULT '' CHECK (length(flow) <= 128),
  version INTEGER NOT NULL DEFAULT 0,
  trigger_kind INTEGER NOT NULL DEFAULT 0,
  trigger_key TEXT NOT NULL DEFAULT '' CHECK (length(trigger_key) <= 255),
  compensates INTEGER NOT NULL DEFAULT 0,
  plan_time INTEGER NOT NULL DEFAULT 0,
  prev_success INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL DEFAULT 0,
  parent_run INTEGER NOT NULL DEFAULT 0,
  parent_task INTEGER NOT NULL DEFAULT 0,
  backfill INTEGER NOT NULL DEFAULT 0,
  principal TEXT NOT NULL DEFAULT '' CHECK (length(principal) <= 128),
  params TEXT
) STRICT)sql",
    "CREATE UNIQUE INDEX IF NOT EXISTS run_once ON run (flow_key, trigger_kind, trigger_key)",
    "CREATE INDEX IF NOT EXISTS run_phase ON run (phase, run_id)",
    "CREATE INDEX IF NOT EXISTS run_flow ON run (flow_key, run_id)",
    "CREATE INDEX IF NOT EXISTS run_plan ON run (flow_key, plan_time, run_id)",
    "CREATE INDEX IF NOT EXISTS run_parent ON run (parent_run)",
    "CREATE INDEX IF NOT EXISTS run_backfill ON run (backfill, run_id)",
    R"sql(CREATE TABLE IF NOT EXISTS run_task (
  run_id INTEGER NOT NULL,
  task_id INTEGER NOT NULL UNIQUE,
  epoch INTEGER NOT NULL,
  batch_id INTEGER NOT NULL,
  PRIMARY KEY (run_id, task_id)
) STRICT)sql",
    R"sql(CREATE TABLE IF NOT EXISTS missed (
  flow_key TEXT NOT NULL CHECK (length(flow_key) <= 128),
  plan_time INTEGER NOT NULL,
  flow TEXT NOT NULL CHECK (length(flow) <= 128),
  reason TEXT NOT NULL CHECK (length(reason) <= 32),
  recorded_at INTEGER NOT NULL,
  run_id INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  batch_id INTEGER NOT NULL,
  PRIMARY KEY (flow_key, plan_time)
) STRICT)sql",
    "CREATE INDEX IF NOT EXISTS missed_plan ON missed (plan_time, flow_key)",
    R"sql(CREATE TABLE IF NOT EXISTS event (
  id INTEGER NOT NULL PRIMARY KEY,
  name TEXT NOT NULL CHECK (length(name) <= 128),
  key_text TEXT NOT NULL CHECK (length(key_text) <= 128),
  happened_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  batch_id INTEGER NOT NULL,
  principal TEXT NOT NULL CHECK (length(principal) <= 128),
  data TEXT,
  UNIQUE (name, key_text)
) STRICT)sql",
    "CREATE INDEX IF NOT EXISTS event_name ON event (name, id)",
    "CREATE INDEX IF NOT EXISTS event_time ON event (name, happened_at, id)",
    R"sql(CREATE TABLE IF NOT EXISTS backfill (
  id INTEGER NOT NULL PRIMARY KEY,
  flow_key TEXT NOT NULL CHECK (length(flow_key) <= 128),
  flow TEXT NOT NULL CHECK (length(flow) <= 128),
  parallel INTEGER NOT NULL,
  stop_on_failure INTEGER NOT NULL,
  total INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  batch_id INTEGER NOT NULL,
  principal TEXT NOT NULL CHECK (length(principal) <= 128)
) STRICT)sql",
    "CREATE INDEX IF NOT EXISTS backfill_flow ON backfill (flow_key, id)",
};

}  // namespace

std::span<const std::string_view> sqliteMigration2() { return kSqliteMigration2; }

}  // namespace baton::dao
