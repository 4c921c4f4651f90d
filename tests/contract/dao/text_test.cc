// Text of any kind goes in and out unchanged, is cut with a mark, or is refused by name.
#include "common/base/json.h"
#include "tests/contract/dao/dao_contract.h"

namespace baton::dao {
namespace {

// Quotes, escapes, marks of statements, 4-byte characters and the zero byte.
std::string nastyText() {
  return std::string("🚀 '\"\\ ?%_ \n\r\t\x1a\b -- ; /* ") + std::string(1, '\0') + "behind 𝄞 \\'";
}

TEST_P(DaoContract, AnyTextInEveryColumnReadsBackUnchanged) {
  const std::string nasty = nastyText();
  TaskRecord task = sampleTask(1);
  task.name = nasty;
  task.kind = "k🚀'\\";
  task.policy = task.spec = task.outputs = nasty;
  task.tags = {nasty, "'"};
  task.state.reason_text = task.state.runner_id = nasty;
  AttemptRecord attempt = sampleAttempt(1, 1, nasty);
  attempt.nonce = attempt.worker_address = attempt.reason_text = attempt.late_report = nasty;
  RunnerRecord runner = sampleRunner(nasty);
  runner.worker_id = runner.host = runner.boot_id = runner.version = nasty;
  runner.worker_address = runner.journal_id = runner.labels = nasty;
  OutboxRecord outbox = sampleOutbox(1);
  outbox.event = "🚀'\\";
  outbox.url = outbox.payload = outbox.last_error = nasty;
  IdempotencyRecord key{.principal = nasty,
                        .key = nasty,
                        .request_hash = nasty,
                        .answer = nasty,
                        .created_at = wallFromMicros(1)};
  auto txn = begin();
  ASSERT_OK(txn->insertTasks(std::vector{task}));
  ASSERT_OK(txn->storeAttempts(std::vector{attempt}));
  ASSERT_OK(txn->storeRunners(std::vector{runner}));
  ASSERT_OK(txn->storeOutbox(std::vector{outbox}));
  ASSERT_OK(txn->storeIdempotency(std::vector{key}));
  EXPECT_EQ(*txn->reserveIds(nasty, 1), 1u);
  EXPECT_EQ(*txn->reserveIds(nasty, 1), 2u);
  ASSERT_OK(txn->commit());

  EXPECT_EQ(dumpTask(**reader_->task(1)), dumpTask(task));
  EXPECT_EQ(dumpAttempt(reader_->attempts(1)->front()), dumpAttempt(attempt));
  const RunnerRecord stored = reader_->runners()->front();
  for (const std::string& text :
       {stored.runner_id, stored.worker_id, stored.host, stored.boot_id, stored.version,
        stored.worker_address, stored.journal_id, stored.labels}) {
    EXPECT_EQ(text, nasty);
  }
  const OutboxRecord callback = reader_->pendingOutbox(0, 1)->front();
  EXPECT_EQ(callback.event, outbox.event);
  EXPECT_EQ(callback.url + callback.payload + callback.last_error, nasty + nasty + nasty);
  const auto found = reader_->idempotency(nasty, nasty);
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->answer + (*found)->request_hash, nasty + nasty);
  TaskFilter filter;
  filter.name = filter.text = filter.tag = filter.runner_id = nasty;
  filter.host = nasty;
  EXPECT_EQ(reader_->tasks(filter, 0, 10)->items.size(), 1u);
}

// 100 KB of failure text must not keep a task from ending: cut between characters and marked.
TEST_P(DaoContract, LongFailureTextIsCutOnACharacterBoundaryAndMarked) {
  for (const std::string prefix : {"", "a", "ab", "abc"}) {
    std::string text = prefix;
    while (text.size() < 100'000) text += "🚀";
    TaskRecord task = sampleTask(10 + prefix.size());
    task.state.reason_text = text;
    AttemptRecord attempt = sampleAttempt(task.state.id, 1, "r" + prefix);
    attempt.reason_text = text;
    const auto txn = begin();
    ASSERT_OK(txn->insertTasks(std::vector{task}));
    ASSERT_OK(txn->storeAttempts(std::vector{attempt}));
    ASSERT_OK(txn->commit());
    for (const std::string& stored : {(*reader_->task(task.state.id))->state.reason_text,
                                      reader_->attempts(task.state.id)->front().reason_text}) {
      EXPECT_LE(stored.size(), 4'096u);
      EXPECT_GT(stored.size(), 4'080u);
      EXPECT_TRUE(isValidUtf8(stored));
      EXPECT_TRUE(stored.ends_with("🚀…")) << stored.substr(stored.size() - 12);
    }
  }
}

// A text of exactly the limit is whole.
TEST_P(DaoContract, TextOfExactlyTheLimitIsNotCut) {
  TaskRecord task = sampleTask(1);
  task.state.reason_text = std::string(4'093, 'x') + "€";
  insert({task});
  EXPECT_EQ((*reader_->task(1))->state.reason_text, task.state.reason_text);
}

// Output of programs may be any bytes; people's text is mended, not refused.
TEST_P(DaoContract, BytesThatAreNotUtf8AreMendedInFailureText) {
  TaskRecord task = sampleTask(1);
  task.state.reason_text = "caf\xe9 \xf0\x9f\x9a end";
  insert({task});
  const std::string stored = (*reader_->task(1))->state.reason_text;
  EXPECT_TRUE(isValidUtf8(stored));
  EXPECT_TRUE(stored.starts_with("caf\xef\xbf\xbd ")) << stored;
  EXPECT_TRUE(stored.ends_with(" end")) << stored;
}

// Names are never cut: two different ones could become one.
TEST_P(DaoContract, NamesThatDoNotFitAreRefusedByName) {
  std::string name;
  for (int i = 0; i < 128; ++i) name += "𝄞";
  TaskRecord task = sampleTask(1);
  task.name = name;
  insert({task});
  EXPECT_EQ((*reader_->task(1))->name, name);

  const auto refused = [&](TaskRecord bad, std::string_view column) {
    bad.state.id = 2;
    const Status status = begin()->insertTasks(std::vector{sampleTask(3), bad});
    EXPECT_CODE(status, Corrupt);
    EXPECT_NE(status.text().find("task 2"), std::string::npos) << status.text();
    EXPECT_NE(status.text().find(column), std::string::npos) << status.text();
  };
  task.name = name + "𝄞";
  refused(task, "name has 129 characters");
  task.name = "not \xff UTF-8";
  refused(task, "name is not UTF-8");
  task.name = "";
  refused(task, "needs an id above 0 and a name");
  task = sampleTask(1);
  task.spec = "{\"a\":\"\xff\"}";
  begin()->insertTasks(std::vector{task}).ok();
  TaskState state = sampleTask(1).state;
  state.runner_id = std::string(129, 'r');
  EXPECT_CODE(begin()->storeTaskStates(std::vector{state}), Corrupt);
  EXPECT_FALSE(reader_->task(2)->has_value());
  EXPECT_FALSE(reader_->task(3)->has_value());
}

// Names that differ in case, accents or trailing blanks are different names.
TEST_P(DaoContract, NamesAreComparedExactly) {
  auto txn = begin();
  ASSERT_OK(txn->storeRunners(
      std::vector{sampleRunner("a"), sampleRunner("A"), sampleRunner("ä"), sampleRunner("b")}));
  ASSERT_OK(txn->commit());
  EXPECT_EQ(reader_->runners()->size(), 4u);
}

// A large specification is stored whole.
TEST_P(DaoContract, LargeSpecificationIsStoredWhole) {
  TaskRecord task = sampleTask(1);
  task.spec = "{\"script\":\"" + std::string(6'000'000, 'x') + "🚀\"}";
  insert({task});
  EXPECT_TRUE((*reader_->task(1))->spec == task.spec);
  EXPECT_TRUE(reader_->specs(std::vector<TaskId>{1})->front().second == task.spec);
}

}  // namespace
}  // namespace baton::dao
