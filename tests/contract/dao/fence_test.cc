// Whoever was overtaken can't write, whatever the moment.
#include <thread>

#include "tests/contract/dao/dao_contract.h"

namespace baton::dao {
namespace {

// Only the epoch of the row may open a transaction.
TEST_P(DaoContract, OnlyTheRulingEpochBegins) {
  EXPECT_CODE(writer_->begin(0, 1), Fenced);
  EXPECT_CODE(writer_->begin(2, 1), Fenced);
  EXPECT_OK(writer_->begin(1, 1));
  bumpTo(2);
  EXPECT_CODE(writer_->begin(1, 2), Fenced);
  EXPECT_OK(writer_->begin(2, 1));
}

// A transaction that is open at the takeover is either ended by it or makes it wait; it never
// commits after it.
TEST_P(DaoContract, OpenTransactionNeverCommitsAfterTheBump) {
  auto txn = begin();
  ASSERT_OK(txn->insertTasks(std::vector{sampleTask(1)}));
  const Status bumped = epochs_->bump(claimOf(2, 1));
  if (isMysql()) {
    ASSERT_OK(bumped);
    EXPECT_CODE(txn->commit(), Unavailable);
    const auto committed = writer_->wasCommitted(1, batch_);
    ASSERT_OK(committed);
    EXPECT_FALSE(*committed);
    EXPECT_FALSE(reader_->task(1)->has_value());
  } else {
    EXPECT_CODE(bumped, Busy);
    EXPECT_EQ(epochs_->read()->epoch, 1u);
    EXPECT_OK(txn->commit());
    EXPECT_OK(epochs_->bump(claimOf(2, 1)));
  }
  txn.reset();
  EXPECT_CODE(writer_->begin(1, 9), Fenced);
  EXPECT_EQ(epochs_->read()->epoch, 2u);
}

// A row that somebody holds whom the takeover can't end is waited for, but not for long.
TEST_P(DaoContract, BumpGivesUpOnARowThatStaysLocked) {
  DatabaseOptions stranger = options_;
  stranger.user = options_.reader_user;
  stranger.password = options_.reader_password;
  const auto backend = makeBackend(stranger);
  auto holder = backend->connect(SessionKind::Schema);
  ASSERT_OK(holder);
  ASSERT_OK((*holder)->execute(isMysql() ? "START TRANSACTION" : "BEGIN IMMEDIATE"));
  const auto hold = (*holder)->query(
      isMysql() ? "SELECT epoch FROM ha_epoch LOCK IN SHARE MODE" : "SELECT epoch FROM ha_epoch",
      {}, [](SqlRow&) { return true; });
  ASSERT_OK(hold);
  const BootTime start = SystemClock().bootNow();
  EXPECT_CODE(epochs_->bump(claimOf(2, 1)), Busy);
  EXPECT_LT(SystemClock().bootNow() - start, Millis(3'000));
  ASSERT_OK((*holder)->execute("ROLLBACK"));
  EXPECT_OK(epochs_->bump(claimOf(2, 1)));
}

// Under full load: what the old epoch has committed when the bump returns is all there ever is.
TEST_P(DaoContract, NothingOfTheOldEpochAppearsAfterTheBump) {
  TaskId next_id = 0;
  for (uint64_t epoch = 1; epoch <= 6; ++epoch) {
    std::atomic<int> commits{0};
    std::atomic<bool> is_bumped{false};
    int after_bump = 0;  // Ends the loop of a master that nobody stops.
    Status last;
    std::thread old_master([&] {
      for (uint64_t batch = 1; last.ok() && after_bump < 50; ++batch) {
        if (is_bumped) ++after_bump;
        auto txn = writer_->begin(epoch, batch);
        last = txn.status();
        if (last.ok()) last = (*txn)->insertTasks(std::vector{sampleTask(++next_id)});
        if (last.ok()) last = (*txn)->commit();
        if (last.ok()) ++commits;
        // A takeover that was refused by a busy row is repeated by its caller.
        if (!last.ok() && last.error().code() == ErrorCode::Busy) last = {};
      }
    });
    while (commits < 3) std::this_thread::yield();
    Status bumped;
    do {
      bumped = epochs_->bump(claimOf(epoch + 1, epoch));
    } while (!bumped.ok() && bumped.error().code() == ErrorCode::Busy);
    EXPECT_OK(bumped);
    is_bumped = true;
    const std::string count = "SELECT COUNT(*) FROM task WHERE epoch=" + std::to_string(epoch);
    const int64_t at_bump = rawNumber(count);
    old_master.join();
    ASSERT_FALSE(last.ok()) << "the old master was not stopped";
    EXPECT_TRUE(last.error().code() == ErrorCode::Fenced ||
                last.error().code() == ErrorCode::Unavailable)
        << last.text();
    EXPECT_CODE(writer_->begin(epoch, 1'000'000), Fenced);
    EXPECT_EQ(rawNumber(count), at_bump);
  }
}

// A bump must rise; one that does not changes nothing.
TEST_P(DaoContract, BumpToALowerOrEqualEpochIsFenced) {
  bumpTo(5);
  EXPECT_CODE(epochs_->bump(claimOf(5, 4)), Fenced);
  EXPECT_CODE(epochs_->bump(claimOf(4, 3)), Fenced);
  const auto row = epochs_->read();
  ASSERT_OK(row);
  EXPECT_EQ(row->epoch, 5u);
  EXPECT_EQ(row->node_id, "node-5");
  EXPECT_EQ(epochs_->history(10)->size(), 2u);
}

// Of several that bump to one epoch at the same time exactly one wins. Each ends the connections
// of the others, who then try again as the election does; one whose answers were all lost learns
// from the row that it won.
TEST_P(DaoContract, ConcurrentBumpsHaveOneWinner) {
  constexpr int kNodes = 4;
  std::vector<Status> results(kNodes);
  std::vector<std::thread> threads;
  for (int node = 0; node < kNodes; ++node) {
    threads.emplace_back([&, node] {
      EpochClaim claim = claimOf(2, 1);
      claim.node_id = "racer-" + std::to_string(node);
      claim.incarnation = claim.node_id;
      const auto store = database_->makeEpochStore();
      Status& result = results[static_cast<size_t>(node)];
      do {
        result = store->bump(claim);
      } while (!result.ok() && result.error().code() != ErrorCode::Fenced);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string winner = database_->makeEpochStore()->read()->node_id;
  EXPECT_TRUE(winner.starts_with("racer-")) << winner;
  for (int node = 0; node < kNodes; ++node) {
    const bool won = results[static_cast<size_t>(node)].ok();
    EXPECT_TRUE(!won || winner == "racer-" + std::to_string(node)) << node << " and " << winner;
  }
  EXPECT_EQ(database_->makeEpochStore()->history(10)->size(), 2u);
}

// The row tells who owns it, and the cluster that it belongs to.
TEST_P(DaoContract, EpochRowTellsItsOwner) {
  const auto row = epochs_->read();
  ASSERT_OK(row);
  EXPECT_EQ(row->epoch, 1u);
  EXPECT_EQ(row->node_id, "node-1");
  EXPECT_EQ(row->incarnation, "incarnation-1");
  EXPECT_EQ(row->cluster_guid, "guid-1");
  EXPECT_EQ(row->state, EpochState::Recovering);
  EXPECT_EQ(row->address, "127.0.0.1:1");
  const Micros age = SystemClock().wallNow() - row->acquired_at;
  EXPECT_LT(std::abs(age.count()), 60'000'000);
}

// Reaffirming proves that nobody was active in between.
TEST_P(DaoContract, ReaffirmTakesOnlyTheExactEpoch) {
  EXPECT_CODE(epochs_->reaffirm(claimOf(5, 3)), Fenced);
  EXPECT_OK(epochs_->reaffirm(claimOf(5, 1)));
  EXPECT_EQ(epochs_->read()->epoch, 5u);
  EXPECT_CODE(epochs_->reaffirm(claimOf(6, 1)), Fenced);
  EXPECT_EQ(epochs_->history(1)->front().prev_epoch, 1u);
}

// The state belongs to the epoch that stores it, and a release closes its line of history.
TEST_P(DaoContract, StateIsStoredByTheRulingEpochAlone) {
  EXPECT_OK(epochs_->setState(1, EpochState::Active));
  EXPECT_OK(epochs_->setState(1, EpochState::Active));
  EXPECT_EQ(epochs_->read()->state, EpochState::Active);
  EXPECT_CODE(epochs_->setState(2, EpochState::Released), Fenced);
  EXPECT_EQ(epochs_->history(1)->front().released_at, WallTime{});
  EXPECT_OK(epochs_->setState(1, EpochState::Released));
  EXPECT_NE(epochs_->history(1)->front().released_at, WallTime{});
}

// Each takeover leaves a line with its phases, newest first.
TEST_P(DaoContract, HistoryKeepsThePhasesOfTakeovers) {
  bumpTo(2);
  EpochLogRow phases;
  phases.epoch = 2;
  phases.detect_ms = 1;
  phases.lock_ms = 2;
  phases.bump_ms = 3;
  phases.load_ms = 4;
  phases.active_ms = 5;
  phases.tasks_loaded = 100'000;
  phases.attempts_in_doubt = 7;
  EXPECT_OK(epochs_->recordTakeover(phases));
  EXPECT_OK(epochs_->recordTakeover(phases));
  phases.epoch = 9;
  EXPECT_CODE(epochs_->recordTakeover(phases), NotFound);
  const auto history = epochs_->history(10);
  ASSERT_OK(history);
  ASSERT_EQ(history->size(), 2u);
  const EpochLogRow& newest = history->front();
  EXPECT_EQ(newest.epoch, 2u);
  EXPECT_EQ(newest.prev_epoch, 1u);
  EXPECT_EQ(newest.node_id, "node-2");
  EXPECT_EQ(newest.incarnation, "incarnation-2");
  EXPECT_EQ(newest.reason, "first");
  EXPECT_EQ(newest.detect_ms + newest.lock_ms + newest.bump_ms + newest.load_ms + newest.active_ms,
            15);
  EXPECT_EQ(newest.tasks_loaded, 100'000);
  EXPECT_EQ(newest.attempts_in_doubt, 7);
  EXPECT_EQ(epochs_->history(1)->size(), 1u);
}

// The batch number tells what is in the database, also across batches and epochs.
TEST_P(DaoContract, WasCommittedKnowsTheNewestBatch) {
  EXPECT_FALSE(*writer_->wasCommitted(1, 1));
  insert({sampleTask(1)});
  insert({sampleTask(2)});
  EXPECT_TRUE(*writer_->wasCommitted(1, 1));
  EXPECT_TRUE(*writer_->wasCommitted(1, 2));
  EXPECT_FALSE(*writer_->wasCommitted(1, 3));
  begin().reset();
  EXPECT_FALSE(*writer_->wasCommitted(1, 3));
  bumpTo(2);
  EXPECT_TRUE(*writer_->wasCommitted(1, 2));
  EXPECT_FALSE(*writer_->wasCommitted(2, 1));
}

// A row or a file that somebody else has locked costs about a second and loses nothing.
TEST_P(DaoContract, ForeignLockIsBusyWithinASecond) {
  insert({sampleTask(1)});
  const auto other = rawSession();
  ASSERT_OK(other->execute(backend_->beginWrite()));
  ASSERT_OK(
      other->query("SELECT task_id FROM task WHERE task_id=1" + std::string(backend_->writeLock()),
                   {}, [](SqlRow&) { return true; }));
  const BootTime start = SystemClock().bootNow();
  TaskState state = sampleTask(1).state;
  state.hold = true;
  const auto store = [&]() -> Status {
    auto txn = writer_->begin(1, 2);
    RETURN_IF_ERROR(txn.status());
    RETURN_IF_ERROR((*txn)->storeTaskStates(std::vector{state}));
    return (*txn)->commit();
  };
  EXPECT_CODE(store(), Busy);
  const Micros waited = SystemClock().bootNow() - start;
  EXPECT_GT(waited, Millis(500));
  EXPECT_LT(waited, Millis(3'000));
  ASSERT_OK(other->execute("ROLLBACK"));
  EXPECT_OK(store());
  EXPECT_TRUE((*reader_->task(1))->state.hold);
}

}  // namespace
}  // namespace baton::dao
