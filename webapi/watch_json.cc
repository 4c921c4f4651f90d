#include "webapi/watch_json.h"

#include <array>

#include "webapi/query_reader.h"
#include "webapi/task_json.h"

namespace baton::webapi {
namespace {

using master::api::WatchedRun;
using master::api::WatchedTask;
using master::api::WatchEvent;
using master::api::WatchPosition;

constexpr std::array<std::string_view, 3> kKindWords{"task", "run", "flow"};

Json idOrNull(uint64_t id) { return id == 0 ? Json(nullptr) : Json(std::to_string(id)); }

Json bodyToJson(const WatchEvent& event, const WatchedTask& task) {
  const TaskState& state = task.state;
  Json json = {{"id", std::to_string(state.id)},
               {"run_id", idOrNull(event.runId())},
               {"flow", textOrNull(event.flow())},
               {"status", toString(state.status)},
               {"reason", textOrNull(toString(state.reason))},
               {"attempt", state.attempt},
               {"runner_id", textOrNull(state.runner_id)},
               {"return_code", state.return_code ? Json(*state.return_code) : Json(nullptr)},
               {"signal", state.signal == 0 ? Json(nullptr) : Json(state.signal)},
               {"priority", toString(state.priority)},
               {"hold", state.hold},
               {"started_at", timeToJson(state.started_at)},
               {"finished_at", timeToJson(state.finished_at)}};
  if (!task.made_as.empty()) json["name"] = task.made_as;
  return json;
}

Json bodyToJson(const WatchEvent& event, const WatchedRun& run) {
  const RunState& state = run.state;
  Json json = {{"id", std::to_string(state.id)},
               {"flow", event.flow()},
               {"status", toString(state.status)},
               {"reason", textOrNull(toString(state.reason))},
               {"priority", toString(state.priority)},
               {"reruns", state.reruns},
               {"late", state.late},
               {"started_at", timeToJson(state.started_at)},
               {"finished_at", timeToJson(state.finished_at)}};
  if (run.made) {
    json["trigger"] = toString(run.trigger);
    json["plan_time"] = timeToJson(run.plan_time);
  }
  return json;
}

Json bodyToJson(const WatchEvent&, const FlowRecord& flow) {
  return {{"name", flow.name},
          {"version", flow.version},
          {"online", flow.online},
          {"deleted", flow.deleted},
          {"next_at", timeToJson(flow.next_at)}};
}

}  // namespace

std::string watchId(const WatchPosition& at) {
  return fmt::format("{}-{}-{}", at.epoch, at.batch, at.index);
}

Result<WatchPosition> parseWatchId(std::string_view text) {
  std::array<uint64_t, 3> numbers{};
  std::string_view rest = text;
  bool right = true;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t dash = i + 1 < numbers.size() ? rest.find('-') : rest.size();
    const auto number =
        dash == rest.npos ? Result<int64_t>(Error::invalidArgument("cut short"))
                          : parseDecimal(rest.substr(0, dash), 0, i == 2 ? UINT32_MAX : INT64_MAX);
    if (!number.ok()) {
      right = false;
      break;
    }
    numbers[i] = static_cast<uint64_t>(*number);
    rest.remove_prefix(std::min(rest.size(), dash + 1));
  }
  if (right) return WatchPosition{numbers[0], numbers[1], static_cast<uint32_t>(numbers[2])};
  return Error::invalidArgument("is \"{}\", expected the id of an event of this stream",
                                truncateUtf8(text, 40));
}

std::string watchBlock(const WatchPosition& at, std::string_view event, const Json& data) {
  return fmt::format("id: {}\n{}", watchId(at), unplacedBlock(event, data));
}

std::string unplacedBlock(std::string_view event, const Json& data) {
  return fmt::format("event: {}\ndata: {}\n\n", event, dumpJson(data));
}

std::string watchText(const WatchEvent& event) {
  return fmt::format("id: {}\n{}", watchId(event.at()), unplacedText(event));
}

std::string unplacedText(const WatchEvent& event) {
  const Json data =
      std::visit([&](const auto& body) { return bodyToJson(event, body); }, event.body());
  return unplacedBlock(kKindWords[static_cast<size_t>(event.kind())], data);
}

}  // namespace baton::webapi
