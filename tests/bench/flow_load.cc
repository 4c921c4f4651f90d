#include "tests/bench/flow_load.h"

#include <atomic>
#include <mutex>
#include <thread>

#include "common/model/run_status.h"

namespace baton::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr auto kRunsPatience = std::chrono::seconds(300);

}  // namespace

Status applyFlow(webapi::ApiClient& client, const std::string& name, const std::string& text) {
  webapi::ApiRequest request;
  request.method = "PUT";
  request.target = "/api/v1/flows/" + name + "?online=true";
  request.body = text;
  request.timeout = Millis(60'000);
  return client.call(request).status();
}

Result<double> applyFlows(const BenchCluster& cluster, const FlowLoad& load) {
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  Status failed;  // The first failure; guarded by mutex.
  const auto began = SteadyClock::now();
  {
    std::vector<std::jthread> threads;
    for (uint32_t i = 0; i < load.connections; ++i) {
      threads.emplace_back([&] {
        auto client = cluster.makeClient();
        Status status = client.status();
        for (uint64_t at = next++; status.ok() && at < load.count; at = next++) {
          status = applyFlow(*client, load.name(at), load.text(at));
        }
        if (status.ok()) return;
        next = load.count;
        const std::lock_guard lock(mutex);
        if (failed.ok()) failed = status;
      });
    }
  }
  RETURN_IF_ERROR(failed);
  return static_cast<double>(load.count) /
         std::chrono::duration<double>(SteadyClock::now() - began).count();
}

Result<std::vector<RunId>> triggerRuns(webapi::ApiClient& client, const std::string& flow,
                                       uint64_t runs) {
  std::vector<RunId> ids;
  for (uint64_t i = 0; i < runs; ++i) {
    ASSIGN_OR_RETURN(const Json run,
                     client.create("/api/v1/flows/" + flow + "/trigger", Json::object()));
    ids.push_back(std::stoull(run.at("id").get<std::string>()));
  }
  return ids;
}

Status awaitRuns(BenchCluster& cluster, const std::string& flow, uint64_t runs, Millis pause) {
  ASSIGN_OR_RETURN(const auto sql, cluster.readingSession());
  const std::string key = nameKey(flow);
  const auto until = SteadyClock::now() + kRunsPatience;
  uint64_t finished = 0;
  while (SteadyClock::now() < until) {
    uint64_t ended = 0;
    RETURN_IF_ERROR(sql->query(
        "SELECT COUNT(*),COUNT(IF(phase=?,1,NULL)) FROM run WHERE flow_key=? AND phase>0",
        {static_cast<int64_t>(RunStatus::Finished), std::string_view(key)}, [&](dao::SqlRow& row) {
          ended = row.natural(0);
          finished = row.natural(1);
          return true;
        }));
    if (ended != finished) {
      return Error::make(ErrorCode::Corrupt, "{} runs of {} ended otherwise than FINISHED",
                         ended - finished, flow);
    }
    if (finished >= runs) return {};
    std::this_thread::sleep_for(pause);
  }
  return Error::unavailable("{} of {} runs of {} were FINISHED in time", finished, runs, flow);
}

Result<RunTasks> tasksOfRuns(BenchCluster& cluster, const std::string& flow) {
  ASSIGN_OR_RETURN(const auto sql, cluster.readingSession());
  const std::string key = nameKey(flow);
  RunTasks tasks;
  RETURN_IF_ERROR(sql->query(
      "SELECT t.task_id,t.phase FROM run u JOIN run_task x ON x.run_id=u.run_id JOIN task t ON "
      "t.task_id=x.task_id WHERE u.flow_key=? ORDER BY t.task_id",
      {std::string_view(key)}, [&](dao::SqlRow& row) {
        tasks.ids.push_back(row.natural(0));
        tasks.finished += row.natural(1) == static_cast<uint64_t>(TaskStatus::Finished) ? 1 : 0;
        return true;
      }));
  return tasks;
}

}  // namespace baton::bench
