#include <fstream>
#include <thread>

#include "tests/bench/bench_case.h"
#include "tests/bench/limits.h"

namespace baton::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr uint64_t kSamples = 200;
constexpr auto kSettle = std::chrono::milliseconds(30);  // The worker is idle again.
constexpr auto kOutputPatience = std::chrono::seconds(10);

int64_t wallNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// What the task printed, from the log of whichever worker ran it.
Result<int64_t> startOf(const BenchCluster& cluster, const std::string& id) {
  const auto until = SteadyClock::now() + kOutputPatience;
  while (SteadyClock::now() < until) {
    for (const std::string& dir : cluster.workerDirs()) {
      std::ifstream in(dir + "/logs/" + id + "/1/stdout");
      int64_t nanos = 0;
      if (in >> nanos) return nanos;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  return Error::unavailable("p3: task {} left no output", id);
}

}  // namespace

Status benchStartLatency(BenchRun& run) {
  ASSIGN_OR_RETURN(
      const auto cluster,
      run.cluster({.masters = 1, .workers = run.options.workers, .runners = run.options.runners}));
  ASSIGN_OR_RETURN(auto client, cluster->makeClient());
  const std::string tag = freshTag("p3");
  webapi::ApiRequest request;
  request.method = "POST";
  request.target = "/api/v1/tasks";
  request.body = fmt::format(R"({{"name":"date","command":["date","+%s%N"],"tags":["{}"]}})", tag);
  request.repeatable = false;
  std::vector<double> submits, starts;
  const uint64_t samples = run.tasksOr(kSamples);
  for (uint64_t i = 0; i < samples + 5; ++i) {
    std::this_thread::sleep_for(kSettle);
    const int64_t sent = wallNanos();
    ASSIGN_OR_RETURN(const webapi::ApiReply reply, client.call(request));
    const int64_t answered = wallNanos();
    ASSIGN_OR_RETURN(const Json task, reply.json());
    ASSIGN_OR_RETURN(const int64_t started, startOf(*cluster, task.at("id").get<std::string>()));
    if (i < 5) continue;  // The first ones open connections.
    submits.push_back(static_cast<double>(answered - sent) / 1e6);
    starts.push_back(static_cast<double>(started - sent) / 1e6);
  }
  ASSIGN_OR_RETURN(const uint64_t finished, awaitFinished(*cluster, tag, samples + 5));
  if (finished != samples + 5) {
    return Error::make(ErrorCode::Corrupt, "p3: {} tasks submitted, {} FINISHED", samples + 5,
                       finished);
  }
  const double p50 = quantile(starts, 0.5);
  run.report.add({.name = "p3.submit_answer_p50", .value = quantile(submits, 0.5), .unit = "ms"});
  run.report.add(
      {.name = "p3.start_p50",
       .value = p50,
       .unit = "ms",
       .must = 8,
       .goal = 5.4,
       .low_is_good = true,
       .note = fmt::format("{} tasks, from sending the submit to `date` running", starts.size())});
  run.report.add({.name = "p3.start_p99_of_p50",
                  .value = quantile(starts, 0.99) / p50,
                  .unit = "ratio",
                  .must = 3,
                  .low_is_good = true,
                  .note = fmt::format("p99 {:.2f} ms", quantile(starts, 0.99))});
  ASSIGN_OR_RETURN(const auto session, cluster->writingSession());
  ASSIGN_OR_RETURN(const CommitLimit commits, measureCommits(*session));
  run.report.add({.name = "p3.commit_p50",
                  .value = commits.p50_ms,
                  .unit = "ms",
                  .note = "of the same database just behind it"});
  return {};
}

}  // namespace baton::bench
