#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/integration/worker/shepherd_fixture.h"
#include "worker/proc_info.h"

namespace baton::worker {
namespace {

// A command line that no other process of this machine has.
std::string markedSleep(const std::string& mark) { return "exec -a " + mark + " sleep 999"; }

class ShepherdTreeTest : public ShepherdTest {
 protected:
  void SetUp() override {
    ShepherdTest::SetUp();
    mark_ = "mark-" + worker_id_;
    launch();
  }
  void stop(TaskId task, int64_t grace_ms, StopReason why = StopReason::Reset) {
    client_->send(StopRequest{.key = key(task), .why = why, .grace_ms = grace_ms});
  }
  // Processes with exactly the mark as their name (not the shells that mention it).
  std::vector<pid_t> marked() const {
    std::vector<pid_t> found;
    for (const pid_t pid : processesWith(mark_)) {
      const std::string line = readWholeFile("/proc/" + std::to_string(pid) + "/cmdline");
      if (line.starts_with(mark_)) found.push_back(pid);
    }
    return found;
  }
  void awaitMarked(size_t count) {
    awaitOutside(std::to_string(count) + " processes", [&] { return marked().size() == count; });
  }
  std::string mark_;
};

// BUG-109: a stop ends children and grandchildren, in whatever shells they are.
TEST_F(ShepherdTreeTest, AStopEndsTheWholeTree) {
  start(shell(1, "bash -c '(" + markedSleep(mark_) + ") & (" + markedSleep(mark_) + "); true' & " +
                     markedSleep(mark_)));
  awaitMarked(3);
  stop(1, 10'000);
  const EndedNote note = awaitEnd(1);
  EXPECT_EQ(note.why, StopReason::Reset);
  EXPECT_EQ(note.result.signal, SIGTERM);
  EXPECT_LT(note.result.run_ms, 5'000);
  EXPECT_TRUE(marked().empty());
}

// A session of its own hides nobody, neither with a living parent nor after a double fork.
TEST_F(ShepherdTreeTest, AStopFindsThoseInOtherSessions) {
  start(shell(1, "setsid bash -c '(" + markedSleep(mark_) +
                     ") & wait' & "
                     "(setsid bash -c '(" +
                     markedSleep(mark_) +
                     ") & ' &) ; "
                     "(setsid bash -c '(setsid bash -c \"" +
                     markedSleep(mark_) +
                     "\" &)' &) ; wait; "
                     "sleep 999"));
  awaitMarked(3);
  stop(1, 10'000);
  const EndedNote note = awaitEnd(1);
  EXPECT_TRUE(marked().empty());
  EXPECT_LT(note.result.run_ms, 5'000);
}

// Whoever ignores TERM is killed when the grace is over, and not before.
TEST_F(ShepherdTreeTest, KillsAfterTheGraceWhoeverIgnoresTerm) {
  start(shell(1, "trap '' TERM; (" + markedSleep(mark_) + ") & while :; do sleep 0.05; done"));
  awaitMarked(1);
  const BootTime begin = SystemClock().bootNow();
  stop(1, 400);
  const EndedNote note = awaitEnd(1);
  EXPECT_GE(SystemClock().bootNow() - begin, Millis(400));
  EXPECT_EQ(note.result.signal, SIGKILL);
  EXPECT_EQ(note.result.reason_text, "");  // The KILL was ours.
  EXPECT_TRUE(marked().empty());
}

// A task that tidies up on TERM ends by itself within its grace.
TEST_F(ShepherdTreeTest, LetsATaskEndItselfInItsGrace) {
  start(shell(1, "trap 'echo bye; exit 7' TERM; (" + markedSleep(mark_) +
                     ") & while :; do sleep 0.02; done"));
  awaitMarked(1);
  stop(1, 15'000, StopReason::Timeout);
  const EndedNote note = awaitEnd(1);
  EXPECT_EQ(note.why, StopReason::Timeout);
  EXPECT_EQ(note.result.return_code, 7);
  EXPECT_EQ(log(1), "bye\n");
}

// What is left when the main process has ended is gone before its result is told.
TEST_F(ShepherdTreeTest, LeftoversAreGoneBeforeTheResultIsTold) {
  ASSERT_EQ(mkfifo(path("gate").c_str(), 0600), 0);
  start(shell(1, "(trap '' TERM HUP; " + markedSleep(mark_) + ") & setsid bash -c '" +
                     markedSleep(mark_) + "' & (setsid bash -c '(" + markedSleep(mark_) +
                     ") & wait' &); read < " + path("gate") + "; exit 5"));
  awaitMarked(3);
  std::ofstream(path("gate")) << "go\n";
  const EndedNote note = awaitEnd(1);
  EXPECT_TRUE(marked().empty());
  EXPECT_EQ(note.result.return_code, 5);
  EXPECT_EQ(note.why, StopReason::None);
}

// Two attempts with leftovers in other sessions are kept apart.
TEST_F(ShepherdTreeTest, TouchesNoOtherAttempt) {
  const std::string detached = "(setsid bash -c '" + markedSleep(mark_) + "' &); sleep 999";
  start(shell(1, detached));
  start(shell(2, detached));
  awaitMarked(2);
  stop(1, 10'000);
  awaitEnd(1);
  EXPECT_EQ(marked().size(), 1U);
  EXPECT_FALSE(ended_.contains(2));
  stop(2, 10'000);
  awaitEnd(2);
  EXPECT_TRUE(marked().empty());
}

// A stop that meets a process which bears children all the time still comes to an end.
TEST_F(ShepherdTreeTest, EndsATreeThatKeepsGrowing) {
  start(shell(1, "trap '' TERM; f() { trap '' TERM; while :; do (" + markedSleep(mark_) +
                     ") & sleep 0.01; done; }; f & setsid bash -c \"trap '' TERM; while :; do (" +
                     markedSleep(mark_) + ") & sleep 0.01; done\" & while :; do sleep 0.1; done"));
  awaitOutside("growth", [this] { return marked().size() > 10; });
  stop(1, 100);
  awaitEnd(1);
  EXPECT_TRUE(marked().empty());
}

// A stop at the very end of a task never hangs: one result, whoever won.
TEST_F(ShepherdTreeTest, AStopThatMeetsTheEndIsSettledOnce) {
  for (TaskId task = 1; task <= 100; ++task) {
    start(shell(task, "sleep 0.0" + std::to_string(task % 3 + 1)));
    awaitStart(task);
    loop_->callAfter(Millis(5 + static_cast<int64_t>(task) % 30),
                     [this, task] { stop(task, 1'000); });
    const EndedNote note = awaitEnd(task);
    EXPECT_TRUE(note.result.return_code == 0 || note.result.signal == SIGTERM);
    EXPECT_EQ(ended_count_[task], 1);
  }
}

}  // namespace
}  // namespace baton::worker
