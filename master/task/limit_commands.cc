#include "master/task/limit_commands.h"

#include <algorithm>

#include "common/base/json.h"
#include "common/base/log.h"
#include "common/model/task_rules.h"
#include "master/state/audit.h"

namespace baton::master {
namespace {

using What = api::LimitChange::What;

// Never longer than this between two looks at the windows, whatever the clocks do.
constexpr std::chrono::hours kWindowLookMax{1};

bool isPlainText(std::string_view text) {
  return isValidUtf8(text) && std::all_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
         });
}

Error notFound(LimitKind kind, const std::string& name) {
  return Error::notFound("no limit is set for {} \"{}\"", toString(kind), truncateUtf8(name, 80));
}

}  // namespace

LimitCommands::LimitCommands(TermContext& context) : context_(context), live_(context.live) {
  live_.gates.setOnNewWindow([this](LimitGate& hours) {
    const WallTime now = context_.clock.wallNow();
    LimitGates::lookAtWindow(hours, now);
    // Many may come in one turn: the others are not asked again.
    if (open_) armTimer(now, hours.window->nextChange(now));
  });
}

Status LimitCommands::check(const LimitRecord& row) {
  const auto wrong = [](std::string text, std::string field) {
    return Error(ErrorCode::InvalidArgument, std::move(text), std::move(field));
  };
  if (row.kind == LimitKind::Group && !isValidName(row.name)) {
    return wrong(fmt::format("is \"{}\", {}", truncateUtf8(row.name, 80), kGroupRule), "name");
  }
  if (row.kind != LimitKind::Cluster &&
      (!isPathPart(row.name) || !isPlainText(row.name) || row.name.front() == ' ' ||
       row.name.back() == ' ' || utf8Length(row.name) > kLimitNameCharsMax)) {
    // The database takes names that differ by blanks at their end for the same.
    return wrong(fmt::format("is \"{}\", expected 1 to {} characters without control characters, "
                             "without / and without blanks at the ends, and not . or ..",
                             truncateUtf8(row.name, 80), kLimitNameCharsMax),
                 "name");
  }
  if (row.max && (*row.max < 0 || *row.max > kLimitMax)) {
    return wrong(fmt::format("is {}, expected 0 to {}", *row.max, kLimitMax), "limit");
  }
  if (!isPlainText(row.description) || utf8Length(row.description) > kLimitTextCharsMax) {
    return wrong(fmt::format("expected at most {} characters without control characters",
                             kLimitTextCharsMax),
                 "description");
  }
  if (row.window.empty() != row.time_zone.empty()) {
    return row.window.empty() ? wrong("belongs to a window, and there is none", "time_zone")
                              : wrong("is missing; a window needs its zone", "time_zone");
  }
  if (row.window.empty()) return {};
  return DispatchWindow::parse(row.window, row.time_zone).status();
}

Status LimitCommands::checkHost(const api::LimitChange& change) const {
  const std::string& name = change.record.name;
  if (change.record.kind != LimitKind::Host || change.what == What::Remove) return {};
  const auto worker = live_.workers.find(name);
  if (worker == live_.workers.end() || worker->second.host.empty()) return {};
  const bool is_host = std::any_of(live_.workers.begin(), live_.workers.end(),
                                   [&](const auto& at) { return at.second.host == name; });
  if (is_host) return {};
  return Error(ErrorCode::InvalidArgument,
               fmt::format("is {}, the id of a worker; a limit holds for all workers of a host "
                           "together, expected its name: {}",
                           truncateUtf8(name, 80), worker->second.host),
               "name");
}

void LimitCommands::adopt(const LimitRecord& row) { apply(row.kind, row.name, row); }

void LimitCommands::open() {
  open_ = true;
  lookAtWindows();
}

std::optional<LimitRecord> LimitCommands::rowOf(LimitKind kind, const std::string& name) {
  if (kind == LimitKind::Cluster) return live_.gates.cluster;
  if (kind == LimitKind::Host) {
    const auto it = live_.gates.hosts.find(name);
    return it == live_.gates.hosts.end() ? std::nullopt : std::optional(it->second);
  }
  const LimitGate* gate = live_.gates.find(kind, name);
  return gate == nullptr ? std::nullopt : gate->row;
}

