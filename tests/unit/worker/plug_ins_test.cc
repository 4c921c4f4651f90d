#include "worker/plug_ins.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace baton::worker {
namespace {

using Kinds = std::set<std::string>;

class PlugInsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/baton-plugins-XXXXXX";
    root_ = std::filesystem::canonical(mkdtemp(pattern.data()));
    dir_ = root_ + "/plugins";
    ASSERT_EQ(mkdir(dir_.c_str(), 0755), 0);
    ASSERT_EQ(chmod(dir_.c_str(), 0755), 0);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  std::string put(const std::string& name, mode_t mode = 0755) {
    const std::string path = dir_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n";
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  Kinds kinds() {
    now_ += Seconds(2);
    return folder_->kinds(now_);
  }
  std::string whyNot(const std::string& kind) {
    const auto found = folder_->find(kind);
    return found.ok() ? "found" : found.error().message();
  }
  void expectText(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }

  std::string root_;
  std::string dir_;
  BootTime now_{};
  std::unique_ptr<PlugInFolder> folder_;
};

// Executables with the right name are plug-ins and nothing else is.
TEST_F(PlugInsTest, FindsExecutablesByTheirName) {
  folder_ = std::make_unique<PlugInFolder>(dir_);
  const std::string path = put("baton-task-copy");
  put("baton-task-plain", 0644);
  put("baton-task-http");
  put("baton-task-");
  put("other");
  std::filesystem::create_directory(dir_ + "/baton-task-folder");
  EXPECT_EQ(kinds(), Kinds{"copy"});
  EXPECT_EQ(*folder_->find("copy"), path);
  expectText(whyNot("plain"), "baton-task-plain can't be executed: Permission denied");
  expectText(whyNot("folder"), "is not a regular file");
  expectText(whyNot("none"), dir_ + "/baton-task-none: No such file or directory");
}

// The folder is looked at anew, but not with every heartbeat.
TEST_F(PlugInsTest, NoticesWhatComesAndGoes) {
  folder_ = std::make_unique<PlugInFolder>(dir_);
  EXPECT_EQ(kinds(), Kinds{});
  const std::string path = put("baton-task-a");
  EXPECT_EQ(folder_->kinds(now_), Kinds{});
  EXPECT_EQ(kinds(), Kinds{"a"});
  unlink(path.c_str());
  EXPECT_EQ(kinds(), Kinds{});
}

// What others could write to is no plug-in, and the reason names the place: the file, its folder, a
// folder above, what a link leads to.
TEST_F(PlugInsTest, RefusesWhatOthersCouldChange) {
  folder_ = std::make_unique<PlugInFolder>(dir_);
  put("baton-task-good");
  const std::string bad = put("baton-task-bad", 0777);
  EXPECT_EQ(kinds(), Kinds{"good"});
  expectText(whyNot("bad"), bad + " is writable by everybody (mode 777); expected chmod go-w");
  const std::string open = root_ + "/open";
  ASSERT_EQ(mkdir(open.c_str(), 0755), 0);
  std::filesystem::copy_file(dir_ + "/baton-task-good", open + "/program");
  std::filesystem::create_symlink(open + "/program", dir_ + "/baton-task-linked");
  EXPECT_EQ(kinds(), (Kinds{"good", "linked"}));
  ASSERT_EQ(chmod(open.c_str(), 0775), 0);
  expectText(whyNot("linked"), open + " is writable by its group (mode 775)");
  EXPECT_EQ(kinds(), Kinds{"good"});
  ASSERT_EQ(chmod(dir_.c_str(), 0777), 0);
  expectText(whyNot("good"), dir_ + " is writable by everybody");
  EXPECT_EQ(kinds(), Kinds{});
  ASSERT_EQ(chmod(dir_.c_str(), 0755), 0);
  ASSERT_EQ(chmod(root_.c_str(), 0777), 0);
  expectText(whyNot("good"), root_ + " is writable by everybody");
  ASSERT_EQ(chmod(root_.c_str(), 01777), 0);  // As /tmp: nobody can rename what is ours.
  EXPECT_EQ(kinds(), Kinds{"good"});
}

TEST_F(PlugInsTest, AFolderThatIsNotThereHasNone) {
  folder_ = std::make_unique<PlugInFolder>(dir_ + "/nowhere");
  EXPECT_EQ(kinds(), Kinds{});
  expectText(whyNot("a"), dir_ + "/nowhere: No such file or directory");
  folder_ = std::make_unique<PlugInFolder>("");
  EXPECT_EQ(kinds(), Kinds{});
  expectText(whyNot("a"), "this worker has no plug-ins");
}

// A heartbeat has room for so many labels.
TEST_F(PlugInsTest, AnnouncesNoMoreThanAHeartbeatHolds) {
  folder_ = std::make_unique<PlugInFolder>(dir_);
  for (size_t i = 0; i < kPlugInsMax + 3; ++i) put(fmt::format("baton-task-{}", i));
  EXPECT_EQ(kinds().size(), kPlugInsMax);
}

}  // namespace
}  // namespace baton::worker
