#include "tests/bench/bench_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <optional>

namespace baton::bench {
namespace {

constexpr std::array<std::string_view, 9> kCases{"p1",  "p2",  "p3",  "p4", "p9",
                                                 "p10", "p11", "p14", "p15"};

template <typename Number>
Status readNumber(const std::string& name, const std::string& text, Number& out) {
  const char* const end = text.data() + text.size();
  const auto [read, failure] = std::from_chars(text.data(), end, out);
  if (failure == std::errc() && read == end && out > 0) return {};
  return Error::invalidArgument("{} is \"{}\", expected a number from 1", name, text);
}

void splitInto(const std::string& text, std::vector<std::string>& out) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

Status addCases(const std::string& text, std::vector<std::string>& cases) {
  std::vector<std::string> names;
  splitInto(text, names);
  for (const std::string& name : names) {
    if (name == "all") {
      cases.insert(cases.end(), kCases.begin(), kCases.end());
    } else if (std::find(kCases.begin(), kCases.end(), name) != kCases.end()) {
      cases.push_back(name);
    } else {
      return Error::invalidArgument("--case is \"{}\", expected {} or all", name,
                                    fmt::join(kCases, ", "));
    }
  }
  return {};
}

Status checkTogether(const BenchOptions& options) {
  if (options.config.empty() != options.masters.empty()) {
    return Error::invalidArgument("a given cluster needs both --config and --masters");
  }
  for (const std::string& name : options.cases) {
    if (options.config.empty()) continue;
    if (name == "p4" || name == "p9" || name == "p11" || name == "p15") {
      return Error::invalidArgument(
          "case {} ends masters or measures their processes: only on a cluster of its own", name);
    }
    const bool looks_at_workers = name == "p1" || name == "p3" || name == "p14";
    if (looks_at_workers && options.worker_dirs.empty()) {
      return Error::invalidArgument(
          "case {} on a given cluster needs --worker-dir for each worker: what the shepherds "
          "executed is read there",
          name);
    }
  }
  return {};
}

}  // namespace

std::string benchUsage() {
  return R"(baton bench [options]: measures baton and the limits of this machine in one run

  --case NAME       p1 tasks/s end to end, p2 the same with simulated runners, p3 submit to start,
                    p4 takeover after kill -9, p9 memory, p10 picker, p11 planner, p14 end of a
                    task to the start of the next, p15 large runs, all; may be repeated
                    (default: all)
  --tasks N         tasks of a case (default: p1 6000, p2 30000, p3 200 samples, p4 100000,
                    p9 200000, p10 1000000, p11 100000 schedules, p14 200 samples, p15 10000
                    in the largest run)
  --repeat N        runs of p1, p2 and p4; the median counts (default: 3)
  --workers N       workers of the cluster that it starts (default: 4)
  --runners N       runners of each worker (default: that of baton)
  --sim-runners N   simulated runners of p2 and p15 (default: 256)
  --dir D           where the cluster is made (default: a temporary folder); not on tmpfs
  --keep            leaves that folder behind
  --scripts D       folder of private_mariadb.sh and private_zookeeper.sh (default: found beside
                    the program)
  -o, --output F    table or json (default: table)

  --config FILE     a given cluster: the settings file of one of its masters,
  --masters LIST    all its masters as host:port, separated by commas,
  --worker-dir D    and the data folder of each worker (p1, p3, p14), on this machine

A cluster of its own has one private ZooKeeper and one private MariaDB; baton runs with its default
settings. See docs/benchmarks.md.
)";
}

Result<BenchOptions> parseBenchOptions(const std::vector<std::string>& arguments) {
  BenchOptions options;
  const std::map<std::string, std::function<Status(const std::string&)>> valued{
      {"--case", [&](const std::string& text) { return addCases(text, options.cases); }},
      {"--dir", [&](const std::string& text) { return options.dir = text, Status(); }},
      {"--scripts", [&](const std::string& text) { return options.scripts = text, Status(); }},
      {"--config", [&](const std::string& text) { return options.config = text, Status(); }},
      {"--masters",
       [&](const std::string& text) { return splitInto(text, options.masters), Status(); }},
      {"--worker-dir",
       [&](const std::string& text) { return options.worker_dirs.push_back(text), Status(); }},
      {"--tasks", [&](const std::string& t) { return readNumber("--tasks", t, options.tasks); }},
      {"--repeat", [&](const std::string& t) { return readNumber("--repeat", t, options.repeat); }},
      {"--workers",
       [&](const std::string& t) { return readNumber("--workers", t, options.workers); }},
      {"--runners",
       [&](const std::string& t) { return readNumber("--runners", t, options.runners); }},
      {"--sim-runners",
       [&](const std::string& t) { return readNumber("--sim-runners", t, options.sim_runners); }},
      {"--output",
       [&](const std::string& text) -> Status {
         options.json = text == "json";
         if (options.json || text == "table") return {};
         return Error::invalidArgument("--output is \"{}\", expected table or json", text);
       }},
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string name = arguments[i] == "-o" ? "--output" : arguments[i];
    if (name == "--help" || name == "-h" || name == "help") {
      return Error(ErrorCode::Cancelled, benchUsage());
    }
    if (name == "--keep") {
      options.keep = true;
      continue;
    }
    std::optional<std::string> value;
    if (const size_t equals = name.find('='); equals != name.npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    const auto known = valued.find(name);
    if (known == valued.end()) return Error::invalidArgument("there is no option {}", name);
    if (!value && ++i == arguments.size()) {
      return Error::invalidArgument("{} needs a value", name);
    }
    RETURN_IF_ERROR(known->second(value ? *value : arguments[i]));
  }
  if (options.cases.empty()) options.cases.assign(kCases.begin(), kCases.end());
  RETURN_IF_ERROR(checkTogether(options));
  return options;
}

}  // namespace baton::bench