void LimitCommands::apply(LimitKind kind, const std::string& name,
                          const std::optional<LimitRecord>& row) {
  if (kind == LimitKind::Cluster) {
    live_.gates.cluster = row;
    const auto lowest = live_.gates.clusterMinPriority();
    min_priority_ = lowest ? static_cast<int8_t>(*lowest) : int8_t{-1};
    live_.ready.clusterChanged();
    return;
  }
  if (kind == LimitKind::Host) {
    if (row) {
      live_.gates.hosts[name] = *row;
    } else {
      live_.gates.hosts.erase(name);
    }
    live_.host_use[name].max = row ? row->max : std::nullopt;
    return;
  }
  if (row) {
    live_.gates.set(*row, context_.clock.wallNow());
  } else {
    live_.gates.remove(kind, name);
  }
  if (LimitGate* gate = live_.gates.find(kind, name)) live_.ready.gateChanged(*gate);
  if (open_) armTimer();
}

void LimitCommands::change(const api::LimitChange& change, api::Callback<api::LimitView> done) {
  if (!open_) return done(Error(ErrorCode::NotActive, "this master does not take commands yet"));
  if (const Status accepts = context_.writer.acceptance(); !accepts.ok()) {
    return done(accepts.error());
  }
  const LimitKind kind = change.record.kind;
  if (const Status holds = checkHost(change); !holds.ok()) return done(holds.error());
  std::optional<LimitRecord> row = rowOf(kind, change.record.name);
  // One row for a flow, whatever the spelling.
  const std::string name = row ? row->name : change.record.name;
  if (change.what == What::Remove && !row) return done(notFound(kind, name));
  Result<api::LimitView> shown = notFound(kind, name);
  if (change.what == What::Remove) shown = view(kind, name);
  if (change.what == What::Remove) {
    row.reset();
  } else if (change.what == What::Replace) {
    row = change.record;
    row->name = name;
  } else {
    if (!row) row = LimitRecord{.kind = kind, .name = name};
    if (change.what == What::Max) row->max = change.record.max;
    if (change.what == What::MinPriority) row->min_priority = change.record.min_priority;
  }
  // The same again keeps its time and leaves no row.
  if (const auto before = rowOf(kind, name); row && before) {
    row->changed_at = before->changed_at;
    if (*row == *before) return done(view(kind, name));
  }
  Operation operation;
  Audit audit(change.request, context_.clock.wallNow(),
              change.what == What::Remove ? "limit.remove" : "limit.set",
              kind == LimitKind::Cluster ? "cluster" : fmt::format("{} {}", toString(kind), name));
  if (const auto before = rowOf(kind, name)) audit.setBefore(auditFacts(*before));
  if (row) audit.setAfter(auditFacts(*row));
  if (row) {
    if (const Status fits = check(*row); !fits.ok()) return done(fits.error());
    row->changed_at = context_.clock.wallNow();
    operation.statements.push_back([row = *row](dao::FencedTxn& txn) {
      return txn.storeLimits({&row, 1});
    });
  } else {
    operation.statements.push_back(
        [kind, name](dao::FencedTxn& txn) { return txn.removeLimit(kind, name); });
  }
  // One row's changes stay in their order whatever becomes of a batch.
  operation.touchRunner(fmt::format("limit\n{}\n{}", toString(kind), name));
  audit.putInto(operation, {});
  apply(kind, name, row);
  if (row) shown = view(kind, name);
  logInfo("limit_changed", field("kind", toString(kind)), field("name", name),
          field("max", row && row->max ? std::to_string(*row->max) : "none"),
          field("min_priority", row && row->min_priority ? toString(*row->min_priority) : "none"),
          field("epoch", context_.epoch()));
  operation.then([done = std::move(done), answer = std::move(shown)] { done(answer); });
  context_.writer.submit(std::move(operation));
}

// ----------------------------------------------------------------------------------- windows

