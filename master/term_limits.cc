// Flow control as a term shows and changes it.
#include "common/base/json.h"
#include "master/active_term.h"

namespace baton::master {
namespace {

constexpr size_t kLanesShown = 1'000;

}  // namespace

void ActiveTerm::changeLimit(api::LimitChange change, api::Callback<api::LimitView> done) {
  const bool queued = dispatcher_.tryPost(
      [this, change = std::move(change), done] { limits_.change(change, done); });
  if (!queued) done(Error(ErrorCode::Overloaded, "the event queue is full"));
}

flow::FlowSurroundings ActiveTerm::flowSurroundings() {
  const auto known = std::make_shared<flow::FlowSurroundings>();
  const bool looked = inspect([this, known] {
    known->offered = live_.classes.offered();
    auto& limits = known->group_limits.emplace();
    for (const LimitGate* group : live_.gates.all(LimitKind::Group)) {
      if (group->row) limits[group->name] = group->max();
    }
  });
  // What could not be seen in time is not checked: the look may still be under way.
  flow::FlowSurroundings surroundings;
  if (looked) surroundings = *known;
  surroundings.calendars = flows_.calendars.all();
  return surroundings;
  surroundings.callback_fault = [&webhooks = environment_.webhooks](const std::string& url) {
    const Status may = webhooks.checkReceiver(url);
    if (may.ok()) return std::string();
    return fmt::format("{}: its callbacks will not be sent (callback.allow of the masters)",
                       may.error().message());
  };
}

Json ActiveTerm::lanesJson() const {
  Json queues = Json::array();
  live_.ready.eachLane([&](LaneId id, QueuePlace, size_t queued) {
    if (queues.size() >= kLanesShown) return;
    const ReadyQueue::LaneView lane = live_.ready.view(id);
    const auto name = [](const LimitGate* gate) {
      return gate == nullptr ? Json(nullptr) : Json(gate->name);
    };
    queues.push_back({{"labels", live_.classes.wanted(lane.signature)},
                      {"priority", toString(lane.priority)},
                      {"group", name(lane.group)},
                      {"weight", lane.weight},
                      {"flow", name(lane.flow)},
                      {"user", name(lane.user)},
                      {"window", name(lane.window)},
                      {"flow_window", name(lane.flow_window)},
                      {"queued", queued}});
  });
  return queues;
}

}  // namespace baton::master
