#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/integration/worker/shepherd_fixture.h"
#include "worker/attempt_files.h"
#include "worker/output_file.h"
#include "worker/proc_info.h"

namespace baton::worker {
namespace {

std::string processorTicks(pid_t pid) {
  std::istringstream stat(readWholeFile("/proc/" + std::to_string(pid) + "/stat"));
  std::string field, ticks;
  for (int number = 1; number <= 15 && stat >> field; ++number) {
    if (number >= 14) ticks += field + " ";
  }
  return ticks;
}

// The exit code is the task's own, and zero is no failure.
TEST_F(ShepherdTest, ReportsExitCodes) {
  launch();
  const EndedNote well = run(shell(1, "exit 0"));
  EXPECT_EQ(well.result.return_code, 0);
  EXPECT_EQ(well.result.reason, FailureReason::None);
  const EndedNote ill = run(shell(2, "exit 42"));
  EXPECT_EQ(ill.result.return_code, 42);
  EXPECT_EQ(ill.result.reason, FailureReason::ExitCode);
}

// A death by signal is told apart from an exit code, and a KILL that nobody here sent is said.
TEST_F(ShepherdTest, ReportsSignals) {
  launch();
  const EndedNote term = run(shell(1, "kill -TERM $$"));
  EXPECT_EQ(term.result.signal, SIGTERM);
  EXPECT_FALSE(term.result.return_code.has_value());
  EXPECT_EQ(term.result.reason, FailureReason::Signal);
  EXPECT_EQ(term.result.reason_text, "");
  const EndedNote killed = run(shell(2, "kill -KILL $$"));
  EXPECT_EQ(killed.result.signal, SIGKILL);
  EXPECT_NE(killed.result.reason_text.find("not sent by baton"), std::string::npos);
}

// An input is what the process reads; without one there is nothing to be read. Neither can get
// stuck: more than a pipe holds is no matter, nor is a program that reads nothing.
TEST_F(ShepherdTest, HandsInWhatATaskReads) {
  launch();
  EXPECT_TRUE(hello_.takes_input);
  EXPECT_EQ(run(shell(1, "cat | wc -c")).result.return_code, 0);
  EXPECT_EQ(log(1), "0\n");
  StartRequest reads = shell(2, "cat");
  reads.input = std::string(3'000'000, 'x') + "\n";
  EXPECT_EQ(run(reads).result.return_code, 0);
  EXPECT_EQ(log(2), reads.input);
  StartRequest ignores = shell(3, "exit 4");
  ignores.input = reads.input;
  EXPECT_EQ(run(ignores).result.return_code, 4);
}

// A program that is not there is start_failed with the system's reason, not exit code 127.
TEST_F(ShepherdTest, SaysWhyAProgramCanNotBeStarted) {
  launch();
  const EndedNote missing = run(command(1, {"/nonexistent/program"}));
  EXPECT_EQ(missing.result.reason, FailureReason::StartFailed);
  EXPECT_FALSE(missing.result.return_code.has_value());
  EXPECT_NE(missing.result.reason_text.find("No such file or directory"), std::string::npos);
  const EndedNote denied = run(command(2, {"/etc/passwd"}));
  EXPECT_EQ(denied.result.reason, FailureReason::StartFailed);
  EXPECT_NE(denied.result.reason_text.find("Permission denied"), std::string::npos);
  StartRequest bad_dir = shell(3, "true");
  bad_dir.dir = "/nonexistent/folder";
  const EndedNote folder = run(bad_dir);
  EXPECT_EQ(folder.result.reason, FailureReason::StartFailed);
  EXPECT_NE(folder.result.reason_text.find("/nonexistent/folder"), std::string::npos);
  EXPECT_FALSE(started_.contains(1) || started_.contains(2) || started_.contains(3));
}

// BUG-113: output is kept byte for byte, NUL included, and as a whole.
TEST_F(ShepherdTest, KeepsOutputByteForByte) {
  launch();
  const EndedNote note = run(shell(1, R"(printf 'x\0y\n'; echo after; echo wrong >&2)"));
  EXPECT_EQ(log(1), std::string("x\0y\nafter\n", 10));
  EXPECT_EQ(log(1, "stderr"), "wrong\n");
  EXPECT_EQ(note.result.stdout_bytes, 10);
  EXPECT_EQ(note.result.stderr_bytes, 6);
  run(shell(2, "head -c 204800 /dev/zero | tr '\\0' z"));
  EXPECT_EQ(log(2), std::string(204800, 'z'));
  run(shell(3, "true"));
  EXPECT_FALSE(std::filesystem::exists(path(logFolder(key(3)))));
}

// The cap cuts the file at its byte and says so; the task never notices.
TEST_F(ShepherdTest, CutsOutputAtItsCapAndMarksIt) {
  launch_.log_bytes_max = 1000;
  launch();
  const EndedNote note = run(shell(1, "seq 100000; echo done > " + path("done") + "; exit 3"));
  EXPECT_EQ(note.result.return_code, 3);
  EXPECT_TRUE(note.stdout_cut);
  EXPECT_FALSE(note.stderr_cut);
  EXPECT_EQ(readWholeFile(path("done")), "done\n");
  const std::string text = log(1);
  EXPECT_LT(text.size(), 1200U);
  EXPECT_TRUE(text.starts_with("1\n2\n3\n"));
  EXPECT_NE(text.find("\n" + std::string(kLogMark)), std::string::npos);
  EXPECT_NE(text.find("log.max_bytes"), std::string::npos);
}

// A background process that keeps the output open must not hold up the result.
TEST_F(ShepherdTest, DoesNotWaitForWhoeverHoldsTheOutputOpen) {
  launch();
  const EndedNote note = run(shell(1, "sleep 973 & echo told"));
  EXPECT_EQ(note.result.return_code, 0);
  EXPECT_EQ(log(1), "told\n");
  EXPECT_LT(note.result.run_ms, 10'000);
  EXPECT_TRUE(processesWith(std::string("sleep\0"
                                        "973",
                                        9))
                  .empty());
}

// BUG-124: the environment is exactly the documented one.
TEST_F(ShepherdTest, GivesTheTaskTheDocumentedEnvironmentOnly) {
  setenv("BATON_TOKEN", "secret-of-the-worker", 1);
  setenv("DATABASE_PASSWORD", "secret-of-the-worker", 1);
  launch();
  StartRequest request = command(1, {"/usr/bin/env"});
  run(request);
  unsetenv("BATON_TOKEN");
  unsetenv("DATABASE_PASSWORD");
  std::string expected;
  for (const std::string& entry : request.env) expected += entry + "\n";
  EXPECT_EQ(log(1), expected);
}

// Default signals, no inherited descriptors, empty input, own session, own folder.
TEST_F(ShepherdTest, StartsTheProcessClean) {
  signal(SIGUSR1, SIG_IGN);
  launch();
  signal(SIGUSR1, SIG_DFL);
  run(shell(1,
            "grep -E 'Sig(Ign|Blk)' /proc/self/status; ls /proc/self/fd; cat; pwd; "
            "cut -d' ' -f5,6 /proc/$$/stat; echo $$; umask"));
  std::istringstream lines(log(1));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "SigBlk:\t0000000000000000");
  std::getline(lines, line);
  EXPECT_EQ(line, "SigIgn:\t0000000000000000");
  for (const char* fd : {"0", "1", "2", "3"}) {  // 3 is the folder that ls reads.
    std::getline(lines, line);
    EXPECT_EQ(line, fd);
  }
  std::getline(lines, line);
  EXPECT_EQ(line, std::filesystem::canonical(dir_path_).string() + "/" + workFolder(key(1)));
  std::string ids, pid;
  std::getline(lines, ids);
  std::getline(lines, pid);
  EXPECT_EQ(ids, pid + " " + pid);
  std::getline(lines, line);
  EXPECT_EQ(line, "0022");
}

// A script is a file of the attempt, run by its interpreter; the folder goes with the result.
TEST_F(ShepherdTest, RunsScripts) {
  launch();
  StartRequest request = command(1, {"/bin/sh", "-e"});
  request.has_script = true;
  request.script = "echo 'a b' | while read x; do echo \"<$x>\"; done\nfalse\necho not reached\n";
  const EndedNote note = run(request);
  EXPECT_EQ(note.result.return_code, 1);
  EXPECT_EQ(log(1), "<a b>\n");
  awaitOutside("the folder's end",
               [this] { return !std::filesystem::exists(path(workFolder(key(1)))); });
}

// What a task leaves in its folder goes with it, however much it is.
TEST_F(ShepherdTest, RemovesTheAttemptsFolderAfterTheResultWasTaken) {
  launch();
  const std::string outside = path("outside");
  std::ofstream(outside) << "stays";
  run(shell(1, "mkdir -p a/b/c; echo x > a/b/c/d; ln -s " + outside + " a/link; mkfifo p"));
  awaitOutside("the folder's end",
               [this] { return !std::filesystem::exists(path(workFolder(key(1)))); });
  EXPECT_EQ(readWholeFile(outside), "stays");
}

// Outputs are read at the end; bad lines are told but fail nothing.
TEST_F(ShepherdTest, ReadsTheOutputValues) {
  launch();
  const EndedNote note = run(shell(1, "printf 'a=1\\nb=x=y\\nnonsense\\n' > $BATON_OUTPUT"));
  EXPECT_EQ(note.result.return_code, 0);
  EXPECT_EQ(note.result.outputs, (std::map<std::string, std::string>{{"a", "1"}, {"b", "x=y"}}));
  EXPECT_NE(note.result.reason_text.find("line 3"), std::string::npos);
  const EndedNote link = run(shell(2, "ln -s /etc/passwd $BATON_OUTPUT"));
  EXPECT_EQ(link.result.return_code, 0);
  EXPECT_TRUE(link.result.outputs.empty());
  const EndedNote pipe = run(shell(3, "mkfifo $BATON_OUTPUT"));
  EXPECT_EQ(pipe.result.return_code, 0);
  EXPECT_NE(pipe.result.reason_text.find("not a regular file"), std::string::npos);
}

// An attempt is never started twice, whether it runs, waits for its acknowledgement or is done.
TEST_F(ShepherdTest, RefusesASecondStartOfAnAttempt) {
  launch();
  acknowledge_ = false;
  const std::string count = "echo x >> " + path("runs");
  ASSERT_EQ(mkfifo(path("gate").c_str(), 0600), 0);
  start(shell(1, count + "; read < " + path("gate")));
  awaitOutside("the first run", [this] { return readWholeFile(path("runs")) == "x\n"; });
  start(shell(1, count));
  await("the refusal", [this] { return refused_.size() == 1; });
  client_->send(StopRequest{.key = key(1), .why = StopReason::Reset, .grace_ms = 10'000});
  awaitEnd(1);
  start(shell(1, count));
  await("the refusal", [this] { return refused_.size() == 2; });
  client_->send(AckRequest{.key = key(1)});
  start(shell(1, count));
  await("the refusal", [this] { return refused_.size() == 3; });
  EXPECT_EQ(readWholeFile(path("runs")), "x\n");
}

// BUG-116: no zombie is left, neither of tasks nor of their orphans.
TEST_F(ShepherdTest, LeavesNoZombies) {
  launch();
  const TaskId runs = getenv("BATON_LONG") != nullptr ? 5'000 : 1'000;
  const BootTime begin = SystemClock().bootNow();
  TaskId next = 1;
  const auto more = [&] {
    while (next <= runs && next <= ended_.size() + 20) {
      start(command(next, {"/bin/true"}));
      ++next;
    }
    return ended_.size() == runs;
  };
  await("all runs", more, Seconds(100));
  const auto took = std::chrono::duration_cast<Millis>(SystemClock().bootNow() - begin).count();
  RecordProperty("starts_per_second",
                 static_cast<int>(runs * 1000 / static_cast<TaskId>(took + 1)));
  std::printf("%llu starts and exits in %lld ms\n", static_cast<unsigned long long>(runs),
              static_cast<long long>(took));
  std::printf("processor time of the shepherd alone, in ticks of 10 ms (user, system): %s\n",
              processorTicks(shepherd_pid_).c_str());
  EXPECT_EQ(zombiesOfShepherd(), 0U);
  // An orphan that dies while its attempt runs on.
  ASSERT_EQ(mkfifo(path("gate").c_str(), 0600), 0);
  start(shell(runs + 1,
              "(setsid true &); (true &); echo > " + path("told") + "; read < " + path("gate")));
  awaitStart(runs + 1);
  awaitOutside("the mark", [this] { return std::filesystem::exists(path("told")); });
  awaitOutside("no zombie", [this] {
    return zombiesOfShepherd() == 0 && readChildren(shepherd_pid_).size() == 1;
  });
}

}  // namespace
}  // namespace baton::worker
