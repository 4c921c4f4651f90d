#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "master/api/group_port.h"
#include "master/term_context.h"

namespace baton::master {

// Changes limits, stores them, and opens and closes dispatch windows in time (one timer for all).
// Dispatcher thread only.
class LimitCommands {
 public:
  explicit LimitCommands(TermContext& context);
  ~LimitCommands() { live_.gates.setOnNewWindow({}); }
  LimitCommands(const LimitCommands&) = delete;
  LimitCommands& operator=(const LimitCommands&) = delete;

  // A row as recovery read it.
  void adopt(const LimitRecord& row);
  // Until opened nothing is changed and no window is looked at.
  void open();
  void close() { open_ = false; }

  void change(const api::LimitChange& change, api::Callback<api::LimitView> done);
  // The wall clock was set: windows are looked at again.
  void onWallClockStep();

  // The lowest priority that the cluster starts; none: all. Any thread.
  std::optional<Priority> minPriority() const {
    const int8_t lowest = min_priority_;
    return lowest < 0 ? std::nullopt : std::optional(static_cast<Priority>(lowest));
  }

  std::vector<api::LimitView> views(LimitKind kind);
  // Errors: NotFound.
  Result<api::LimitView> view(LimitKind kind, const std::string& name);

 private:
  static Status check(const LimitRecord& row);
  // A limit for the id of a worker would limit nothing.
  Status checkHost(const api::LimitChange& change) const;
  std::optional<LimitRecord> rowOf(LimitKind kind, const std::string& name);
  // Puts a row, or its absence, into effect.
  void apply(LimitKind kind, const std::string& name, const std::optional<LimitRecord>& row);
  api::LimitView viewOf(const LimitGate& gate) const;
  api::LimitView clusterView() const;
  api::LimitView hostView(const std::string& name) const;
  // Of groups, and hours of tasks and flows.
  std::vector<LimitGate*> windows();
  void lookAtWindows();
  void armTimer();
  // To look no later than at `next`.
  void armTimer(WallTime now, WallTime next);

  TermContext& context_;
  LiveState& live_;
  std::atomic<int8_t> min_priority_{-1};  // Of the cluster's row.
  bool open_ = false;
  AsyncDispatcher::TimerId timer_ = 0;
  WallTime armed_for_{};  // While there is a timer.
};

}  // namespace baton::master
