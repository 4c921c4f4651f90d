#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "common/base/random.h"
#include "net/http_client.h"
#include "tests/integration/worker/fake_master.h"
#include "tests/integration/worker/shepherd_fixture.h"
#include "worker/proc_info.h"
#include "worker/worker_daemon.h"

namespace baton::worker {
namespace {

class DaemonTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/baton-daemon-XXXXXX";
    dir_ = mkdtemp(pattern.data());
    master_ = std::make_unique<FakeMaster>("token");
    master_->start();
    options_.worker_id = "w-" + randomHex(6);
    options_.host = "127.0.0.1";
    options_.data_dir = dir_ + "/data";
    options_.masters = {master_->address()};
    options_.token = "token";
    options_.runners = 2;
    options_.listen_host = "127.0.0.1";
    options_.heartbeat = Millis(200);
  }
  void TearDown() override {
    daemon_.reset();
    killShepherd();
    const int fd = ::open(options_.data_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
      // A child on its way to its program holds the lock as well, and is not on record before.
      eventually("a free lock", [&] { return !*isShepherdAlive(fd); });
      EXPECT_TRUE(clearAfterShepherd(fd, options_.worker_id).ok());
      ::close(fd);
    }
    std::error_code error;
    std::filesystem::remove_all(dir_, error);
  }
  void startDaemon() {
    daemon_ = std::make_unique<WorkerDaemon>(options_);
    const Status started = daemon_->start();
    ASSERT_TRUE(started.ok()) << started.text();
  }
  // A daemon in a process of its own.
  pid_t spawnDaemon() const {
    const std::vector<std::string> words{"/proc/self/exe", "daemon", options_.worker_id,
                                         options_.data_dir, options_.masters.front()};
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    pid_t pid = 0;
    EXPECT_EQ(posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ), 0);
    return pid;
  }
  pid_t shepherdPid() const {
    std::ifstream in(options_.data_dir + "/" + kShepherdLockName);
    pid_t pid = 0;
    in >> pid;
    return pid;
  }
  void killShepherd() {
    const pid_t pid = shepherdPid();
    if (pid <= 1) return;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  void eventually(const std::string& what, const std::function<bool()>& condition) {
    const BootTime deadline = SystemClock().bootNow() + Seconds(20);
    while (!condition()) {
      ASSERT_LT(SystemClock().bootNow(), deadline) << "waited in vain for " << what;
      // The loop is the daemon's thread: nothing here to be woken by.
      poll(nullptr, 0, 5);
    }
  }
  Order order(TaskId task, const std::string& script, Millis timeout = Millis(0),
              Millis grace = Millis(10'000)) const {
    const Json run = {{"kind", "script"}, {"script", script}};
    return {.key = {.task_id = task, .attempt = 1, .nonce = "n" + std::to_string(task)},
            .run_part = dumpJson(run),
            .timeout = timeout,
            .kill_grace = grace};
  }
  std::string path(const std::string& name) const { return dir_ + "/" + name; }
  HeartbeatRequest awaitResult(TaskId task) {
    eventually("the result of task " + std::to_string(task),
               [&] { return master_->result(task).has_value(); });
    return master_->result(task).value_or(HeartbeatRequest{});
  }

  std::string dir_;
  std::unique_ptr<FakeMaster> master_;
  WorkerOptions options_;
  std::unique_ptr<WorkerDaemon> daemon_;
};

// Behind a NAT or a forwarded port the address of the settings counts, with its port.
TEST_F(DaemonTest, TellsWhereItsLogsAreToBeHad) {
  startDaemon();
  eventually("a report", [&] { return !master_->reports().empty(); });
  EXPECT_EQ(master_->reports().back().worker_address,
            fmt::format("127.0.0.1:{}", daemon_->logPort()));
  daemon_.reset();
  options_.advertised_address = "public.example:9999";
  startDaemon();
  eventually("its new address",
             [&] { return master_->reports().back().worker_address == "public.example:9999"; });
  daemon_.reset();
  options_.advertised_address.clear();
  options_.listen_host = "0.0.0.0";
  options_.host = "host-a";
  startDaemon();
  eventually("the name of the host", [&] {
    return master_->reports().back().worker_address == fmt::format("host-a:{}", daemon_->logPort());
  });
}

// The whole way: order, start, end, report with outputs.
TEST_F(DaemonTest, RunsATaskAndReportsItsEnd) {
  master_->submit(order(7, "echo hello; echo result=42 > $BATON_OUTPUT; echo $BATON_EPOCH >&2"));
  startDaemon();
  const HeartbeatRequest report = awaitResult(7);
  EXPECT_EQ(report.status, RunnerStatus::Finished);
  EXPECT_EQ(report.result.return_code, 0);
  EXPECT_EQ(report.result.outputs.at("result"), "42");
  EXPECT_EQ(report.result.stdout_bytes, 6);
  EXPECT_EQ(report.last_order, order(7, "").key);
  EXPECT_EQ(report.worker_id, options_.worker_id);
  EXPECT_EQ(report.incarnation, 1U);
  EXPECT_EQ(readWholeFile(options_.data_dir + "/logs/7/1/stderr"), "1\n");
  eventually("figures", [&] {
    for (const auto& one : master_->reports()) {
      if (one.figures && one.figures->memory_total_bytes > 0) return true;
    }
    return false;
  });
}

// A failing task is FAILED with its code, one after the other on the same slots.
TEST_F(DaemonTest, RunsOneTaskAfterTheOther) {
  for (TaskId task = 1; task <= 20; ++task) master_->submit(order(task, "exit 3"));
  startDaemon();
  for (TaskId task = 1; task <= 20; ++task) {
    const HeartbeatRequest report = awaitResult(task);
    EXPECT_EQ(report.status, RunnerStatus::Failed);
    EXPECT_EQ(report.result.reason, FailureReason::ExitCode);
    EXPECT_EQ(report.result.return_code, 3);
  }
}

// What cannot be run is start_failed with a reason and does not block the slot.
TEST_F(DaemonTest, ReportsAStartThatFails) {
  Order bad = order(1, "");
  bad.run_part = R"({"kind":"command","command":["/nonexistent/x"]})";
  Order empty = order(2, "");
  empty.run_part = R"({"kind":"command","command":[]})";
  master_->submit(bad);
  master_->submit(empty);
  startDaemon();
  EXPECT_EQ(awaitResult(1).result.reason, FailureReason::StartFailed);
  EXPECT_NE(awaitResult(1).result.reason_text.find("No such file"), std::string::npos);
  EXPECT_EQ(awaitResult(2).result.reason, FailureReason::StartFailed);
}

// RESET ends the tree; while it lasts the slot says RUNNING, and the closing IDLE has the result.
TEST_F(DaemonTest, StopsATaskOnReset) {
  startDaemon();
  master_->submit(order(1, "trap 'exit 9' TERM; while :; do sleep 0.02; done"));
  eventually("running", [&] { return master_->timesRunning(1) > 1; });
  master_->stopAttempt(1);
  eventually("the closing report", [&] { return master_->closing(1).has_value(); });
  EXPECT_EQ(master_->closing(1)->result.return_code, 9);
  EXPECT_FALSE(master_->result(1).has_value());
  master_->submit(order(2, "exit 0"));
  EXPECT_EQ(awaitResult(2).status, RunnerStatus::Finished);
}

// The runner itself ends a task whose time is over, whatever its code.
TEST_F(DaemonTest, EnforcesTheTimeout) {
  startDaemon();
  master_->submit(order(1, "trap '' TERM; while :; do sleep 0.02; done", Millis(300), Millis(300)));
  const HeartbeatRequest report = awaitResult(1);
  EXPECT_EQ(report.status, RunnerStatus::Failed);
  EXPECT_EQ(report.result.reason, FailureReason::Timeout);
  EXPECT_EQ(report.result.signal, SIGKILL);
  EXPECT_GE(report.result.run_ms, 590);
}

// A restart of the daemon neither kills a task nor loses the code with which it ends meanwhile.
TEST_F(DaemonTest, TakesTasksBackAfterARestart) {
  startDaemon();
  ASSERT_EQ(mkfifo(path("gate").c_str(), 0600), 0);
  master_->submit(
      order(1, "echo x >> " + path("runs") + "; read x < " + path("gate") + "; exit 7"));
  master_->submit(order(2, "echo x >> " + path("runs2") + "; while [ ! -e " + path("go") +
                               " ]; do sleep 0.02; done; exit 8"));
  eventually("both", [&] { return master_->timesRunning(1) > 0 && master_->timesRunning(2) > 0; });
  daemon_.reset();
  bool announced = false;
  for (const auto& report : master_->reports()) announced |= report.leaving_ms > 0;
  EXPECT_TRUE(announced);
  std::ofstream(path("gate")) << "x\n";
  eventually("its end", [&] { return readChildren(shepherdPid()).size() == 1; });
  startDaemon();
  EXPECT_EQ(awaitResult(1).result.return_code, 7);
  std::ofstream(path("go")) << "x";
  EXPECT_EQ(awaitResult(2).result.return_code, 8);
  EXPECT_EQ(awaitResult(2).incarnation, 2U);
  EXPECT_EQ(readWholeFile(path("runs")), "x\n");
  EXPECT_EQ(readWholeFile(path("runs2")), "x\n");
}

// kill -9 of the daemon, at any moment of a stream of short tasks: none runs twice, none is lost.
TEST_F(DaemonTest, RunsNothingTwiceWhenItIsKilled) {
  constexpr TaskId kTasks = 150;
  for (TaskId task = 1; task <= kTasks; ++task) {
    master_->submit(order(task, "echo x >> " + path("ran-" + std::to_string(task))));
  }
  size_t kills = 0;
  TaskId done = 0;
  Random random(7);
  std::printf("seed 7\n");
  while (done < kTasks) {
    ASSERT_LT(kills, 200U);
    const pid_t pid = spawnDaemon();
    const TaskId goal = std::min(kTasks, done + static_cast<TaskId>(random.between(1, 12)));
    eventually("some results", [&] {
      while (done < kTasks && master_->result(done + 1).has_value()) ++done;
      return done >= goal;
    });
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    ASSERT_FALSE(HasFatalFailure()) << "task " << done + 1 << " never ended";
    ++kills;
  }
  std::printf("%zu kills\n", kills);
  for (TaskId task = 1; task <= kTasks; ++task) {
    EXPECT_EQ(readWholeFile(path("ran-" + std::to_string(task))), "x\n") << task;
    EXPECT_EQ(master_->result(task)->result.return_code, 0) << task;
  }
}

// A result that no master took waits on disk, over restarts, until one does.
TEST_F(DaemonTest, KeepsResultsUntilAMasterTookThem) {
  startDaemon();
  master_->submit(order(1, "while [ ! -e " + path("go") + " ]; do sleep 0.02; done; exit 5"));
  eventually("running", [&] { return master_->timesRunning(1) > 0; });
  master_->answerWith(500);
  std::ofstream(path("go")) << "x";
  eventually("its end", [&] { return daemon_->openAttempts() == 0; });
  daemon_.reset();
  killShepherd();
  EXPECT_FALSE(master_->result(1).has_value());
  startDaemon();
  master_->answerWith(0);
  EXPECT_EQ(awaitResult(1).result.return_code, 5);
}

// With the shepherd killed its attempts are ended, proved gone and runner_reset; the next one runs.
TEST_F(DaemonTest, SurvivesTheDeathOfItsShepherd) {
  startDaemon();
  master_->submit(order(1, "exec sleep 891"));
  eventually("running", [&] { return master_->timesRunning(1) > 0; });
  kill(shepherdPid(), SIGKILL);
  const HeartbeatRequest report = awaitResult(1);
  EXPECT_EQ(report.result.reason, FailureReason::RunnerReset);
  EXPECT_TRUE(processesWith(std::string("sleep\0"
                                        "891",
                                        9))
                  .empty());
  master_->submit(order(2, "exit 0"));
  EXPECT_EQ(awaitResult(2).status, RunnerStatus::Finished);
}

// The same with both dead: the next daemon finds the lock free.
TEST_F(DaemonTest, NoticesTheDeathOfAShepherdThatWasRemovingFolders) {
  options_.runners = 1;
  startDaemon();
  const pid_t shepherd = shepherdPid();
  pid_t remover = 0;
  // A child that was just forked has all of the shepherd's open, and keeps the first four alone.
  const auto has = [](pid_t child, int fd) {
    return std::filesystem::exists(fmt::format("/proc/{}/fd/{}", child, fd));
  };
  // On a busy machine this test may come too late for the child: then another folder is removed.
  for (TaskId task = 1; task <= 20 && remover == 0; ++task) {
    master_->submit(order(task, "seq 1 30000 | xargs touch"));
    awaitResult(task);
    const std::string folder = options_.data_dir + "/" + workFolder(order(task, {}).key);
    eventually("the child that removes the folder, or its work", [&] {
      const std::vector<pid_t> children = readChildren(shepherd);
      const pid_t child = children.size() == 1 ? children.front() : 0;
      if (child != 0 && has(child, 3) && !has(child, 4)) remover = child;
      return remover != 0 || !std::filesystem::exists(folder);
    });
  }
  ASSERT_NE(remover, 0);
  // It will not get on until this test lets it.
  ASSERT_EQ(kill(remover, SIGSTOP), 0);
  kill(shepherd, SIGKILL);
  eventually("another shepherd", [&] { return shepherdPid() != shepherd && shepherdPid() > 1; });
  kill(remover, SIGKILL);
}

TEST_F(DaemonTest, ClearsUpAfterAShepherdThatDiedWithItsDaemon) {
  startDaemon();
  master_->submit(order(1, "exec sleep 892"));
  eventually("running", [&] { return master_->timesRunning(1) > 0; });
  daemon_.reset();
  killShepherd();
  EXPECT_EQ(processesWith(std::string("sleep\0"
                                      "892",
                                      9))
                .size(),
            1U);
  startDaemon();
  EXPECT_TRUE(processesWith(std::string("sleep\0"
                                        "892",
                                        9))
                  .empty());
  EXPECT_EQ(awaitResult(1).result.reason, FailureReason::RunnerReset);
}

// Losing the journal must not leave a second copy running: everything of this worker ends first.
TEST_F(DaemonTest, AnEmptyJournalStopsWhatCarriesTheWorkersName) {
  startDaemon();
  master_->submit(order(1, "exec sleep 893"));
  eventually("running", [&] { return master_->timesRunning(1) > 0; });
  daemon_.reset();
  const std::string old_journal = master_->reports().back().journal_id;
  std::filesystem::remove(options_.data_dir + "/journal");
  // As a real master does until the old journal was silent for long enough.
  master_->answerWith(409);
  startDaemon();
  EXPECT_TRUE(processesWith(std::string("sleep\0"
                                        "893",
                                        9))
                  .empty());
  master_->answerWith(0);
  eventually("the new journal",
             [&] { return master_->reports().back().journal_id != old_journal; });
}

// A takeover: the worker follows the higher epoch, and obeys the old master no more.
TEST_F(DaemonTest, FollowsTheMasterOfTheHigherEpoch) {
  FakeMaster second("token");
  second.start();
  second.lead(false, 1);
  options_.masters.push_back(second.address());
  startDaemon();
  eventually("beats", [&] { return !master_->reports().empty(); });
  EXPECT_TRUE(second.reports().empty());
  second.lead(true, 2);  // The first one does not know yet that it is deposed.
  second.submit(order(1, "exit 0"));
  eventually("the result", [&] { return second.result(1).has_value(); });
  EXPECT_EQ(second.result(1)->epoch, 2U);
  second.lead(false, 2);
  master_->submit(order(2, "touch " + path("ran")));
  const size_t seen = master_->reports().size();
  eventually("search", [&] { return second.result(1).has_value(); });
  second.lead(true, 3);
  second.submit(order(3, "exit 0"));
  eventually("the result", [&] { return second.result(3).has_value(); });
  EXPECT_EQ(master_->reports().size(), seen);
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
}

// An order under an epoch below the highest seen is dropped, over a restart too.
TEST_F(DaemonTest, DropsOrdersOfALowerEpoch) {
  master_->lead(true, 5);
  startDaemon();
  master_->submit(order(1, "exit 0"));
  awaitResult(1);
  daemon_.reset();
  master_->lead(true, 4);
  master_->submit(order(2, "touch " + path("ran")));
  startDaemon();
  const size_t seen = master_->reports().size();
  eventually("more beats", [&] { return master_->reports().size() > seen + 4; });
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
  EXPECT_EQ(master_->timesRunning(2), 0U);
  master_->lead(true, 6);
  EXPECT_EQ(awaitResult(2).status, RunnerStatus::Finished);
}

// An answer other than 200 counts as none; the worker goes on trying and loses nothing.
TEST_F(DaemonTest, SurvivesRefusals) {
  startDaemon();
  for (const int status : {409, 500, 503, 404}) {
    const size_t refused = master_->refusals();
    master_->answerWith(status);
    eventually("refusals", [&] { return master_->refusals() > refused + 1; });
  }
  master_->answerWith(0);
  master_->submit(order(1, "exit 0"));
  EXPECT_EQ(awaitResult(1).status, RunnerStatus::Finished);
}

// A master that does not take a report as it is takes its essence: no slot is lost to it.
TEST_F(DaemonTest, ReportsWithoutOptionalPartsWhatWasRefusedWithThem) {
  options_.runners = 1;
  startDaemon();
  TaskId task = 0;
  for (const int status : {400, 413}) {
    master_->refuseOptional(status);
    const size_t refused = master_->refusals();
    const std::string go = path(fmt::format("go-{}", status));
    master_->submit(order(++task, fmt::format("echo a=1 >> $BATON_OUTPUT\nwhile [ ! -e {} ]; do "
                                              "sleep 0.02; done; exit 3",
                                              go)));
    eventually("a report that it runs", [&] { return master_->timesRunning(task) > 0; });
    std::ofstream(go).flush();
    const HeartbeatRequest result = awaitResult(task);
    EXPECT_EQ(result.result.return_code, 3);
    EXPECT_TRUE(result.result.outputs.empty());
    EXPECT_NE(result.result.reason_text.find(std::to_string(status)), std::string::npos)
        << result.result.reason_text;
    EXPECT_GT(master_->refusals(), refused);
  }
  // The next attempt is told in full again.
  master_->refuseOptional(0);
  master_->submit(order(++task, "echo b=2 >> $BATON_OUTPUT"));
  EXPECT_EQ(awaitResult(task).result.outputs, (std::map<std::string, std::string>{{"b", "2"}}));
}

// Two daemons on one directory would give one slot two tongues.
TEST_F(DaemonTest, RefusesASecondDaemonOnItsDirectory) {
  startDaemon();
  WorkerDaemon second(options_);
  const Status started = second.start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code(), ErrorCode::Conflict);
  EXPECT_NE(started.error().message().find(options_.data_dir), std::string::npos);
}

