#include "worker/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace baton::worker {
namespace {

class OutputFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/baton-output-XXXXXX";
    path_ = mkdtemp(pattern.data());
    dir_.reset(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  std::string content() const {
    std::ifstream in(path_ + "/a/b/out", std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

  std::string path_;
  FileDescriptor dir_;
};

// No output, no file.
TEST_F(OutputFileTest, IsMadeWithTheFirstByte) {
  OutputFile file(dir_.get(), "a/b/out", 100);
  file.append("");
  file.finish();
  EXPECT_FALSE(std::filesystem::exists(path_ + "/a"));
}

// Exactly the cap is no loss.
TEST_F(OutputFileTest, TakesExactlyItsCap) {
  OutputFile file(dir_.get(), "a/b/out", 10);
  file.append("01234");
  file.append("56789");
  file.finish();
  EXPECT_EQ(content(), "0123456789");
  EXPECT_EQ(file.storedBytes(), 10);
  EXPECT_EQ(file.lostBytes(), 0);
}

// One byte more is, and the mark begins a line of its own and counts it.
TEST_F(OutputFileTest, MarksWhatIsPastItsCap) {
  OutputFile file(dir_.get(), "a/b/out", 10);
  file.append("01234567");
  file.append("89ab");
  file.append("cdef");
  file.finish();
  EXPECT_EQ(content(),
            "0123456789\n" + std::string(kLogMark) + ", 6 bytes lost: log.max_bytes reached]\n");
  EXPECT_EQ(file.lostBytes(), 6);
  EXPECT_EQ(file.storedBytes(), static_cast<int64_t>(content().size()));
}

// A link that a task put in place of its log is not written through.
TEST_F(OutputFileTest, FollowsNoLink) {
  std::filesystem::create_directories(path_ + "/a/b");
  std::ofstream(path_ + "/victim") << "intact";
  std::filesystem::create_symlink(path_ + "/victim", path_ + "/a/b/out");
  OutputFile file(dir_.get(), "a/b/out", 10);
  file.append("x");
  file.finish();
  EXPECT_EQ(content(), "intact");
  EXPECT_EQ(file.lostBytes(), 1);
}

}  // namespace
}  // namespace baton::worker
