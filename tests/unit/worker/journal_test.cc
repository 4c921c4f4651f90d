#include "worker/journal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/fake_clock.h"
#include "worker/journal_file.h"

namespace baton::worker {
namespace {

class JournalTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/baton-journal-XXXXXX";
    dir_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::unique_ptr<Journal> open(size_t compact_bytes = 4 * 1024 * 1024) {
    auto journal = Journal::open({.dir = dir_, .compact_bytes = compact_bytes}, clock_);
    EXPECT_TRUE(journal.ok()) << journal.status().text();
    return journal.ok() ? std::move(*journal) : nullptr;
  }
  std::string file() const { return dir_ + "/" + Journal::kFileName; }
  std::string bytes() const {
    std::ifstream in(file(), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void write(const std::string& content) const {
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << content;
  }
  static Order order(TaskId task) {
    return {.key = {.task_id = task, .attempt = 2, .nonce = "n"},
            .run_part = R"({"command":["true"],"kind":"command"})",
            .timeout = Millis(5'000),
            .kill_grace = Millis(700)};
  }
  static KeptResult result(TaskId task) {
    KeptResult kept;
    kept.key = order(task).key;
    kept.result.return_code = 3;
    kept.result.reason = FailureReason::ExitCode;
    kept.result.outputs = {{"k", "v\n\"x\""}};
    kept.ended = BootTime(Micros(1'000'000));
    return kept;
  }

  test::FakeClock clock_;
  std::string dir_;
};

// The incarnation rises by one with each start and the journal's id stays.
TEST_F(JournalTest, CountsItsStarts) {
  auto journal = open();
  EXPECT_TRUE(journal->isNew());
  EXPECT_EQ(journal->incarnation(), 1U);
  const std::string id = journal->journalId();
  journal.reset();
  journal = open();
  EXPECT_FALSE(journal->isNew());
  EXPECT_EQ(journal->incarnation(), 2U);
  EXPECT_EQ(journal->journalId(), id);
}

// Everything that was synced is there after a restart, to the last field.
TEST_F(JournalTest, KeepsWhatWasSynced) {
  auto journal = open();
  journal->noteEpoch("guid-a", 7);
  journal->noteEpoch("guid-b", 9);
  journal->noteEpoch("guid-b", 8);  // Never goes back.
  journal->noteAccept("w:0", order(5), 9);
  journal->noteAccept("w:1", order(6), 9);
  journal->noteResult("w:1", result(6));
  journal->noteAccept("w:2", order(7), 9);
  journal->noteSettled("w:2", order(7).key);
  EXPECT_TRUE(journal->needsSync());
  ASSERT_TRUE(journal->sync().ok());
  EXPECT_FALSE(journal->needsSync());
  for (int restart = 0; restart < 2; ++restart) {  // The second reads the compacted file.
    journal.reset();
    journal = open();
    EXPECT_EQ(journal->clusterGuid(), "guid-b");
    EXPECT_EQ(journal->epochOf("guid-a"), 7U);
    EXPECT_EQ(journal->epochOf("guid-b"), 9U);
    EXPECT_EQ(journal->epochOf("guid-c"), 0U);
    const JournalSlot& accepted = journal->slots().at("w:0");
    ASSERT_TRUE(accepted.open.has_value());
    EXPECT_EQ(accepted.open->key, order(5).key);
    EXPECT_EQ(accepted.open->run_part, order(5).run_part);
    EXPECT_EQ(accepted.open->timeout, Millis(5'000));
    EXPECT_EQ(accepted.open->kill_grace, Millis(700));
    EXPECT_EQ(accepted.open_epoch, 9U);
    EXPECT_FALSE(accepted.result.has_value());
    const JournalSlot& ended = journal->slots().at("w:1");
    ASSERT_TRUE(ended.result.has_value());
    EXPECT_EQ(ended.result->result.return_code, 3);
    EXPECT_EQ(ended.result->result.outputs, result(6).result.outputs);
    EXPECT_EQ(ended.result->ended, BootTime(Micros(1'000'000)));
    const JournalSlot& settled = journal->slots().at("w:2");
    EXPECT_FALSE(settled.open.has_value());
    EXPECT_TRUE(settled.has_last_order);
    EXPECT_EQ(settled.last_order, order(7).key);
  }
}

// What was not synced may be lost, but then as a whole.
TEST_F(JournalTest, ForgetsWhatWasNotSynced) {
  auto journal = open();
  journal->noteAccept("w:0", order(5), 9);
  journal.reset();
  journal = open();
  EXPECT_TRUE(journal->slots().empty());
}

// Cut off at any byte, the journal opens and has exactly the whole batches before the cut.
TEST_F(JournalTest, ToleratesATornTailAtEveryByte) {
  auto journal = open();
  std::vector<size_t> ends{bytes().size()};
  for (TaskId task = 1; task <= 3; ++task) {
    journal->noteAccept("w:0", order(task), 1);
    if (task == 2) journal->noteEpoch("guid", 2);
    ASSERT_TRUE(journal->sync().ok());
    ends.push_back(bytes().size());
  }
  journal.reset();
  const std::string whole = bytes();
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    const auto decoded = decodeJournal(std::string_view(whole).substr(0, cut));
    ASSERT_TRUE(decoded.ok()) << "cut at " << cut;
    ASSERT_EQ(decoded->valid_bytes == cut,
              decoded->valid_bytes == 0 ? cut == 0
                                        : std::find(ends.begin(), ends.end(), cut) != ends.end())
        << "cut at " << cut;
    // The whole way through a file is dear: near the ends of records it is gone.
    const bool near = std::any_of(ends.begin(), ends.end(), [&](size_t end) {
      return cut >= ends[0] && cut + 2 >= end && cut <= end + 9;
    });
    if (!near) continue;
    write(whole.substr(0, cut));
    journal = open();
    ASSERT_NE(journal, nullptr);
    ASSERT_EQ(journal->replacedDamaged(), "") << "cut at " << cut;
    TaskId expected = 0;
    while (expected < 3 && cut >= ends[expected + 1]) ++expected;
    if (expected == 0) {
      ASSERT_TRUE(journal->slots().empty()) << "cut at " << cut;
    } else {
      ASSERT_EQ(journal->slots().at("w:0").last_order.task_id, expected) << "cut at " << cut;
    }
    journal.reset();
  }
}

// Garbage and zeros behind the last record are a torn tail too, and what follows is kept.
TEST_F(JournalTest, AppendsBehindTheLastWholeRecord) {
  auto journal = open();
  journal->noteAccept("w:0", order(1), 1);
  ASSERT_TRUE(journal->sync().ok());
  journal.reset();
  write(bytes() + std::string(100, '\0') + "\x40\x01\x02{garbage");
  journal = open();
  EXPECT_EQ(journal->replacedDamaged(), "");
  journal->noteAccept("w:0", order(2), 1);
  ASSERT_TRUE(journal->sync().ok());
  journal.reset();
  EXPECT_EQ(open()->slots().at("w:0").last_order.task_id, 2U);
}

// A damaged record in the middle is no torn tail: nothing of that journal is believed, it is kept
// for a person to look at, and the new one has another id.
TEST_F(JournalTest, MovesADamagedJournalAside) {
  auto journal = open();
  const std::string id = journal->journalId();
  const size_t first = bytes().size();
  for (TaskId task = 1; task <= 2; ++task) {
    journal->noteAccept("w:0", order(task), 1);
    ASSERT_TRUE(journal->sync().ok());
  }
  journal.reset();
  std::string damaged = bytes();
  damaged[first + 20] = static_cast<char>(damaged[first + 20] ^ 1);
  write(damaged);
  journal = open();
  EXPECT_NE(journal->replacedDamaged(), "");
  EXPECT_TRUE(std::filesystem::exists(journal->replacedDamaged()));
  EXPECT_NE(journal->journalId(), id);
  EXPECT_TRUE(journal->isNew());
  EXPECT_TRUE(journal->slots().empty());
}

// The file does not grow without end, and compaction loses nothing.
TEST_F(JournalTest, RewritesItselfWhenItHasGrown) {
  auto journal = open(2'048);
  for (TaskId task = 1; task <= 60; ++task) {
    journal->noteAccept("w:0", order(task), 1);
    ASSERT_TRUE(journal->sync().ok());
    ASSERT_LE(bytes().size(), 2'048U + 1'024U);
  }
  journal.reset();
  EXPECT_EQ(open()->slots().at("w:0").open->key, order(60).key);
}

// A second worker on the same directory is told who has it.
TEST_F(JournalTest, RefusesASecondWorker) {
  auto journal = open();
  const auto second = Journal::open({.dir = dir_}, clock_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), ErrorCode::Conflict);
  EXPECT_NE(second.error().message().find(dir_), std::string::npos);
  EXPECT_NE(second.error().message().find(std::to_string(getpid())), std::string::npos);
}

// The end of an attempt is as long ago as it was, also after another boot.
TEST_F(JournalTest, CarriesTheEndOverABoot) {
  auto journal = open();
  KeptResult kept = result(5);
  kept.ended = clock_.bootNow();
  journal->noteAccept("w:0", order(5), 1);
  journal->noteResult("w:0", kept);
  ASSERT_TRUE(journal->sync().ok());
  journal.reset();
  std::string text = bytes();
  const size_t boot = text.find(R"("boot":")");
  ASSERT_NE(boot, std::string::npos);
  // Another boot id, with the record's checksum made anew.
  auto decoded = decodeJournal(text);
  ASSERT_TRUE(decoded.ok());
  std::string rewritten;
  for (std::string payload : decoded->payloads) {
    if (const size_t at = payload.find(R"("boot":")"); at != std::string::npos) {
      payload.replace(at + 8, 4, "othe");
    }
    rewritten += encodeRecord(payload);
  }
  write(rewritten);
  clock_.advance(Seconds(30));
  journal = open();
  EXPECT_EQ(clock_.bootNow() - journal->slots().at("w:0").result->ended, Seconds(30));
}

}  // namespace
}  // namespace baton::worker
