#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

#include "tests/integration/worker/shepherd_fixture.h"
#include "worker/proc_info.h"
#include "worker/shepherd_records.h"

namespace baton::worker {
namespace {

class ShepherdRestartTest : public ShepherdTest {
 protected:
  void SetUp() override {
    ShepherdTest::SetUp();
    launch();
    ASSERT_EQ(mkfifo(path("gate").c_str(), 0600), 0);
  }
  std::string waitAtGate() const { return "read < " + path("gate"); }
  void openGate() { std::ofstream(path("gate")) << "go\n"; }
};

// A daemon that goes away and comes back finds what runs and the true exit code of what ended.
TEST_F(ShepherdRestartTest, ANewDaemonLearnsWhatRunsAndWhatEnded) {
  start(shell(1, waitAtGate() + "; exit 9"));
  start(shell(2, "sleep 998"));
  awaitStart(1);
  awaitStart(2);
  client_.reset();
  openGate();
  awaitOutside("the end of task 1", [this] { return processesWith(path("gate")).empty(); });
  // The old daemon's end may still be noticed later than the end of the task.
  awaitOutside("one child", [this] { return readChildren(shepherd_pid_).size() == 1; });
  acknowledge_ = false;
  connect();
  ASSERT_EQ(hello_.ended.size(), 1U);
  EXPECT_EQ(hello_.ended[0].key, key(1));
  EXPECT_EQ(hello_.ended[0].result.return_code, 9);
  ASSERT_EQ(hello_.running.size(), 1U);
  EXPECT_EQ(hello_.running[0].key, key(2));
  EXPECT_EQ(hello_.running[0].pid, started_[2].pid);
  // Not acknowledged: the next one is told again. Acknowledged: it is not.
  client_.reset();
  connect();
  EXPECT_EQ(hello_.ended.size(), 1U);
  client_->send(AckRequest{.key = key(1)});
  client_.reset();
  connect();
  EXPECT_TRUE(hello_.ended.empty());
}

// What the old connection still holds is acted on before the new daemon gets its picture.
TEST_F(ShepherdRestartTest, ReadsTheOldConnectionToItsEndFirst) {
  kill(shepherd_pid_, SIGSTOP);
  for (TaskId task = 1; task <= 20; ++task) start(shell(task, "sleep 997"));
  client_.reset();  // The orders lie in the socket.
  kill(shepherd_pid_, SIGCONT);
  connect();
  EXPECT_EQ(hello_.running.size(), 20U);
}

// With the shepherd killed, its attempts are found by its records and ended, and nothing else is.
TEST_F(ShepherdRestartTest, WhatADeadShepherdLeftIsKilledAndProvedGone) {
  start(shell(1, "sleep 996 & setsid sleep 996 & sleep 996"));
  start(shell(2, "exit 0"));
  awaitStart(1);
  awaitEnd(2);
  awaitOutside("three", [] {
    return processesWith(std::string("sleep\0"
                                     "996",
                                     9))
               .size() == 3;
  });
  killShepherd();
  await("the loss", [this] { return lost_; });
  EXPECT_EQ(processesWith(std::string("sleep\0"
                                      "996",
                                      9))
                .size(),
            3U);
  const auto lost = clearAfterShepherd(dir_.get(), worker_id_);
  ASSERT_TRUE(lost.ok()) << lost.error().text();
  EXPECT_EQ(*lost, std::vector<AttemptKey>{key(1)});
  EXPECT_TRUE(processesWith(std::string("sleep\0"
                                        "996",
                                        9))
                  .empty());
  launch();  // A new one begins with nothing.
  EXPECT_TRUE(hello_.running.empty());
  EXPECT_TRUE(hello_.ended.empty());
}

// Whenever the shepherd is killed, there is no task without a record: a free lock means that
// every process which got as far as its program has one.
TEST_F(ShepherdRestartTest, NoProcessEscapesAShepherdThatIsKilledWhileItStartsMany) {
  for (int round = 0; round < 5; ++round) {
    const TaskId first = static_cast<TaskId>(round) * 100 + 1;
    for (TaskId task = first; task < first + 40; ++task) {
      StartRequest request = command(task, {"/bin/sleep", "995"});
      request.env = {"PATH=/bin"};  // Only the record can lead to it.
      start(request);
    }
    awaitStart(first + static_cast<TaskId>(round) * 7);
    killShepherd();
    await("the loss", [this] { return lost_; });
    lost_ = false;
    ASSERT_TRUE(clearAfterShepherd(dir_.get(), worker_id_).ok());
    ASSERT_TRUE(processesWith(std::string("/bin/sleep\0"
                                          "995",
                                          14))
                    .empty())
        << "round " << round;
    launch();
  }
}

// BUG-123: a process that got the number of a recorded one is never touched.
TEST_F(ShepherdRestartTest, ARecycledPidIsNeverTouched) {
  start(shell(1, "sleep 994"));
  awaitStart(1);
  const BootTime begin = SystemClock().bootNow();
  awaitOutside("another tick of start times",
               [&] { return SystemClock().bootNow() - begin > Millis(25); });
  pid_t bystander = 0;
  const char* argv[] = {"sleep", "999", nullptr};
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  ASSERT_EQ(posix_spawnp(&bystander, "sleep", nullptr, &attributes, const_cast<char* const*>(argv),
                         environ),
            0);
  killShepherd();
  ASSERT_TRUE(clearAfterShepherd(dir_.get(), worker_id_).ok());
  const auto recorded = ShepherdRecords::read(dir_.get());
  ASSERT_TRUE(recorded.ok());
  ASSERT_EQ(recorded->open.size(), 1U);
  std::string text = readWholeFile(path(kRecordsName));
  const std::string old_pid = " " + std::to_string(recorded->open[0].pid) + " ";
  text.replace(text.find(old_pid), old_pid.size(), " " + std::to_string(bystander) + " ");
  std::ofstream(path(kRecordsName), std::ios::trunc) << text;
  const auto lost = clearAfterShepherd(dir_.get(), worker_id_);
  ASSERT_TRUE(lost.ok());
  EXPECT_EQ(*lost, std::vector<AttemptKey>{key(1)});
  EXPECT_EQ(kill(bystander, 0), 0);
  EXPECT_EQ(waitpid(bystander, nullptr, WNOHANG), 0);
  kill(bystander, SIGKILL);
  waitpid(bystander, nullptr, 0);
}

// After another boot all numbers belong to others.
TEST_F(ShepherdRestartTest, RecordsOfAnotherBootNameNobody) {
  start(shell(1, "sleep 993"));
  awaitStart(1);
  const std::string text = readWholeFile(path(kRecordsName));
  killShepherd();
  ASSERT_TRUE(clearAfterShepherd(dir_.get(), "nobody").ok());
  std::ofstream(path(kRecordsName), std::ios::trunc)
      << "B another-boot" << text.substr(text.find('\n'));
  const auto lost = clearAfterShepherd(dir_.get(), "nobody");
  ASSERT_TRUE(lost.ok());
  EXPECT_EQ(lost->size(), 1U);
}

// Workers of two clusters, or two standalones, may have one name on one host.
TEST_F(ShepherdRestartTest, LeavesWhatBelongsToAnotherDataDirectoryAlone) {
  start(shell(1, "sleep 991"));
  const std::string sleeps(
      "sleep\0"
      "991",
      9);
  awaitOutside("the task's process", [&] { return processesWith(sleeps).size() == 1; });
  const std::string other = path("other");
  std::filesystem::create_directory(other);
  const FileDescriptor fd(open(other.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto lost = clearAfterShepherd(fd.get(), worker_id_);
  ASSERT_TRUE(lost.ok()) << lost.error().text();
  EXPECT_TRUE(lost->empty());
  EXPECT_EQ(processesWith(sleeps).size(), 1U);
}

// A lost record file does not hide what carries the worker's name.
TEST_F(ShepherdRestartTest, FindsLeftoversByTheWorkersNameAlone) {
  start(shell(1, "sleep 992"));
  awaitStart(1);
  killShepherd();
  std::filesystem::remove(path(kRecordsName));
  ASSERT_TRUE(clearAfterShepherd(dir_.get(), worker_id_).ok());
  EXPECT_TRUE(processesWith(std::string("sleep\0"
                                        "992",
                                        9))
                  .empty());
}

// Two shepherds on one directory would start one attempt twice.
TEST_F(ShepherdRestartTest, ASecondShepherdIsRefused) {
  const auto second = launchShepherd(launch_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), ErrorCode::Conflict);
  EXPECT_NE(second.error().message().find(dir_path_), std::string::npos);
  EXPECT_TRUE(*isShepherdAlive(dir_.get()));
}

// It goes when nobody needs it, and not while it holds a result.
TEST_F(ShepherdRestartTest, EndsItselfWhenItIsNotNeeded) {
  kill(shepherd_pid_, SIGKILL);
  waitpid(shepherd_pid_, nullptr, 0);
  launch_.idle_exit = Millis(50);
  launch();
  client_.reset();
  awaitOutside("its end", [this] { return !*isShepherdAlive(dir_.get()); });
  waitpid(shepherd_pid_, nullptr, 0);
  launch();
  acknowledge_ = false;
  run(shell(1, "exit 3"));
  client_.reset();
  const BootTime begin = SystemClock().bootNow();
  awaitOutside("some time", [&] { return SystemClock().bootNow() - begin > Millis(200); });
  ASSERT_TRUE(*isShepherdAlive(dir_.get()));
  connect();
  ASSERT_EQ(hello_.ended.size(), 1U);
  client_->send(AckRequest{.key = key(1)});
  client_.reset();
  awaitOutside("its end", [this] { return !*isShepherdAlive(dir_.get()); });
}

}  // namespace
}  // namespace baton::worker
