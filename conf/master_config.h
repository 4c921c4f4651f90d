#pragma once

#include <string>
#include <vector>

#include "conf/common_config.h"

namespace baton::conf {

struct ZookeeperConfig {
  std::vector<std::string> hosts;  // host:port
  std::string root;                // "/baton"
  Millis session{0};
  std::string digest;  // user:password; empty: none.
};

struct DatabaseConfig {
  std::string host;  // Empty: the socket.
  int port = 0;
  std::string socket;
  std::string name;
  std::string user;
  std::string password;
  std::string reader_user;  // Empty: `user`, in read-only transactions.
  std::string reader_password;
  std::string tls_ca;  // Empty: no TLS.
};

// Settings of `baton master`, checked; secrets are read.
struct MasterConfig {
  std::string node_id;
  std::string cluster_name;
  HttpConfig http;
  ZookeeperConfig zookeeper;
  int priority = 0;
  bool eligible = true;
  DatabaseConfig database;
  EngineConfig engine;
  LogOptions log;
  std::string token;
  std::string worker_token;
};

// Reads a settings file and what it points to. Errors: NotFound or PermissionDenied (the file
// itself), InvalidArgument with one line for each thing that is wrong: file, line, key,
// expectation.
Result<MasterConfig> loadMasterConfig(const std::string& path, const Environment& environment);
// The same from text; `file` only names it in messages.
Result<MasterConfig> readMasterConfig(const std::string& file, std::string_view text,
                                      const Environment& environment);

}  // namespace baton::conf
