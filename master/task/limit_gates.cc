#include "master/task/limit_gates.h"

#include "common/base/log.h"
#include "common/base/status.h"

namespace baton::master {
namespace {

// Flows have one name in whatever spelling.
std::string keyOf(LimitKind kind, const std::string& name) {
  return kind == LimitKind::Flow ? nameKey(name) : name;
}

}  // namespace

LimitGate* LimitGates::take(LimitKind kind, const std::string& name) {
  if (name.empty()) return nullptr;
  auto& gate = gates_[static_cast<size_t>(kind)][keyOf(kind, name)];
  if (gate == nullptr) {
    gate = std::make_unique<LimitGate>();
    gate->kind = kind;
    gate->name = name;
  }
  ++gate->lanes;
  return gate.get();
}

void LimitGates::drop(LimitGate* gate) {
  if (gate == nullptr) return;
  CHECK(gate->lanes > 0);
  --gate->lanes;
  eraseUnused(*gate);
}

void LimitGates::eraseUnused(LimitGate& gate) {
  if (gate.lanes > 0 || gate.row) return;
  auto& gates = gates_[static_cast<size_t>(gate.kind)];
  gates.erase(gates.find(keyOf(gate.kind, gate.name)));
}

LimitGate* LimitGates::takeWindow(const std::string& hours, const std::string& time_zone) {
  if (hours.empty()) return nullptr;
  LimitGate* gate = take(LimitKind::Window, fmt::format("{} {}", hours, time_zone));
  if (gate->lanes > 1) return gate;
  readWindow(*gate, hours, time_zone);
  gate->open = false;
  if (on_new_window_) on_new_window_(*gate);
  return gate;
}

void LimitGates::readWindow(LimitGate& gate, const std::string& hours,
                            const std::string& time_zone) {
  gate.window.reset();
  if (hours.empty()) return;
  auto window = DispatchWindow::parse(hours, time_zone);
  if (window.ok()) {
    gate.window = std::move(window).value();
  } else {
    logError("window_not_understood", field("of", toString(gate.kind)), field("name", gate.name),
             field("error", window.error().message()));
  }
}

LimitGate* LimitGates::find(LimitKind kind, const std::string& name) {
  const auto& gates = gates_[static_cast<size_t>(kind)];
  const auto it = gates.find(keyOf(kind, name));
  return it == gates.end() ? nullptr : it->second.get();
}

const LimitGate* LimitGates::find(LimitKind kind, const std::string& name) const {
  const auto& gates = gates_[static_cast<size_t>(kind)];
  const auto it = gates.find(keyOf(kind, name));
  return it == gates.end() ? nullptr : it->second.get();
}

std::vector<LimitGate*> LimitGates::all(LimitKind kind) const {
  std::vector<LimitGate*> found;
  for (const auto& [name, gate] : gates_[static_cast<size_t>(kind)]) found.push_back(gate.get());
  return found;
}

LimitGate& LimitGates::set(const LimitRecord& row, WallTime now) {
  LimitGate& gate = *take(row.kind, row.name);
  --gate.lanes;
  gate.row = row;
  readWindow(gate, row.window, row.time_zone);
  lookAtWindow(gate, now);
  return gate;
}

void LimitGates::remove(LimitKind kind, const std::string& name) {
  LimitGate* gate = find(kind, name);
  if (gate == nullptr) return;
  gate->row.reset();
  gate->window.reset();
  gate->open = true;
  eraseUnused(*gate);
}

bool LimitGates::lookAtWindow(LimitGate& gate, WallTime now) {
  const bool unread = gate.kind == LimitKind::Window || (gate.row && !gate.row->window.empty());
  const bool open = gate.window ? gate.window->openAt(now) : !unread;
  return std::exchange(gate.open, open) != open;
}

std::string LimitGates::whyNever(const LimitGate& gate, int64_t weight) {
  const auto max = gate.max();
  if (!max || (gate.kind == LimitKind::Group ? weight : 1) <= *max) return {};
  if (*max == 0) {
    return fmt::format("{} {} has a limit of 0: nothing of it runs", toString(gate.kind),
                       gate.name);
  }
  return fmt::format("its weight is {} and group {} has a limit of {}", weight, gate.name, *max);
}

}  // namespace baton::master
