#include "tests/bench/task_load.h"

#include <algorithm>
#include <thread>

#include "common/base/random.h"

namespace baton::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr auto kStandstillMax = std::chrono::seconds(60);

}  // namespace

std::string freshTag(const std::string& name) { return name + "-" + randomHex(4); }

Result<std::vector<TaskId>> submitLoad(webapi::ApiClient& client, const TaskLoad& load) {
  std::vector<TaskId> ids;
  ids.reserve(load.count);
  std::string body;
  uint64_t in_body = 0;
  for (uint64_t done = 0; done < load.count; done += in_body) {
    const uint64_t now = std::min(load.at_once, load.count - done);
    if (now != in_body) {
      const std::string one = fmt::format("{},\"tags\":[\"{}\"]}}", load.task, load.tag);
      body = "{\"tasks\":[";
      for (uint64_t i = 0; i < now; ++i) body.append(i == 0 ? "" : ",").append(one);
      body += "]}";
      in_body = now;
    }
    webapi::ApiRequest request;
    request.method = "POST";
    request.target = "/api/v1/tasks/bulk";
    request.body = body;
    request.repeatable = false;
    request.timeout = Millis(60'000);
    ASSIGN_OR_RETURN(const webapi::ApiReply reply, client.call(request));
    ASSIGN_OR_RETURN(const Json answer, reply.json());
    for (const Json& id : answer.at("ids")) ids.push_back(std::stoull(id.get<std::string>()));
  }
  if (ids.size() == load.count) return ids;
  return Error::make(ErrorCode::Corrupt, "{} tasks were submitted and {} ids came back", load.count,
                     ids.size());
}

Result<uint64_t> awaitFinished(BenchCluster& cluster, const std::string& tag, uint64_t count) {
  const auto reader = cluster.database().makeReader();
  dao::TaskFilter filter;
  filter.tag = tag;
  filter.statuses = {TaskStatus::Finished};
  const auto began = SteadyClock::now();
  auto changed = began;
  uint64_t last = 0;
  while (true) {
    ASSIGN_OR_RETURN(const uint64_t finished, reader->countTasks(filter));
    const auto now = SteadyClock::now();
    if (finished != last) changed = now;
    last = finished;
    if (finished >= count || now - changed > kStandstillMax) return finished;
    // Counting costs the database: less often while the end is far.
    const double rate =
        static_cast<double>(finished) / std::chrono::duration<double>(now - began).count();
    const double left = rate > 0 ? static_cast<double>(count - finished) / rate : 0.5;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::clamp(left / 2, 0.02, 1.0)));
  }
}

Result<WallTime> lastFinishedAt(BenchCluster& cluster, const std::string& tag) {
  ASSIGN_OR_RETURN(const auto sql, cluster.readingSession());
  WallTime last{};
  RETURN_IF_ERROR(sql->query(
      "SELECT MAX(t.finished_at) FROM task_tag g JOIN task t ON t.task_id=g.task_id WHERE g.tag=?",
      {std::string_view(tag)}, [&last](dao::SqlRow& row) {
        last = wallFromMicros(row.integer(0));
        return true;
      }));
  return last;
}

}  // namespace baton::bench
