#include "tests/bench/bench_case.h"
#include "tests/bench/limits.h"
#include "tests/bench/start_probe.h"

namespace baton::bench {
namespace {

constexpr uint64_t kSamples = 200;

}  // namespace

Status benchStartLatency(BenchRun& run) {
  ASSIGN_OR_RETURN(
      const auto cluster,
      run.cluster({.masters = 1, .workers = run.options.workers, .runners = run.options.runners}));
  ASSIGN_OR_RETURN(auto client, cluster->makeClient());
  const std::string tag = freshTag("p3");
  StartProbe probe(*cluster, client, tag);
  std::vector<double> submits, starts;
  const uint64_t samples = run.tasksOr(kSamples);
  RETURN_IF_ERROR(probe.sample(5).status());  // The first ones open connections.
  ASSIGN_OR_RETURN(const auto all, probe.sample(samples));
  for (const StartProbe::Sample& one : all) {
    submits.push_back(one.submit_ms);
    starts.push_back(one.start_ms);
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
