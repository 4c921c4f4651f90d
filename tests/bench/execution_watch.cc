#include "tests/bench/execution_watch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sstream>

#include "common/base/clock.h"
#include "common/base/file_descriptor.h"
#include "worker/shepherd_records.h"

namespace baton::bench {
namespace {

constexpr Millis kLookEvery{200};

}  // namespace

struct ExecutionWatch::File {
  std::string path;
  FileDescriptor fd{};
  ino_t inode = 0;
  std::string rest{};  // A line of which the end has not been written yet.
};

ExecutionWatch::ExecutionWatch(const std::vector<std::string>& worker_dirs) {
  for (const std::string& dir : worker_dirs) {
    files_.push_back(std::make_unique<File>(File{.path = dir + "/" + worker::kRecordsName}));
  }
  executions();
  thread_ = NamedThread("exec-watch", [this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(kLookEvery);
      const std::lock_guard lock(mutex_);
      readAll();
    }
  });
}

ExecutionWatch::~ExecutionWatch() = default;

std::map<TaskId, uint32_t> ExecutionWatch::executions() {
  const std::lock_guard lock(mutex_);
  readAll();
  std::map<TaskId, uint32_t> counts;
  for (const auto& [process, task] : seen_) ++counts[task];
  return counts;
}

void ExecutionWatch::readAll() {
  for (const auto& file : files_) {
    // First to the end of the file that is open, then on to the one that has replaced it.
    for (int round = 0; round < 2; ++round) {
      char buffer[65536];
      ssize_t got = 0;
      while (file->fd && (got = read(file->fd.get(), buffer, sizeof buffer)) > 0) {
        file->rest.append(buffer, static_cast<size_t>(got));
        size_t begin = 0;
        for (size_t end = 0; (end = file->rest.find('\n', begin)) != std::string::npos;
             begin = end + 1) {
          takeLine(*file, file->rest.substr(begin, end - begin));
        }
        file->rest.erase(0, begin);
      }
      struct stat info {};
      if (round > 0 || stat(file->path.c_str(), &info) != 0 || info.st_ino == file->inode) break;
      file->fd.reset(open(file->path.c_str(), O_RDONLY | O_CLOEXEC));
      file->inode = info.st_ino;
      file->rest.clear();
    }
  }
}

void ExecutionWatch::takeLine(File& file, const std::string& line) {
  if (!line.starts_with("S ")) return;
  std::istringstream in(line.substr(2));
  TaskId task = 0;
  std::string attempt, pid, ticks;
  in >> task >> attempt >> pid >> ticks;
  seen_[file.path + "/" + std::to_string(task) + "/" + pid + "/" + ticks] = task;
}

}  // namespace baton::bench
