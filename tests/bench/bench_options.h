#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace baton::bench {

// What the command line of `baton bench` asks for. 0 and empty: the case's own default.
struct BenchOptions {
  std::vector<std::string> cases;  // "p1", …; in the order of the command line.
  std::string dir;                 // Where a cluster of our own is made; empty: a temporary folder.
  bool keep = false;               // Leave that folder behind.
  bool json = false;
  std::string scripts;  // Folder of private_mariadb.sh and private_zookeeper.sh.
  uint64_t tasks = 0;
  uint32_t repeat = 0;  // Runs of a case; the median is reported.
  uint32_t workers = 4;
  uint32_t runners = 0;        // Of each worker; 0: baton's default.
  uint32_t sim_runners = 256;  // Simulated runners of p2 and p15.

  // A given cluster instead of one of our own: settings file of one of its masters, which names
  // the database and the tokens.
  std::string config;
  std::vector<std::string> masters;      // host:port
  std::vector<std::string> worker_dirs;  // Data folders of all its workers, on this machine.
};

// The text of `baton bench --help`.
std::string benchUsage();

// Errors: InvalidArgument (what is wrong), Cancelled (help was asked for).
Result<BenchOptions> parseBenchOptions(const std::vector<std::string>& arguments);

}  // namespace baton::bench
