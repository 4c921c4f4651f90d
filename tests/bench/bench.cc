#include "tests/bench/bench.h"

#include <unistd.h>

#include <fstream>
#include <iostream>
#include <map>
#include <thread>

#include "tests/bench/bench_case.h"
#include "tests/bench/limits.h"
#include "tests/bench/sweeper.h"

namespace baton::bench {
namespace {

using Case = Status (*)(BenchRun&);

const std::map<std::string, Case>& benchCases() {
  static const std::map<std::string, Case> cases{
      {"p1", benchThroughput},   {"p2", benchSimulatedThroughput},
      {"p3", benchStartLatency}, {"p4", benchTakeover},
      {"p9", benchMemory},       {"p10", benchPicker},
      {"p11", benchPlanner},     {"p14", benchNodeLatency},
      {"p15", benchRunSize}};
  return cases;
}

std::string loadAverage() {
  std::ifstream in("/proc/loadavg");
  std::string one, five;
  in >> one >> five;
  return one + " " + five;
}

Result<std::filesystem::path> makeRoot(const BenchOptions& options) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path parent =
      options.dir.empty() ? fs::temp_directory_path(failed) : fs::path(options.dir);
  fs::create_directories(parent, failed);
  std::string name = (fs::absolute(parent, failed) / "baton-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) != nullptr) return fs::path(name);
  return Error::unavailable("no folder can be made in {}", parent.string());
}

// The limits need a database when any case does: it is the cluster's own, so that the disk is
// the same.
Status measureLimits(BenchRun& run) {
  const bool only_picker = run.options.cases == std::vector<std::string>{"p10"};
  if (only_picker) return addLimits(nullptr, run.report);
  ASSIGN_OR_RETURN(const auto cluster, run.cluster({}));
  for (const auto& [name, value] : cluster->settings()) run.report.setting(name, value);
  ASSIGN_OR_RETURN(const auto session, cluster->writingSession());
  return addLimits(session.get(), run.report);
}

}  // namespace

Result<std::unique_ptr<BenchCluster>> BenchRun::cluster(const ClusterPlan& plan) {
  if (!options.config.empty()) return BenchCluster::attach(options);
  const std::filesystem::path dir = root / std::to_string(++clusters);
  std::error_code failed;
  std::filesystem::create_directories(dir, failed);
  return BenchCluster::start(options, plan, dir);
}

int runBench(const std::vector<std::string>& arguments) {
  const auto options = parseBenchOptions(arguments);
  if (!options.ok()) {
    const bool help = options.error().code() == ErrorCode::Cancelled;
    (help ? std::cout : std::cerr)
        << (help ? "" : "baton bench: ") << options.error().message() << (help ? "" : "\n");
    return help ? 0 : 2;
  }
  const auto root = makeRoot(*options);
  if (!root.ok()) {
    std::cerr << "baton bench: " << root.error().message() << "\n";
    return 1;
  }
  const auto sweeper = Sweeper::start(root->string(), options->keep);
  if (!sweeper.ok()) {
    std::cerr << "baton bench: " << sweeper.error().message() << "\n";
    return 1;
  }
  Report report;
  report.setting("baton", BATON_VERSION);
  report.setting("processors", std::to_string(std::thread::hardware_concurrency()));
  report.setting("load average before", loadAverage());
  report.setting("settings of baton", "default");
  BenchRun run{*options, report, *root};
  if (const Status limits = measureLimits(run); !limits.ok()) report.fail(limits.text());
  for (const std::string& name : options->cases) {
    if (report.failed()) break;
    std::cerr << "baton bench: " << name << "\n";
    const Status measured = benchCases().at(name)(run);
    if (!measured.ok()) report.fail(measured.text());
  }
  report.setting("load average behind", loadAverage());
  std::cout << (options->json ? report.json().dump(2) + "\n" : report.table()) << std::flush;
  std::error_code ignored;
  if (options->keep) {
    std::cerr << "baton bench: left " << root->string() << "\n";
  } else {
    std::filesystem::remove_all(*root, ignored);
  }
  return report.failed() ? 1 : 0;
}

}  // namespace baton::bench
