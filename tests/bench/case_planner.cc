#include <signal.h>

#include <thread>

#include "common/base/clock.h"
#include "common/model/run_status.h"
#include "tests/bench/bench_case.h"
#include "tests/bench/flow_load.h"
#include "tests/bench/process_figures.h"

namespace baton::bench {
namespace {

constexpr uint64_t kSchedules = 100'000;
constexpr uint64_t kBurstPart = 10;  // So many of them per one that is due in the burst.
constexpr auto kPlannerCalm = std::chrono::seconds(5);
constexpr auto kQuiet = std::chrono::seconds(20);
constexpr auto kBurstPatience = std::chrono::seconds(60);
constexpr auto kRestartSpan = std::chrono::seconds(15);

// Once a year, half a year from now: not due while this runs.
std::string idleFlow(uint64_t i) {
  const auto today = std::chrono::year_month_day(
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  const unsigned month = static_cast<unsigned>((today.month() + std::chrono::months(6)));
  return fmt::format(
      R"({{"flow":"idle-{}","schedule":{{"cron":"{} {} {} {} *","timezone":"Europe/Berlin"}},)"
      R"("tasks":{{"load":{{"command":["/bin/true"]}}}}}})",
      i, i % 60, i / 60 % 24, 1 + i / 1440 % 28, month);
}

std::string burstFlow(uint64_t i, WallTime at) {
  return fmt::format(R"({{"flow":"burst-{}","schedule":{{"at":"{}"}},)"
                     R"("tasks":{{"load":{{"command":["/bin/true"]}}}}}})",
                     i, formatRfc3339(at));
}

// Puts the flows of the burst online, due in one second that is far enough from now; returns it.
Result<WallTime> applyBurst(const BenchCluster& cluster, uint64_t count, double rate,
                            std::chrono::seconds more) {
  const auto span =
      std::chrono::seconds(static_cast<int64_t>(2 * static_cast<double>(count) / rate));
  const WallTime at =
      std::chrono::floor<Seconds>(SystemClock().wallNow()) + span + more + Seconds(3);
  const FlowLoad load{.count = count,
                      .name = [](uint64_t i) { return fmt::format("burst-{}", i); },
                      .text = [at](uint64_t i) { return burstFlow(i, at); }};
  RETURN_IF_ERROR(applyFlows(cluster, load).status());
  if (SystemClock().wallNow() < at) return at;
  return Error::unavailable("p11: the flows of the burst were not online in time");
}

// From the second on until all run rows were seen in the database.
Result<double> burstSeconds(BenchCluster& cluster, uint64_t count, WallTime at) {
  ASSIGN_OR_RETURN(const auto sql, cluster.readingSession());
  const SystemClock clock;
  uint64_t runs = 0;
  const auto read = [&](std::string_view counted) {
    return sql->query(
        fmt::format("SELECT COUNT({}) FROM run WHERE plan_time=? AND trigger_kind=?", counted),
        {toMicros(at), static_cast<int64_t>(RunTrigger::Schedule)}, [&runs](dao::SqlRow& row) {
          runs = row.natural(0);
          return true;
        });
  };
  std::this_thread::sleep_for(std::max<Micros>(Micros(0), at - clock.wallNow()));
  while (runs < count && clock.wallNow() < at + kBurstPatience) {
    RETURN_IF_ERROR(read("*"));
    if (runs < count) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const double seconds = static_cast<double>((clock.wallNow() - at).count()) / 1e6;
  const uint64_t rows = runs;
  RETURN_IF_ERROR(read("DISTINCT flow_key"));
  if (rows == count && runs == count) return seconds;
  return Error::make(ErrorCode::Corrupt, "p11: {} run rows of {} flows, expected {} of as many",
                     rows, runs, count);
}

// Share of one processor, in per cent.
double shareOver(pid_t pid, std::chrono::seconds span) {
  const double before = cpuSecondsOf(pid);
  std::this_thread::sleep_for(span);
  return (cpuSecondsOf(pid) - before) * 100 / static_cast<double>(span.count());
}

void addBurst(Report& report, const std::string& name, double seconds, std::string note) {
  report.add({.name = "p11." + name,
              .value = seconds,
              .unit = "s",
              .must = 5,
              .goal = 1,
              .low_is_good = true,
              .note = std::move(note)});
}

}  // namespace

Status benchPlanner(BenchRun& run) {
  ASSIGN_OR_RETURN(const auto cluster, run.cluster({.masters = 1}));
  const uint64_t schedules = run.tasksOr(kSchedules);
  const uint64_t burst = std::max<uint64_t>(1, schedules / kBurstPart);
  std::this_thread::sleep_for(kPlannerCalm);
  const pid_t pid = cluster->master(0).pid();
  const Memory empty = memoryOf(pid);
  const double share_empty = shareOver(pid, kQuiet);
  const FlowLoad load{.count = schedules,
                      .name = [](uint64_t i) { return fmt::format("idle-{}", i); },
                      .text = idleFlow};
  ASSIGN_OR_RETURN(const double rate, applyFlows(*cluster, load));
  std::this_thread::sleep_for(kPlannerCalm);
  const Memory full = memoryOf(pid);
  const double share = shareOver(pid, kQuiet);
  run.report.add({.name = "p11.idle",
                  .value = share,
                  .unit = "% of a core",
                  .must = 1,
                  .low_is_good = true,
                  .note = fmt::format("{} schedules online, none due; without any {:.2f} %",
                                      schedules, share_empty)});
  run.report.add({.name = "p11.apply",
                  .value = rate,
                  .unit = "flows/s",
                  .note = fmt::format("a request each, {} connections: {:.0f} s in all",
                                      load.connections, static_cast<double>(schedules) / rate)});
  const auto perFlow = [&](const Memory& memory) {
    return (memory.rss - empty.rss) * 1024 * 1024 / static_cast<double>(schedules);
  };
  ASSIGN_OR_RETURN(const WallTime first, applyBurst(*cluster, burst, rate, Seconds(0)));
  ASSIGN_OR_RETURN(const double seconds, burstSeconds(*cluster, burst, first));
  addBurst(run.report, "burst", seconds,
           fmt::format("{} runs due in one second, to the last row", burst));
  // The same with flows that a takeover loaded and nobody has read yet.
  ASSIGN_OR_RETURN(const WallTime second, applyBurst(*cluster, burst, rate, kRestartSpan));
  cluster->master(0).end(SIGTERM);
  RETURN_IF_ERROR(cluster->startMaster(0));
  ASSIGN_OR_RETURN([[maybe_unused]] const std::string active, cluster->activeMaster());
  ASSIGN_OR_RETURN(const auto history, cluster->database().makeEpochStore()->history(1));
  if (SystemClock().wallNow() >= second) {
    return Error::unavailable("p11: the new term began behind the second burst's time");
  }
  const Memory loaded = memoryOf(cluster->master(0).pid());
  ASSIGN_OR_RETURN(const double again, burstSeconds(*cluster, burst, second));
  addBurst(run.report, "burst_recovered", again,
           "the same of flows that were loaded by a new term a moment before");
  run.report.add(
      {.name = "p11.memory",
       .value = perFlow(full),
       .unit = "B/flow",
       .low_is_good = true,
       .note = fmt::format("applied; {:.0f} when loaded by a new term", perFlow(loaded))});
  run.report.add(
      {.name = "p11.load",
       .value = history.empty() ? 0 : static_cast<double>(history.front().load_ms),
       .unit = "ms",
       .low_is_good = true,
       .note = fmt::format("recovery of {} flows, {} live runs", schedules + burst, burst)});
  return {};
}

}  // namespace baton::bench
