#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/serve/serve_init.h"
#include "conf/master_config.h"
#include "conf/standalone_config.h"
#include "conf/worker_config.h"

namespace baton::cli {

// What the verbs that are no clients start; main fills it in, so that the verbs need not know the
// programs. A verb whose program is not there does not exist. Each returns the exit code.
struct Programs {
  std::function<int(const conf::MasterConfig&)> master;
  std::function<int(const conf::WorkerConfig&)> worker;
  std::function<int(const conf::StandaloneConfig&)> standalone;
  std::function<int(const conf::MasterConfig&, const InitOptions&)> cluster_init;
  std::function<int(const std::vector<std::string>& arguments)> bench;
  // Hidden: the process that outlives a worker. Gets its arguments as they are.
  std::function<int(const std::vector<std::string>& arguments)> shepherd;
  // Hidden: the process of a task of kind http.
  std::function<int(const std::vector<std::string>& arguments)> http_task;
};

}  // namespace baton::cli
