#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "dao/database.h"
#include "dao/sql_session.h"
#include "tests/support/mariadb_server.h"

namespace baton::dao {

// The server of this program, started at the first use.
test::MariadbServer& sharedServer();

// Connections past the interface, of whomever the options name.
std::shared_ptr<SqlBackend> makeBackend(const DatabaseOptions& options);

// Records with every member set to something of its own.
TaskRecord sampleTask(TaskId id);
AttemptRecord sampleAttempt(TaskId id, int32_t number, const std::string& runner);
RunnerRecord sampleRunner(const std::string& id);
OutboxRecord sampleOutbox(uint64_t id);

// Every member of a task that the database keeps, as text, for comparisons.
std::string dumpState(const TaskState& state);
std::string dumpTask(const TaskRecord& task);
std::string dumpAttempt(const AttemptRecord& attempt);

// A fresh, initialised database of each kind for every test; epoch 1 rules.
class DaoContract : public testing::TestWithParam<DatabaseOptions::Kind> {
 protected:
  void SetUp() override;
  void TearDown() override;

  bool isMysql() const { return GetParam() == DatabaseOptions::Kind::Mysql; }
  // Another database, empty: no schema.
  DatabaseOptions emptyDatabase();
  // Statements past the interface, as an operator or a foreign program would run them.
  void raw(const std::string& sql);
  std::unique_ptr<SqlSession> rawSession();
  int64_t rawNumber(const std::string& sql);

  // A transaction of epoch 1 with the next batch number.
  std::unique_ptr<FencedTxn> begin();
  void insert(const std::vector<TaskRecord>& tasks);
  void bumpTo(uint64_t epoch);

  DatabaseOptions options_;
  std::unique_ptr<Database> database_;
  std::shared_ptr<SqlBackend> backend_;
  std::unique_ptr<Writer> writer_;
  std::unique_ptr<Reader> reader_;
  std::unique_ptr<EpochStore> epochs_;
  uint64_t batch_ = 0;

 private:
  std::filesystem::path dir_;
};

EpochClaim claimOf(uint64_t epoch, uint64_t prev_epoch);

#define EXPECT_OK(expression)                                           \
  do {                                                                  \
    const ::baton::Status checked = ::baton::dao::asStatus(expression); \
    EXPECT_TRUE(checked.ok()) << checked.text();                        \
  } while (false)
#define ASSERT_OK(expression)                                           \
  do {                                                                  \
    const ::baton::Status checked = ::baton::dao::asStatus(expression); \
    ASSERT_TRUE(checked.ok()) << checked.text();                        \
  } while (false)
#define EXPECT_CODE(expression, wanted)                                                           \
  do {                                                                                            \
    const ::baton::Status checked = ::baton::dao::asStatus(expression);                           \
    EXPECT_FALSE(checked.ok());                                                                   \
    if (!checked.ok()) {                                                                          \
      EXPECT_EQ(toString(checked.error().code()), toString(ErrorCode::wanted)) << checked.text(); \
    }                                                                                             \
  } while (false)

inline Status asStatus(const Status& status) { return status; }
template <typename T>
Status asStatus(const Result<T>& result) {
  return result.status();
}

}  // namespace baton::dao