// The log server gives ranges with their facts, to the token's owner only (BUG-170), and nothing
// from outside the logs (BUG-166).
TEST_F(DaemonTest, ServesLogsOfItsAttemptsOnly) {
  startDaemon();
  master_->submit(order(7, "printf 0123456789; ln -s /etc/passwd ../../logs/7/1/evil"));
  awaitResult(7);
  std::filesystem::create_directories(options_.data_dir + "/logs/8/1");
  std::filesystem::create_symlink("/etc/passwd", options_.data_dir + "/logs/8/1/stdout");
  std::filesystem::create_directory_symlink("/etc", options_.data_dir + "/logs/9");
  net::HttpClient client{net::HttpClient::Options{}};
  const net::HttpEndpoint endpoint{.host = "127.0.0.1", .port = daemon_->logPort()};
  const auto get = [&](const std::string& target, const std::string& authorization) {
    net::HttpRequest request;
    request.target = target;
    if (!authorization.empty()) request.headers.add("Authorization", authorization);
    auto response = client.send(endpoint, request, Seconds(5), true);
    EXPECT_TRUE(response.ok()) << response.status().text();
    return response.ok() ? *response : net::HttpResponse{};
  };
  const std::string good = "/api/v1/attempts/7/1/logs?stream=stdout";
  for (const std::string& bad :
       {std::string(), std::string("null"), std::string("Bearer "), std::string("bearer token"),
        std::string("Bearer TOKEN"), "Bearer " + std::string(8'000, 'x')}) {
    EXPECT_EQ(get(good, bad).status, 401) << bad.substr(0, 40);
  }
  const std::string token = "Bearer token";
  eventually("completeness",
             [&] { return get(good, token).headers.get("X-Baton-Log-Complete") == "true"; });
  EXPECT_EQ(get(good, token).body, "0123456789");
  const auto range = get(good + "&offset=3&limit=4", token);
  EXPECT_EQ(range.body, "3456");
  EXPECT_EQ(range.headers.get("X-Baton-Log-Size"), "10");
  EXPECT_EQ(range.headers.get("X-Baton-Log-Truncated"), "false");
  EXPECT_EQ(get(good + "&offset=10", token).status, 200);
  EXPECT_EQ(get(good + "&offset=11", token).status, 416);
  EXPECT_EQ(get(good + "&offset=-1", token).status, 400);
  EXPECT_EQ(get("/api/v1/attempts/7/1/logs?stream=evil", token).status, 400);
  for (const char* bad :
       {"/api/v1/attempts/7/2/logs", "/api/v1/attempts/8/1/logs", "/api/v1/attempts/9/1/logs",
        "/api/v1/attempts/../1/logs", "/api/v1/attempts/%2e%2e/1/logs",
        "/api/v1/attempts/7/1/../../../../etc/passwd", "/api/v1/attempts//etc/passwd/logs",
        "/api/v1/attempts/7/..%2f..%2fetc/logs", "/api/v1/attempts/7/1%00/logs", "/journal"}) {
    const auto response = get(bad, token);
    EXPECT_TRUE(response.status == 404 || response.status == 400) << bad << response.status;
    EXPECT_EQ(response.body.find("root:"), std::string::npos) << bad;
  }
}

}  // namespace
}  // namespace baton::worker
