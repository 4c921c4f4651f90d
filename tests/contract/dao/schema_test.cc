// Schema and cluster row: made once, kept, and refused by name where they do not fit.
#include <thread>

#include "dao/schema/migrations.h"
#include "tests/contract/dao/dao_contract.h"

namespace baton::dao {
namespace {

TEST_P(DaoContract, MigratingTwiceIsFree) {
  insert({sampleTask(1)});
  ASSERT_OK(database_->migrate());
  ASSERT_OK(database_->migrate());
  ASSERT_OK(database_->checkSchema());
  EXPECT_TRUE(reader_->task(1)->has_value());
  EXPECT_EQ(rawNumber("SELECT COUNT(*) FROM schema_version"), kSchemaVersion);
}

// Several masters and a `cluster init` may start at once on an empty database.
TEST_P(DaoContract, ConcurrentMigrationsAndInitsAgree) {
  auto database = openDatabase(emptyDatabase());
  ASSERT_OK(database);
  std::vector<Status> results(6);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      results[i] = i % 2 == 0
                       ? (*database)->migrate()
                       : (*database)
                             ->initCluster({.name = "c", .guid = "guid-" + std::to_string(i)})
                             .status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : results) EXPECT_OK(status);
  EXPECT_OK((*database)->checkSchema());
  const auto cluster = (*database)->makeEpochStore()->readCluster();
  ASSERT_OK(cluster);
  EXPECT_EQ((*database)->makeEpochStore()->read()->cluster_guid, cluster->guid);
}

// A migration that stopped half-way is finished by the next.
TEST_P(DaoContract, HalfDoneMigrationIsFinished) {
  raw("DELETE FROM schema_version");
  raw("DROP TABLE outbox");
  EXPECT_CODE(database_->checkSchema(), Conflict);
  ASSERT_OK(database_->migrate());
  EXPECT_OK(database_->checkSchema());
  EXPECT_TRUE(reader_->pendingOutbox(0, 1)->empty());
}

TEST_P(DaoContract, NewerSchemaIsRefusedWithBothVersions) {
  raw("INSERT INTO schema_version (version,applied_at) VALUES (99,0)");
  for (const Status& status :
       {database_->migrate(), database_->checkSchema(),
        database_->initCluster({.name = "test", .guid = "guid-1"}).status()}) {
    EXPECT_CODE(status, Conflict);
    EXPECT_NE(status.text().find("version 99"), std::string::npos) << status.text();
    EXPECT_NE(status.text().find("knows " + std::to_string(kSchemaVersion)), std::string::npos);
  }
}

// A database without schema names the command that makes it.
TEST_P(DaoContract, MissingSchemaNamesTheCommand) {
  const DatabaseOptions options = emptyDatabase();
  auto database = openDatabase(options);
  ASSERT_OK(database);
  if (isMysql()) {
    const Status status = (*database)->checkSchema();
    EXPECT_CODE(status, Conflict);
    EXPECT_NE(status.text().find("cluster init"), std::string::npos) << status.text();
    EXPECT_CODE((*database)->makeEpochStore()->read(), Corrupt);
    EXPECT_CODE((*database)->makeReader()->task(1), Corrupt);
  } else {
    EXPECT_CODE((*database)->checkSchema(), Unavailable);
    EXPECT_FALSE(std::filesystem::exists(options.path));
  }
  ASSERT_OK((*database)->migrate());
  EXPECT_CODE((*database)->makeEpochStore()->readCluster(), NotFound);
  EXPECT_CODE((*database)->makeEpochStore()->read(), Corrupt);
}

// Repeating `cluster init` keeps what is there.
TEST_P(DaoContract, InitRepeatedKeepsTheGuid) {
  const auto again = database_->initCluster({.name = "test", .guid = "guid-2"});
  ASSERT_OK(again);
  EXPECT_EQ(again->guid, "guid-1");
  EXPECT_EQ(again->heartbeat_ms, 30'000);
  EXPECT_EQ(epochs_->read()->epoch, 1u);
  const Status other = database_->initCluster({.name = "other", .guid = "guid-1"}).status();
  EXPECT_CODE(other, Conflict);
  EXPECT_NE(other.text().find("'test'"), std::string::npos) << other.text();
  EXPECT_CODE(database_->initCluster({.name = "", .guid = "g"}), InvalidArgument);
  auto fresh = openDatabase(emptyDatabase());
  ASSERT_OK(fresh);
  EXPECT_EQ((*fresh)->initCluster({.name = "x", .guid = {}})->guid.size(), 36u);
}

// The heartbeat changes only when asked for; then also after a master that was killed, whose epoch
// row says ACTIVE for ever.
TEST_P(DaoContract, HeartbeatChangesOnlyWhenAskedFor) {
  ClusterInit init{.name = "test", .guid = {}, .heartbeat_ms = 5'000};
  EXPECT_EQ(database_->initCluster(init)->heartbeat_ms, 30'000);
  init.set_heartbeat = true;
  ASSERT_OK(epochs_->setState(1, EpochState::Active));
  EXPECT_EQ(database_->initCluster(init)->heartbeat_ms, 5'000);
  EXPECT_EQ(epochs_->readCluster()->heartbeat_ms, 5'000);
}

// A database file is nobody else's business.
TEST_P(DaoContract, SqliteFileIsPrivateAndInWalMode) {
  if (isMysql()) return;
  const auto mode = std::filesystem::status(options_.path).permissions();
  EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::string journal;
  ASSERT_OK(rawSession()->query("PRAGMA journal_mode", {}, [&journal](SqlRow& row) {
    journal = row.text(0);
    return true;
  }));
  EXPECT_EQ(journal, "wal");
  EXPECT_TRUE(database_->durabilityWarnings()->empty());
}

TEST(OpenDatabase, RefusesOptionsThatContradict) {
  DatabaseOptions options;
  EXPECT_CODE(openDatabase(options), InvalidArgument);
  options.kind = DatabaseOptions::Kind::Mysql;
  options.name = "baton";
  options.user = "u";
  EXPECT_CODE(openDatabase(options), InvalidArgument);
  options.host = "h";
  EXPECT_OK(openDatabase(options));
  options.socket = "/s";
  EXPECT_CODE(openDatabase(options), InvalidArgument);
  options.socket.clear();
  options.reader_user = "u";
  EXPECT_CODE(openDatabase(options), InvalidArgument);
  options.reader_user.clear();
  options.name.clear();
  EXPECT_CODE(openDatabase(options), InvalidArgument);
}

}  // namespace
}  // namespace baton::dao
