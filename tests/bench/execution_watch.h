#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/named_thread.h"
#include "common/model/ids.h"

namespace baton::bench {

// Counts what the shepherds of some workers execute, from the record that each child writes of
// itself before its exec: no word of master or worker is taken for it. Reads the records as they
// grow, because a shepherd rewrites its file after 20,000 lines. Any thread.
class ExecutionWatch {
 public:
  explicit ExecutionWatch(const std::vector<std::string>& worker_dirs);
  ~ExecutionWatch();

  // Executions of each task so far.
  std::map<TaskId, uint32_t> executions();

 private:
  struct File;

  void readAll();  // Under mutex_.
  void takeLine(File& file, const std::string& line);

  std::mutex mutex_;
  std::vector<std::unique_ptr<File>> files_;  // Guarded by mutex_, as the next.
  // By process, so that the lines of a rewritten file count once.
  std::map<std::string, TaskId> seen_;
  NamedThread thread_;
};

}  // namespace baton::bench
