// Flow control as a term shows and changes it.
#include "common/base/json.h"
#include "master/active_term.h"

namespace baton::master {
namespace {

constexpr size_t kLanesShown = 1'000;
constexpr size_t kGatesShown = 1'000;

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
  surroundings.callback_fault = [&webhooks = environment_.webhooks](const std::string& url) {
    const Status may = webhooks.checkReceiver(url);
    if (may.ok()) return std::string();
    return fmt::format("{}: its callbacks will not be sent (callback.allow of the masters)",
                       may.error().message());
  };
  surroundings.project_params = *flows_.params.values();
  return surroundings;
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

Json ActiveTerm::gatesJson() const {
  Json gates = Json::array();
  for (const LimitKind kind :
       {LimitKind::Group, LimitKind::Window, LimitKind::User, LimitKind::Flow}) {
    for (const LimitGate* gate : live_.gates.all(kind)) {
      if (gates.size() >= kGatesShown) return gates;
      size_t held_back = gate->closed.size();
      for (const auto& [signature, lanes] : gate->waiting) held_back += lanes.size();
      gates.push_back(
          {{"kind", toString(kind)},
           {"name", gate->name},
           {"open", gate->open},
           {"max", gate->max() ? Json(*gate->max()) : Json(nullptr)},
           {"in_use", gate->in_use},
           {"running", gate->running},
           {"queued", gate->queued},
           {"queues_held_back", held_back},
           {"kept_for_task",
            gate->reserved ? Json(std::to_string(gate->reserved->place.id)) : Json(nullptr)}});
    }
  }
  return gates;
}

}  // namespace baton::master
