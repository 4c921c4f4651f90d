#pragma once

#include <map>
#include <string>

#include "conf/common_config.h"

namespace baton::conf {

// Settings of `baton standalone`, checked. Its tokens are made by itself, in its data folder.
struct StandaloneConfig {
  std::string data_dir;
  int runners = 0;
  std::map<std::string, std::string> labels;
  std::string plugins;  // Folder; empty: none.
  HttpConfig http;
  int64_t output_max_bytes = 0;  // Of each output stream of an attempt.
  EngineConfig engine;
  LogOptions log;
};

// Errors: as loadMasterConfig. An empty `path` means defaults and environment alone.
Result<StandaloneConfig> loadStandaloneConfig(const std::string& path,
                                              const Environment& environment);
Result<StandaloneConfig> readStandaloneConfig(const std::string& file, std::string_view text,
                                              const Environment& environment);

}  // namespace baton::conf
