#include "tests/bench/start_probe.h"

#include <fmt/format.h>

#include <fstream>
#include <thread>

namespace baton::bench {
namespace {

constexpr auto kSettle = std::chrono::milliseconds(30);  // The worker is idle again.
constexpr auto kOutputPatience = std::chrono::seconds(10);

int64_t wallNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Result<int64_t> printedTime(const BenchCluster& cluster, const std::string& id) {
  const auto until = std::chrono::steady_clock::now() + kOutputPatience;
  while (std::chrono::steady_clock::now() < until) {
    for (const std::string& dir : cluster.workerDirs()) {
      std::ifstream in(dir + "/logs/" + id + "/1/stdout");
      int64_t nanos = 0;
      if (in >> nanos) return nanos;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  return Error::unavailable("task {} left no output", id);
}

StartProbe::StartProbe(const BenchCluster& cluster, webapi::ApiClient& client,
                       const std::string& tag)
    : cluster_(cluster), client_(client) {
  request_.method = "POST";
  request_.target = "/api/v1/tasks";
  request_.body = fmt::format(R"({{"name":"date","command":["date","+%s%N"],"tags":["{}"]}})", tag);
  request_.repeatable = false;
}

Result<std::vector<StartProbe::Sample>> StartProbe::sample(uint64_t count) {
  std::vector<Sample> samples;
  for (uint64_t i = 0; i < count; ++i) {
    std::this_thread::sleep_for(kSettle);
    const int64_t sent = wallNanos();
    ASSIGN_OR_RETURN(const webapi::ApiReply reply, client_.call(request_));
    const int64_t answered = wallNanos();
    ASSIGN_OR_RETURN(const Json task, reply.json());
    ASSIGN_OR_RETURN(const int64_t started,
                     printedTime(cluster_, task.at("id").get<std::string>()));
    samples.push_back({.submit_ms = static_cast<double>(answered - sent) / 1e6,
                       .start_ms = static_cast<double>(started - sent) / 1e6});
  }
  return samples;
}

}  // namespace baton::bench