void LimitCommands::onWallClockStep() {
  if (open_) lookAtWindows();
}

std::vector<LimitGate*> LimitCommands::windows() {
  std::vector<LimitGate*> found;
  for (const LimitKind kind : {LimitKind::Group, LimitKind::Window}) {
    for (LimitGate* gate : live_.gates.all(kind)) {
      if (gate->window) found.push_back(gate);
    }
  }
  return found;
}

void LimitCommands::lookAtWindows() {
  const WallTime now = context_.clock.wallNow();
  for (LimitGate* gate : windows()) {
    if (LimitGates::lookAtWindow(*gate, now)) live_.ready.gateChanged(*gate);
  }
  armTimer();
}

void LimitCommands::armTimer() {
  if (timer_ != 0) context_.dispatcher.cancel(timer_);
  timer_ = 0;
  const WallTime now = context_.clock.wallNow();
  const std::vector<LimitGate*> all = windows();
  if (all.empty()) return;
  WallTime next = now + kWindowLookMax;
  for (const LimitGate* gate : all) next = std::min(next, gate->window->nextChange(now));
  armTimer(now, next);
}

void LimitCommands::armTimer(WallTime now, WallTime next) {
  next = std::min(next, now + kWindowLookMax);
  if (timer_ != 0 && armed_for_ <= next) return;
  if (timer_ != 0) context_.dispatcher.cancel(timer_);
  armed_for_ = next;
  timer_ = context_.dispatcher.callAt(context_.clock.bootNow() + (next - now), [this] {
    timer_ = 0;
    if (open_) lookAtWindows();
  });
}

// ----------------------------------------------------------------------------------- views

api::LimitView LimitCommands::viewOf(const LimitGate& gate) const {
  api::LimitView view;
  view.has_row = gate.row.has_value();
  if (gate.row) view.record = *gate.row;
  view.record.kind = gate.kind;
  if (!gate.row) view.record.name = gate.name;
  view.in_use = gate.in_use;
  view.running = gate.running;
  view.queued = gate.queued;
  view.open = gate.open;
  if (gate.window) view.next_change = gate.window->nextChange(context_.clock.wallNow());
  return view;
}

api::LimitView LimitCommands::clusterView() const {
  api::LimitView view;
  view.has_row = live_.gates.cluster.has_value();
  view.record = live_.gates.cluster.value_or(LimitRecord{});
  view.record.kind = LimitKind::Cluster;
  view.configured = static_cast<int64_t>(context_.options.running_max);
  view.running = live_.open_attempts;
  view.in_use = static_cast<int64_t>(live_.open_attempts);
  view.queued = live_.ready.size();
  return view;
}

api::LimitView LimitCommands::hostView(const std::string& name) const {
  api::LimitView view;
  view.record = live_.gates.hosts.at(name);
  if (const auto use = live_.host_use.find(name); use != live_.host_use.end()) {
    view.in_use = use->second.running;
    view.running = static_cast<uint64_t>(use->second.running);
  }
  return view;
}

std::vector<api::LimitView> LimitCommands::views(LimitKind kind) {
  std::vector<api::LimitView> found;
  if (kind == LimitKind::Cluster) {
    found.push_back(clusterView());
  } else if (kind == LimitKind::Host) {
    for (const auto& [name, row] : live_.gates.hosts) found.push_back(hostView(name));
  } else {
    for (const LimitGate* gate : live_.gates.all(kind)) {
      if (gate->row || kind == LimitKind::Group) found.push_back(viewOf(*gate));
    }
  }
  return found;
}

Result<api::LimitView> LimitCommands::view(LimitKind kind, const std::string& name) {
  if (kind == LimitKind::Cluster) return clusterView();
  if (kind == LimitKind::Host) {
    if (!live_.gates.hosts.contains(name)) return notFound(kind, name);
    return hostView(name);
  }
  const LimitGate* gate = live_.gates.find(kind, name);
  if (gate == nullptr || (!gate->row && kind != LimitKind::Group)) return notFound(kind, name);
  return viewOf(*gate);
}

}  // namespace baton::master
