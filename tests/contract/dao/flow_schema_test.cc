// From a database of the first version, with what is in it, to the one with flows.
#include "dao/schema/migrations.h"
#include "tests/contract/dao/flow_samples.h"

namespace baton::dao {
namespace {

// A database as the first version of the program made it, with a cluster, a term and two tasks.
void makeFirstVersion(SqlBackend& backend) {
  const auto session = backend.connect(SessionKind::Schema);
  ASSERT_OK(session);
  const auto run = [&](std::string_view sql) { ASSERT_OK((*session)->execute(sql)); };
  run("CREATE TABLE schema_version (version INTEGER NOT NULL PRIMARY KEY, applied_at BIGINT NOT "
      "NULL)");
  for (const std::string_view statement : backend.migration(1)) run(statement);
  run("INSERT INTO schema_version (version,applied_at) VALUES (1,5)");
  run("INSERT INTO cluster (id,name,guid,heartbeat_ms) VALUES (1,'test','guid-1',30000)");
  run("INSERT INTO ha_epoch (id,epoch,cluster_guid) VALUES (1,0,'guid-1')");
  run("INSERT INTO task (task_id,name,kind,policy,tags,status,epoch,batch_id) VALUES "
      "(7,'old','command','{}','[\"x\"]',0,1,1),(8,'done','command','{}',NULL,0,1,1)");
  run("INSERT INTO task_spec (task_id,epoch,batch_id,spec) VALUES (7,1,1,'{\"a\":1}')");
  run("INSERT INTO counter (name,next_id,epoch,batch_id) VALUES ('task_id',9,1,1)");
}

// What was there is there, and what is new works beside it.
void expectBoth(Database& database, uint64_t epoch) {
  ASSERT_OK(database.checkSchema());
  ASSERT_OK(database.makeEpochStore()->bump(claimOf(epoch, epoch - 1)));
  const auto writer = database.makeWriter();
  auto txn = writer->begin(epoch, 1);
  ASSERT_OK(txn);
  EXPECT_EQ(*(*txn)->reserveIds("task_id", 1), 9u);
  ASSERT_OK(storeRows(**txn, {.flows = {sampleFlow("Nightly")},
                              .runs = {sampleRun(100, "Nightly")},
                              .tasks = {sampleRunTask(9, 100, "new")}}));
  ASSERT_OK((*txn)->commit());
  const auto reader = database.makeReader();
  const auto old = reader->task(7);
  ASSERT_OK(old);
  EXPECT_EQ((*old)->name + (*old)->spec + (*old)->tags.front(), "old{\"a\":1}x");
  EXPECT_EQ((*old)->run_id, 0u);
  const auto tasks = reader->tasks({}, 0, 10);
  ASSERT_OK(tasks);
  ASSERT_EQ(tasks->items.size(), 3u);
  EXPECT_EQ(tasks->items[0].flow, "Nightly");
  EXPECT_EQ(tasks->items[1].name + tasks->items[1].flow, "done");
  int live = 0;
  ASSERT_OK(reader->liveTasks({}, [&](const LiveTask&) { return ++live > 0; }));
  EXPECT_EQ(live, 3);
}

TEST_P(DaoContract, FirstVersionWithTasksIsMigrated) {
  const DatabaseOptions options = emptyDatabase();
  const auto backend = makeBackend(options);
  makeFirstVersion(*backend);
  auto database = openDatabase(options);
  ASSERT_OK(database);
  const Status before = (*database)->checkSchema();
  EXPECT_CODE(before, Conflict);
  const std::string needs = fmt::format("needs {}", kSchemaVersion);
  for (const std::string& word :
       {std::string("version 1"), needs, std::string("baton cluster init")}) {
    EXPECT_NE(before.text().find(word), std::string::npos) << before.text();
  }
  const auto cluster = (*database)->initCluster({.name = "test", .guid = "other"});
  ASSERT_OK(cluster);
  EXPECT_EQ(cluster->guid, "guid-1");
  expectBoth(**database, 1);
  const auto session = backend->connect(SessionKind::Schema);
  std::string versions;
  ASSERT_OK((*session)->query(
      "SELECT version,applied_at FROM schema_version ORDER BY version", {}, [&](SqlRow& row) {
        versions += fmt::format("{}{} ", row.natural(0), row.integer(1) == 5 ? "=" : "");
        return true;
      }));
  std::string expected = "1= ";
  for (uint32_t version = 2; version <= kSchemaVersion; ++version) {
    expected += fmt::format("{} ", version);
  }
  EXPECT_EQ(versions, expected);
}

// Wherever a migration stopped, the next finishes it; MariaDB keeps each statement that was done.
TEST_P(DaoContract, MigrationsThatStoppedAnywhereAreFinished) {
  for (uint32_t version = 2; version <= kSchemaVersion; ++version) {
    const size_t count = backend_->migration(version).size();
    for (const size_t done : std::set<size_t>{1, (count + 1) / 2, count}) {
      const DatabaseOptions options = emptyDatabase();
      const auto backend = makeBackend(options);
      makeFirstVersion(*backend);
      {
        const auto session = backend->connect(SessionKind::Schema);
        ASSERT_OK(session);
        const auto run = [&](std::string_view sql) { ASSERT_OK((*session)->execute(sql)); };
        for (uint32_t before = 2; before < version; ++before) {
          for (const std::string_view statement : backend->migration(before)) run(statement);
          run(fmt::format("INSERT INTO schema_version (version,applied_at) VALUES ({},6)", before));
        }
        for (const std::string_view statement : backend->migration(version).first(done)) {
          run(statement);
        }
      }
      auto database = openDatabase(options);
      ASSERT_OK(database);
      EXPECT_CODE((*database)->checkSchema(), Conflict);
      ASSERT_OK((*database)->migrate());
      expectBoth(**database, 1);
    }
  }
}

// Lists by flow know tasks from before there were marks for that.
TEST_P(DaoContract, TasksOfFlowsFromBeforeAreMarked) {
  const DatabaseOptions options = emptyDatabase();
  const auto backend = makeBackend(options);
  makeFirstVersion(*backend);
  {
    const auto session = backend->connect(SessionKind::Schema);
    ASSERT_OK(session);
    for (const std::string_view statement : backend->migration(2)) {
      ASSERT_OK((*session)->execute(statement));
    }
    for (const std::string_view statement :
         {"INSERT INTO schema_version (version,applied_at) VALUES (2,6)",
          "INSERT INTO run (run_id,flow_key,flow,trigger_key) VALUES (100,'nightly','Nightly','a')",
          "INSERT INTO run (run_id,flow_key,flow,trigger_key) VALUES (101,'other','other','a')",
          "INSERT INTO run_task (run_id,task_id,epoch,batch_id) VALUES (100,7,1,1),(101,8,1,1)"}) {
      ASSERT_OK((*session)->execute(statement));
    }
  }
  auto database = openDatabase(options);
  ASSERT_OK(database);
  ASSERT_OK((*database)->migrate());
  const auto reader = (*database)->makeReader();
  TaskFilter filter;
  filter.flow = "nightly";
  const auto page = reader->tasks(filter, 0, 10);
  ASSERT_OK(page);
  ASSERT_EQ(page->items.size(), 1u);
  EXPECT_EQ(page->items[0].state.id, 7u);
  EXPECT_EQ(page->items[0].tags, (std::vector<std::string>{"x"}));
}

// Both kinds of database have the same tables and columns.
TEST_P(DaoContract, TablesHaveTheColumnsOfBothKinds) {
  const std::vector<std::pair<std::string, std::string>> columns{
      {"flow",
       "flow_key,name,version,online,deleted,online_since,next_at,last_instant,"
       "missed_after,missed_until,fired,"
       "last_success,created_at,updated_at,epoch,batch_id"},
      {"flow_version", "flow_key,version,name,author,created_at,epoch,batch_id,text_body"},
      {"run",
       "run_id,phase,status,reason,priority,late,reruns,started_at,finished_at,due_at,epoch,"
       "batch_id,reason_text,flow_key,flow,version,trigger_kind,trigger_key,compensates,"
       "plan_time,prev_success,created_at,parent_run,parent_task,backfill,principal,params"},
      {"run_task", "run_id,task_id,epoch,batch_id"},
      {"missed", "flow_key,plan_time,flow,reason,recorded_at,run_id,epoch,batch_id"},
      {"event", "id,name,key_text,happened_at,created_at,epoch,batch_id,principal,data"},
      {"backfill",
       "id,flow_key,flow,parallel,stop_on_failure,total,created_at,epoch,batch_id,"
       "principal"},
      {"calendar",
       "calendar_key,name,version,deleted,author,created_at,updated_at,epoch,batch_id,"
       "text_body"},
      {"project_param", "name,version,deleted,author,updated_at,epoch,batch_id,value_text"},
      {"run_project_param", "run_id,epoch,batch_id,params"},
      {"host", "name,word,changed_at,quarantined_until,epoch,batch_id,labels,reason"},
      {"setting", "name,epoch,batch_id,value"}};
  const auto session = rawSession();
  for (const auto& [table, expected] : columns) {
    std::string found;
    const std::string sql =
        isMysql() ? "SELECT column_name FROM information_schema.columns WHERE "
                    "table_schema=DATABASE() AND table_name='" +
                        table + "' ORDER BY ordinal_position"
                  : "SELECT name FROM pragma_table_info('" + table + "') ORDER BY cid";
    ASSERT_OK(session->query(sql, {}, [&](SqlRow& row) {
      found += (found.empty() ? "" : ",") + std::string(row.text(0));
      return true;
    }));
    EXPECT_EQ(found, expected) << table;
  }
}

}  // namespace
}  // namespace baton::dao
