#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/file_descriptor.h"
#include "net/event_loop.h"
#include "worker/shepherd_client.h"
#include "worker/shepherd_launcher.h"
#include "worker/task_environment.h"

namespace baton::worker {

// A real shepherd process on a temporary directory, and the daemon's side of its socket.
class ShepherdTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  void launch();
  void connect();
  // Runs the loop until the condition holds; fails the test after 20 s.
  void await(const std::string& what, const std::function<bool()>& condition,
             Seconds limit = Seconds(20));
  // The same for things that do not come as notes, looked at every few milliseconds.
  void awaitOutside(const std::string& what, const std::function<bool()>& condition);

  AttemptKey key(TaskId task, int32_t attempt = 1) const {
    return {.task_id = task, .attempt = attempt, .nonce = "n" + std::to_string(task)};
  }
  StartRequest command(TaskId task, std::vector<std::string> argv) const;
  StartRequest shell(TaskId task, const std::string& script) const;
  void start(const StartRequest& request) { client_->send(request); }
  const EndedNote& awaitEnd(TaskId task);
  void awaitStart(TaskId task);
  // Starts it and waits for its end.
  const EndedNote& run(const StartRequest& request);
  std::string log(TaskId task, const std::string& stream = "stdout") const;
  std::string path(const std::string& name) const { return dir_path_ + "/" + name; }
  // Kills the shepherd and waits until its lock is free.
  void killShepherd();
  size_t zombiesOfShepherd() const;

  ShepherdLaunch launch_;
  std::string dir_path_;
  std::string worker_id_;
  FileDescriptor dir_;
  std::unique_ptr<net::EventLoop> loop_;
  std::unique_ptr<ShepherdClient> client_;
  pid_t shepherd_pid_ = 0;
  HelloNote hello_;
  bool greeted_ = false;
  bool lost_ = false;
  std::map<TaskId, StartedNote> started_;
  std::map<TaskId, EndedNote> ended_;
  std::map<TaskId, int> ended_count_;
  std::vector<RefusedNote> refused_;
  bool acknowledge_ = true;

 private:
  void onNote(ShepherdNote note);
  std::function<bool()> condition_;
};

std::string readWholeFile(const std::string& path);
// The living processes whose command line contains the text.
std::vector<pid_t> processesWith(const std::string& text);

}  // namespace baton::worker
