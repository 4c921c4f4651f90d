#include "tests/contract/dao/dao_contract.h"

#include "common/base/random.h"
#include "dao/mysql/mysql_backend.h"
#include "dao/sqlite/sqlite_backend.h"

namespace baton::dao {
namespace {

std::unique_ptr<test::MariadbServer>& serverSlot() {
  static std::unique_ptr<test::MariadbServer> server;
  return server;
}

// Ends the server before the program does.
class StopServer final : public testing::Environment {
 public:
  void TearDown() override { serverSlot().reset(); }
};
const testing::Environment* const kStopServer =
    testing::AddGlobalTestEnvironment(new StopServer);  // Owned by GoogleTest.

}  // namespace

std::shared_ptr<SqlBackend> makeBackend(const DatabaseOptions& options) {
  if (options.kind == DatabaseOptions::Kind::Sqlite) {
    return std::make_shared<SqliteBackend>(options.path);
  }
  return std::make_shared<MysqlBackend>(options);
}

test::MariadbServer& sharedServer() {
  if (serverSlot() == nullptr) {
    auto started = test::MariadbServer::start();
    if (!started.ok()) {
      ADD_FAILURE() << started.error().text();
      std::abort();
    }
    serverSlot() = std::move(*started);
  }
  return *serverSlot();
}

EpochClaim claimOf(uint64_t epoch, uint64_t prev_epoch) {
  return {.epoch = epoch,
          .prev_epoch = prev_epoch,
          .node_id = "node-" + std::to_string(epoch),
          .incarnation = "incarnation-" + std::to_string(epoch),
          .address = "127.0.0.1:1",
          .reason = "first",
          .lock_czxid = 77};
}

TaskRecord sampleTask(TaskId id) {
  TaskRecord task;
  task.name = "job " + std::to_string(id);
  task.kind = "command";
  task.policy = R"({"retry":{"max":3}})";
  task.spec = R"({"command":["/bin/echo","it's \"quoted\" \\ and 🚀"]})";
  task.tags = {"nightly", "标签"};
  task.created_at = wallFromMicros(1'700'000'000'500'001 + static_cast<int64_t>(id));
  task.state.id = id;
  task.state.status = TaskStatus::Queued;
  task.state.priority = Priority::High;
  task.state.queued_at = wallFromMicros(1'700'000'000'999'999);
  return task;
}

AttemptRecord sampleAttempt(TaskId id, int32_t number, const std::string& runner) {
  AttemptRecord attempt;
  attempt.task_id = id;
  attempt.number = number;
  attempt.nonce = "nonce-" + std::to_string(id) + "-" + std::to_string(number);
  attempt.runner_id = runner;
  attempt.worker_address = "10.0.0.1:8081";
  attempt.incarnation = 0xffff'ffff'ffff'fffeULL;
  attempt.seq = 42;
  attempt.epoch = 1;
  attempt.dispatched_at = wallFromMicros(1'700'000'001'000'001);
  return attempt;
}

RunnerRecord sampleRunner(const std::string& id) {
  return {.runner_id = id,
          .worker_id = "worker-" + id,
          .host = "host-" + id,
          .boot_id = "boot",
          .version = "0.1.0",
          .worker_address = "10.0.0.1:8081",
          .journal_id = "journal",
          .incarnation = 0x8000'0000'0000'0001ULL,
          .labels = R"({"zone":"北"})",
          .plain = true,
          .conflict = false,
          .last_seen = wallFromMicros(1'700'000'002'000'000)};
}

OutboxRecord sampleOutbox(uint64_t id) {
  return {.id = id,
          .task_id = 5,
          .attempt = 2,
          .event = "finished",
          .url = "http://example.org/hook?a=b",
          .payload = R"({"text":"a ? and a ' and 🚀"})",
          .awaited = true,
          .state = OutboxRecord::State::Pending,
          .tries = 1,
          .next_at = wallFromMicros(5),
          .created_at = wallFromMicros(4),
          .last_error = "HTTP 500"};
}

std::string dumpState(const TaskState& s) {
  return fmt::format(
      "id {} status {} reason {} '{}' priority {} attempt {} retries {} queued {} not_before {} "
      "started {} finished {} runner '{}' code {} signal {} cause {} hold {} forced {} ignored {} "
      "unproven {}",
      s.id, toString(s.status), toString(s.reason), s.reason_text, toString(s.priority), s.attempt,
      s.retries_used, toMicros(s.queued_at), toMicros(s.not_before), toMicros(s.started_at),
      toMicros(s.finished_at), s.runner_id, s.return_code ? std::to_string(*s.return_code) : "-",
      s.signal, toString(s.cause), s.hold, s.forced, s.ignored, s.unproven);
}

std::string dumpTask(const TaskRecord& t) {
  return fmt::format(
      "{} name '{}' kind {} policy {} spec {} tags {} created {} outputs {} run {} of '{}'",
      dumpState(t.state), t.name, t.kind, t.policy, t.spec, fmt::join(t.tags, ","),
      toMicros(t.created_at), t.outputs, t.run_id, t.flow);
}

std::string dumpAttempt(const AttemptRecord& a) {
  return fmt::format(
      "{}/{} nonce {} runner {} address {} pair {}/{} status {} reason {} '{}' code {} signal {} "
      "epoch {} times {} {} {} bytes {} {} late {}",
      a.task_id, a.number, a.nonce, a.runner_id, a.worker_address, a.incarnation, a.seq,
      toString(a.status), toString(a.reason), a.reason_text,
      a.return_code ? std::to_string(*a.return_code) : "-", a.signal, a.epoch,
      toMicros(a.dispatched_at), toMicros(a.started_at), toMicros(a.finished_at), a.stdout_bytes,
      a.stderr_bytes, a.late_report);
}

DatabaseOptions DaoContract::emptyDatabase() {
  const std::string name = "baton_" + randomHex(6);
  if (isMysql()) {
    EXPECT_OK(sharedServer().createDatabase(name));
    return sharedServer().options(name);
  }
  if (dir_.empty()) {
    std::string folder = (std::filesystem::temp_directory_path() / "baton-dao-XXXXXX").string();
    CHECK(::mkdtemp(folder.data()) != nullptr);
    dir_ = folder;
  }
  DatabaseOptions options;
  options.path = (dir_ / (name + ".db")).string();
  return options;
}

void DaoContract::SetUp() {
  options_ = emptyDatabase();
  auto opened = openDatabase(options_);
  ASSERT_OK(opened);
  database_ = std::move(*opened);
  backend_ = makeBackend(options_);
  ASSERT_OK(database_->initCluster({.name = "test", .guid = "guid-1"}));
  writer_ = database_->makeWriter();
  reader_ = database_->makeReader();
  epochs_ = database_->makeEpochStore();
  ASSERT_OK(epochs_->bump(claimOf(1, 0)));
}

void DaoContract::TearDown() {
  writer_.reset();
  reader_.reset();
  epochs_.reset();
  if (!dir_.empty()) std::filesystem::remove_all(dir_);
}

std::unique_ptr<SqlSession> DaoContract::rawSession() {
  auto session = backend_->connect(SessionKind::Schema);
  EXPECT_OK(session);
  return session.ok() ? std::move(*session) : nullptr;
}

void DaoContract::raw(const std::string& sql) { EXPECT_OK(rawSession()->execute(sql)); }

int64_t DaoContract::rawNumber(const std::string& sql) {
  int64_t number = -1;
  EXPECT_OK(rawSession()->query(sql, {}, [&number](SqlRow& row) {
    number = row.integer(0);
    return true;
  }));
  return number;
}

std::unique_ptr<FencedTxn> DaoContract::begin() {
  auto txn = writer_->begin(1, ++batch_);
  EXPECT_OK(txn);
  CHECK(txn.ok());
  return std::move(*txn);
}

void DaoContract::insert(const std::vector<TaskRecord>& tasks) {
  const auto txn = begin();
  EXPECT_OK(txn->insertTasks(tasks));
  EXPECT_OK(txn->commit());
}

void DaoContract::bumpTo(uint64_t epoch) {
  EXPECT_OK(database_->makeEpochStore()->bump(claimOf(epoch, epoch - 1)));
}

INSTANTIATE_TEST_SUITE_P(Sqlite, DaoContract, testing::Values(DatabaseOptions::Kind::Sqlite));
INSTANTIATE_TEST_SUITE_P(Mysql, DaoContract, testing::Values(DatabaseOptions::Kind::Mysql));

}  // namespace baton::dao
