#include "tests/integration/worker/shepherd_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/base/random.h"
#include "worker/attempt_files.h"
#include "worker/proc_info.h"

namespace baton::worker {

std::string readWholeFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<pid_t> processesWith(const std::string& text) {
  std::vector<pid_t> found;
  for (const pid_t pid : listProcesses()) {
    const auto stat = readProcStat(pid);
    if (!stat || stat->isDead()) continue;
    if (readWholeFile("/proc/" + std::to_string(pid) + "/cmdline").find(text) !=
        std::string::npos) {
      found.push_back(pid);
    }
  }
  return found;
}

void ShepherdTest::SetUp() {
  std::string pattern = testing::TempDir() + "/baton-shepherd-XXXXXX";
  dir_path_ = mkdtemp(pattern.data());
  worker_id_ = "w-" + randomHex(6);
  dir_.reset(open(dir_path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  auto loop = net::EventLoop::create();
  ASSERT_TRUE(loop.ok());
  loop_ = std::move(*loop);
  launch_ = {.command = {"/proc/self/exe", "shepherd"}, .dir = dir_path_};
}

void ShepherdTest::TearDown() {
  client_.reset();
  if (shepherd_pid_ != 0) {
    kill(shepherd_pid_, SIGKILL);
    waitpid(shepherd_pid_, nullptr, 0);
    // A child on its way to its program holds the lock as well, and is not on record before.
    awaitOutside("a free lock", [this] { return !*isShepherdAlive(dir_.get()); });
  }
  EXPECT_TRUE(clearAfterShepherd(dir_.get(), worker_id_).ok());
  std::error_code error;
  std::filesystem::remove_all(dir_path_, error);
}

void ShepherdTest::launch() {
  const auto pid = launchShepherd(launch_);
  ASSERT_TRUE(pid.ok()) << pid.error().text();
  shepherd_pid_ = *pid;
  connect();
}

void ShepherdTest::connect() {
  client_ = std::make_unique<ShepherdClient>(
      *loop_,
      ShepherdClient::Hooks{.on_note = [this](ShepherdNote note) { onNote(std::move(note)); },
                            .on_lost =
                                [this] {
                                  lost_ = true;
                                  if (condition_ && condition_()) loop_->stop();
                                }});
  greeted_ = false;
  const Status connected = client_->connect(dir_.get());
  ASSERT_TRUE(connected.ok()) << connected.text();
  await("the hello", [this] { return greeted_; });
}

void ShepherdTest::onNote(ShepherdNote note) {
  if (const auto* hello = std::get_if<HelloNote>(&note)) {
    hello_ = *hello;
    greeted_ = true;
  } else if (const auto* started = std::get_if<StartedNote>(&note)) {
    started_[started->key.task_id] = *started;
  } else if (const auto* ended = std::get_if<EndedNote>(&note)) {
    ended_[ended->key.task_id] = *ended;
    ++ended_count_[ended->key.task_id];
    if (acknowledge_) client_->send(AckRequest{.key = ended->key});
  } else if (const auto* refused = std::get_if<RefusedNote>(&note)) {
    refused_.push_back(*refused);
  }
  if (condition_ && condition_()) loop_->stop();
}

void ShepherdTest::await(const std::string& what, const std::function<bool()>& condition,
                         Seconds limit) {
  if (condition()) return;
  condition_ = condition;
  bool late = false;
  const auto timer = loop_->callAfter(limit, [&] {
    late = true;
    loop_->stop();
  });
  loop_->run({});
  loop_->cancel(timer);
  condition_ = nullptr;
  ASSERT_FALSE(late) << "waited in vain for " << what;
}

void ShepherdTest::awaitOutside(const std::string& what, const std::function<bool()>& condition) {
  const BootTime deadline = SystemClock().bootNow() + Seconds(20);
  while (!condition()) {
    ASSERT_LT(SystemClock().bootNow(), deadline) << "waited in vain for " << what;
    loop_->callAfter(Millis(5), [this] { loop_->stop(); });
    loop_->run({});
  }
}

StartRequest ShepherdTest::command(TaskId task, std::vector<std::string> argv) const {
  StartRequest request;
  request.key = key(task);
  request.argv = std::move(argv);
  request.env = taskEnvironment({.identity = TaskIdentity::ofThisProcess(),
                                 .worker_id = worker_id_,
                                 .runner_id = worker_id_ + ":0",
                                 .data_dir = dir_path_,
                                 .key = request.key,
                                 .epoch = 1},
                                {});
  return request;
}

StartRequest ShepherdTest::shell(TaskId task, const std::string& script) const {
  return command(task, {"/bin/bash", "-c", script});
}

const EndedNote& ShepherdTest::awaitEnd(TaskId task) {
  await("the end of task " + std::to_string(task), [&] { return ended_.contains(task); });
  return ended_[task];
}

void ShepherdTest::awaitStart(TaskId task) {
  await("the start of task " + std::to_string(task), [&] { return started_.contains(task); });
}

const EndedNote& ShepherdTest::run(const StartRequest& request) {
  start(request);
  return awaitEnd(request.key.task_id);
}

std::string ShepherdTest::log(TaskId task, const std::string& stream) const {
  return readWholeFile(path(logFolder(key(task)) + "/" + stream));
}

void ShepherdTest::killShepherd() {
  kill(shepherd_pid_, SIGKILL);
  waitpid(shepherd_pid_, nullptr, 0);
  shepherd_pid_ = 0;
  awaitOutside("a free lock", [this] { return !*isShepherdAlive(dir_.get()); });
}

size_t ShepherdTest::zombiesOfShepherd() const {
  size_t zombies = 0;
  for (const pid_t child : readChildren(shepherd_pid_)) {
    const auto stat = readProcStat(child);
    if (stat && stat->isDead()) ++zombies;
  }
  return zombies;
}

}  // namespace baton::worker
