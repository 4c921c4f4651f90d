#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>

#include "tests/integration/worker/shepherd_fixture.h"
#include "worker/output_file.h"

namespace baton::worker {
namespace {

// The logs on a file system of 1 MiB, seen by this program and its children alone.
class ShepherdDiskTest : public ShepherdTest {
 protected:
  void SetUp() override {
    ShepherdTest::SetUp();
    const bool mounted = unshare(CLONE_NEWNS) == 0 &&
                         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         mkdir(path("logs").c_str(), 0700) == 0 &&
                         mount("none", path("logs").c_str(), "tmpfs", 0, "size=1m") == 0;
    if (!mounted) {
      GTEST_SKIP() << "NOT TESTED: a full disk needs the right to mount (" << strerror(errno)
                   << ")";
    }
    launch();
  }
  void TearDown() override {
    umount2(path("logs").c_str(), MNT_DETACH);
    ShepherdTest::TearDown();
  }
};

std::string lastLine(std::string text) {
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// BUG-128: a full disk costs output, says so, and changes no exit code; with room again all is
// as before.
TEST_F(ShepherdDiskTest, AFullDiskCostsOutputOnly) {
  const EndedNote full = run(shell(1, "seq 1000000; echo end >&2; exit 4"));
  EXPECT_EQ(full.result.return_code, 4);
  EXPECT_TRUE(full.stdout_cut);
  const std::string text = log(1);
  EXPECT_GT(text.size(), 900'000U);
  EXPECT_TRUE(text.starts_with("1\n2\n3\n"));
  EXPECT_TRUE(lastLine(text).starts_with(kLogMark)) << lastLine(text);
  EXPECT_NE(lastLine(text).find("disk full"), std::string::npos);
  // Still full: not even the file can be filled, and the code is the task's.
  EXPECT_EQ(run(shell(2, "echo lost; exit 6")).result.return_code, 6);
  std::filesystem::remove_all(path("logs/1"));
  EXPECT_EQ(run(shell(3, "echo kept")).result.return_code, 0);
  EXPECT_EQ(log(3), "kept\n");
}

// What is lost in the middle is marked where it is missing, and the rest is kept.
TEST_F(ShepherdDiskTest, MarksALossWhereItHappened) {
  const std::string gate = path("gate");
  start(shell(1, "seq 300000; mkdir " + path("written") + "; while [ ! -e " + gate +
                     " ]; do sleep 0.02; done; echo after"));
  awaitStart(1);
  // All but what the pipe holds was read by then: twice as much as the disk takes.
  awaitOutside("the output", [this] { return std::filesystem::exists(path("written")); });
  ASSERT_EQ(mount("none", path("logs").c_str(), "tmpfs", MS_REMOUNT, "size=8m"), 0);
  ASSERT_EQ(mkdir(gate.c_str(), 0700), 0);
  const EndedNote& note = awaitEnd(1);
  EXPECT_EQ(note.result.return_code, 0);
  EXPECT_TRUE(note.stdout_cut);
  const std::string text = log(1);
  const size_t mark = text.find(kLogMark);
  ASSERT_NE(mark, std::string::npos);
  const size_t after = text.find("after\n", mark);
  ASSERT_NE(after, std::string::npos);
  EXPECT_TRUE(lastLine(text).starts_with(kLogMark));
}

}  // namespace
}  // namespace baton::worker
