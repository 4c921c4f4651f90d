#pragma once

#include <map>
#include <string>
#include <vector>

#include "conf/common_config.h"

namespace baton::conf {

// Settings of `baton worker`, checked; the token is read.
struct WorkerConfig {
  std::string worker_id;
  int runners = 0;
  std::map<std::string, std::string> labels;
  std::string plugins;               // Folder; empty: none.
  std::vector<std::string> masters;  // host:port
  std::string data_dir;
  HttpConfig http;
  int64_t output_max_bytes = 0;  // Of each output stream of an attempt.
  LogOptions log;
  std::string worker_token;
};

// Errors: as loadMasterConfig.
Result<WorkerConfig> loadWorkerConfig(const std::string& path, const Environment& environment);
Result<WorkerConfig> readWorkerConfig(const std::string& file, std::string_view text,
                                      const Environment& environment);

}  // namespace baton::conf
