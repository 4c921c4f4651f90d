// Lost connections to a real server: every outcome is told, and told right.
#include <signal.h>

#include <future>
#include <thread>

#include "tests/contract/dao/cutting_proxy.h"
#include "tests/contract/dao/dao_contract.h"

namespace baton::dao {
namespace {

class DaoLink : public DaoContract {
 protected:
  void killAll() { EXPECT_OK(backend_->endOtherWriters(*rawSession())); }
  // Polls a number until it is as wanted; the time limit is for a broken test only.
  void waitFor(const std::string& sql, int64_t wanted) {
    const BootTime start = SystemClock().bootNow();
    while (rawNumber(sql) != wanted && SystemClock().bootNow() - start < Seconds(10)) {
      std::this_thread::yield();
    }
  }
  std::unique_ptr<Database> through(const CuttingProxy& proxy) {
    DatabaseOptions options = options_;
    options.port = proxy.port();
    return openDatabase(options).value();
  }
};

// The trap of Connection::commit(): a commit on a dead link must not look like a success.
TEST_P(DaoLink, KillRightBeforeCommitIsReported) {
  auto txn = begin();
  ASSERT_OK(txn->insertTasks(std::vector{sampleTask(1)}));
  killAll();
  EXPECT_CODE(txn->commit(), Unavailable);
  EXPECT_CODE(txn->commit(), Unavailable);
  txn.reset();
  const auto committed = writer_->wasCommitted(1, batch_);
  ASSERT_OK(committed);
  EXPECT_FALSE(*committed);
  EXPECT_FALSE(reader_->task(1)->has_value());
}

// A link that dies in the middle costs the transaction, and the next one has a new connection.
TEST_P(DaoLink, KillInMidTransactionLosesOnlyIt) {
  auto txn = begin();
  ASSERT_OK(txn->insertTasks(std::vector{sampleTask(1)}));
  killAll();
  EXPECT_CODE(txn->insertTasks(std::vector{sampleTask(2)}), Unavailable);
  EXPECT_CODE(txn->reserveIds("task_id", 1), Unavailable);
  txn.reset();
  insert({sampleTask(1)});
  EXPECT_FALSE(reader_->task(2)->has_value());
}

// An idle connection that died is replaced unseen.
TEST_P(DaoLink, IdleConnectionsAreReplacedUnseen) {
  insert({sampleTask(1)});
  EXPECT_OK(reader_->task(1));
  EXPECT_OK(epochs_->read());
  killAll();
  ASSERT_OK(sharedServer().admin("KILL USER baton_ro"));
  insert({sampleTask(2)});
  EXPECT_TRUE(reader_->task(2)->has_value());
  EXPECT_OK(reader_->liveTasks({}, [](const LiveTask&) { return true; }));
  EXPECT_OK(epochs_->read());
  EXPECT_OK(epochs_->setState(1, EpochState::Active));
}

// The server committed and the answer was lost: the batch is found.
TEST_P(DaoLink, LostReplyOfACommitIsFoundCommitted) {
  CuttingProxy proxy(options_.port);
  const auto writer = through(proxy)->makeWriter();
  auto txn = writer->begin(1, 1);
  ASSERT_OK(txn);
  ASSERT_OK((*txn)->insertTasks(std::vector{sampleTask(1)}));
  proxy.cutNextCommit(CuttingProxy::Cut::LoseReply);
  EXPECT_CODE((*txn)->commit(), Unavailable);
  EXPECT_TRUE(proxy.hasCut());
  txn->reset();
  const auto committed = writer->wasCommitted(1, 1);
  ASSERT_OK(committed);
  EXPECT_TRUE(*committed);
  EXPECT_TRUE(reader_->task(1)->has_value());
}

// The commit never arrived and the server still holds the transaction: it is ended, so that it can
// never commit later, and the batch can be repeated at once.
TEST_P(DaoLink, LostRequestOfACommitIsFoundMissingAndRepeated) {
  CuttingProxy proxy(options_.port);
  const auto writer = through(proxy)->makeWriter();
  auto txn = writer->begin(1, 1);
  ASSERT_OK(txn);
  ASSERT_OK((*txn)->insertTasks(std::vector{sampleTask(1)}));
  proxy.cutNextCommit(CuttingProxy::Cut::LoseRequest);
  EXPECT_CODE((*txn)->commit(), Unavailable);
  EXPECT_TRUE(proxy.hasCut());
  txn->reset();
  const BootTime start = SystemClock().bootNow();
  const auto committed = writer->wasCommitted(1, 1);
  ASSERT_OK(committed);
  EXPECT_FALSE(*committed);
  EXPECT_LT(SystemClock().bootNow() - start, Millis(3'000));
  auto again = writer->begin(1, 1);
  ASSERT_OK(again);
  ASSERT_OK((*again)->insertTasks(std::vector{sampleTask(1)}));
  ASSERT_OK((*again)->commit());
  EXPECT_TRUE(*writer->wasCommitted(1, 1));
}

// A takeover whose commit was answered into the void knows that it won.
TEST_P(DaoLink, BumpWithLostReplyKnowsThatItWon) {
  CuttingProxy proxy(options_.port);
  const auto store = through(proxy)->makeEpochStore();
  ASSERT_OK(store->read());
  proxy.cutNextCommit(CuttingProxy::Cut::LoseReply);
  EXPECT_OK(store->bump(claimOf(2, 1)));
  EXPECT_TRUE(proxy.hasCut());
  EXPECT_EQ(epochs_->read()->epoch, 2u);
}

// And one whose commit never arrived does not believe so, and can repeat it.
TEST_P(DaoLink, BumpWithLostRequestIsNotBelieved) {
  CuttingProxy proxy(options_.port);
  const auto store = through(proxy)->makeEpochStore();
  ASSERT_OK(store->read());
  proxy.cutNextCommit(CuttingProxy::Cut::LoseRequest);
  const Status lost = store->bump(claimOf(2, 1));
  EXPECT_FALSE(lost.ok());
  EXPECT_TRUE(proxy.hasCut());
  EXPECT_OK(store->bump(claimOf(2, 1)));
  EXPECT_EQ(epochs_->read()->epoch, 2u);
}

// A crash of the server loses what was not committed and nothing else.
TEST_P(DaoLink, ServerCrashKeepsWhatWasCommitted) {
  insert({sampleTask(1)});
  auto txn = begin();
  ASSERT_OK(txn->insertTasks(std::vector{sampleTask(2)}));
  ASSERT_OK(sharedServer().kill());
  EXPECT_CODE(txn->commit(), Unavailable);
  txn.reset();
  EXPECT_CODE(writer_->begin(1, 9), Unavailable);
  EXPECT_CODE(writer_->wasCommitted(1, batch_), Unavailable);
  EXPECT_CODE(reader_->task(1), Unavailable);
  EXPECT_CODE(epochs_->read(), Unavailable);
  ASSERT_OK(sharedServer().restart());
  EXPECT_FALSE(*writer_->wasCommitted(1, batch_));
  EXPECT_TRUE(*writer_->wasCommitted(1, batch_ - 1));
  EXPECT_TRUE(reader_->task(1)->has_value());
  EXPECT_FALSE(reader_->task(2)->has_value());
  EXPECT_OK(epochs_->read());
  insert({sampleTask(2)});
}

// A server that hangs is as good as gone after the time limit.
TEST_P(DaoLink, HangingServerIsUnavailableWithinTheTimeLimit) {
  DatabaseOptions options = options_;
  options.io_timeout = Millis(1'000);
  const auto writer = openDatabase(options).value()->makeWriter();
  auto txn = writer->begin(1, 1);
  ASSERT_OK(txn);
  const int pid = sharedServer().pid();
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  const BootTime start = SystemClock().bootNow();
  EXPECT_CODE((*txn)->insertTasks(std::vector{sampleTask(1)}), Unavailable);
  EXPECT_CODE((*txn)->commit(), Unavailable);
  const Micros waited = SystemClock().bootNow() - start;
  ASSERT_EQ(::kill(pid, SIGCONT), 0);
  EXPECT_LT(waited, Millis(3'000));
  txn->reset();
  EXPECT_FALSE(*writer->wasCommitted(1, 1));
}

// interrupt() ends a call that waits for a lock, sooner than the lock's own limit.
TEST_P(DaoLink, InterruptEndsABlockedCall) {
  insert({sampleTask(1)});
  const auto other = rawSession();
  ASSERT_OK(other->execute("START TRANSACTION"));
  ASSERT_OK(other->execute("UPDATE task SET hold=1 WHERE task_id=1"));
  Status ended;
  // On a machine under load the lock's own second may be over first: then once more.
  for (int round = 0; round < 5 && (ended.ok() || ended.error().code() == ErrorCode::Busy);
       ++round) {
    auto txn = begin();
    std::future<Status> blocked = std::async(
        std::launch::async, [&] { return txn->storeTaskStates(std::vector{sampleTask(1).state}); });
    waitFor(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE user='baton_rw' AND "
        "info LIKE 'INSERT INTO task%'",
        1);
    writer_->interrupt();
    ended = blocked.get();
  }
  EXPECT_CODE(ended, Unavailable);
  ASSERT_OK(other->execute("ROLLBACK"));
  insert({sampleTask(2)});
}

// A read-only server is told from a broken one, and reading goes on: a standby needs no writes.
TEST_P(DaoLink, ReadOnlyServerIsStorageFull) {
  insert({sampleTask(1)});
  ASSERT_OK(sharedServer().admin("SET GLOBAL read_only=1"));
  EXPECT_CODE(writer_->begin(1, 50), StorageFull);
  EXPECT_CODE(epochs_->bump(claimOf(2, 1)), StorageFull);
  EXPECT_OK(epochs_->read());
  EXPECT_OK(epochs_->readCluster());
  EXPECT_OK(epochs_->history(5));
  EXPECT_OK(reader_->task(1));
  EXPECT_OK(database_->checkSchema());
  ASSERT_OK(sharedServer().admin("SET GLOBAL read_only=0"));
  insert({sampleTask(2)});
}

// A row above max_allowed_packet is refused by name, and the connection stays sound; a batch above
// it is cut.
TEST_P(DaoLink, LargeRowsAreCutOrRefusedByName) {
  ASSERT_OK(sharedServer().admin("SET GLOBAL max_allowed_packet=1048576"));
  std::vector<TaskRecord> tasks;
  for (TaskId id = 1; id <= 8; ++id) {
    tasks.push_back(sampleTask(id));
    tasks.back().spec = std::string(400'000, 'x');
  }
  insert(tasks);
  TaskRecord big = sampleTask(9);
  big.spec = std::string(2'000'000, 'x');
  auto txn = begin();
  const Status refused = txn->insertTasks(std::vector{big});
  EXPECT_CODE(refused, Corrupt);
  EXPECT_NE(refused.text().find("task 9"), std::string::npos) << refused.text();
  txn.reset();
  insert({sampleTask(10)});
  EXPECT_EQ((*reader_->task(8))->spec, tasks[7].spec);
  ASSERT_OK(sharedServer().admin("SET GLOBAL max_allowed_packet=16777216"));
}

// Settings that could lose an accepted task are named.
TEST_P(DaoLink, WeakDurabilityIsWarnedOf) {
  EXPECT_TRUE(database_->durabilityWarnings()->empty());
  ASSERT_OK(sharedServer().admin("SET GLOBAL innodb_flush_log_at_trx_commit=2"));
  const auto warnings = database_->durabilityWarnings();
  ASSERT_OK(sharedServer().admin("SET GLOBAL innodb_flush_log_at_trx_commit=1"));
  ASSERT_OK(warnings);
  ASSERT_EQ(warnings->size(), 1u);
  EXPECT_NE(warnings->front().find("innodb_flush_log_at_trx_commit is 2"), std::string::npos);
}

// Bad logins say who could not get in where, and never the password.
TEST_P(DaoLink, WrongLoginIsToldWithoutThePassword) {
  DatabaseOptions options = options_;
  options.password = "not-the-right-one";
  const Status denied = openDatabase(options).value()->makeWriter()->begin(1, 1).status();
  EXPECT_CODE(denied, PermissionDenied);
  EXPECT_NE(denied.text().find("baton_rw"), std::string::npos) << denied.text();
  EXPECT_EQ(denied.text().find(options.password), std::string::npos) << denied.text();
  options = options_;
  options.reader_password = "neither";
  EXPECT_CODE(openDatabase(options).value()->makeReader()->task(1), PermissionDenied);
  options = options_;
  options.port = 1;
  EXPECT_CODE(openDatabase(options).value()->makeWriter()->begin(1, 1), Unavailable);
  options = options_;
  options.tls_ca = "/nonexistent/ca.pem";
  EXPECT_FALSE(openDatabase(options).value()->makeWriter()->begin(1, 1).ok());
}

// A socket works as well as TCP.
TEST_P(DaoLink, SocketConnects) {
  DatabaseOptions options = options_;
  options.host.clear();
  options.socket = sharedServer().socketPath();
  EXPECT_OK(openDatabase(options).value()->makeReader()->taskCounts());
}

INSTANTIATE_TEST_SUITE_P(Mysql, DaoLink, testing::Values(DatabaseOptions::Kind::Mysql));

}  // namespace
}  // namespace baton::dao
