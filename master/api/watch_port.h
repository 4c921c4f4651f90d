#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "common/base/status.h"
#include "common/model/flow_records.h"
#include "common/model/records.h"

namespace baton::master::api {

// Place of an event in the order of all: the transaction that made it durable, and which of its
// changes it is. Places of later terms lie behind those of earlier ones.
struct WatchPosition {
  Epoch epoch = 0;
  uint64_t batch = 0;
  uint32_t index = 0;

  auto operator<=>(const WatchPosition&) const = default;
};

// A change of a run, with what never changes of it.
struct WatchedRun {
  RunState state;
  bool made = false;  // It is new: the members below are set.
  RunTrigger trigger = RunTrigger::Manual;
  WallTime plan_time{};
};
struct WatchedTask {
  TaskState state;
  std::string made_as;  // Name of a new task; empty: it is not new.
};

// Something that changed, as it is behind the change. Shared by all watchers.
class WatchEvent {
 public:
  enum class Kind : uint8_t { Task, Run, Flow };
  using Body = std::variant<WatchedTask, WatchedRun, FlowRecord>;  // In the order of the kinds.

  WatchEvent(WatchPosition at, RunId run_id, std::string flow, Body body)
      : at_(at), run_id_(run_id), flow_(std::move(flow)), body_(std::move(body)) {}

  const WatchPosition& at() const { return at_; }
  Kind kind() const { return static_cast<Kind>(body_.index()); }
  const Body& body() const { return body_; }
  RunId runId() const { return run_id_; }            // 0: a task of no run, or a flow.
  const std::string& flow() const { return flow_; }  // Its name; empty: a task of no run.
  // The text that watchers get, made by the first of them.
  const std::string& text(const std::function<std::string(const WatchEvent&)>& make) const {
    std::call_once(made_, [&] { text_ = make(*this); });
    return text_;
  }

 private:
  const WatchPosition at_;
  const RunId run_id_;
  const std::string flow_;
  const Body body_;
  mutable std::once_flag made_;
  mutable std::string text_;
};

// What a watcher wants to hear of; empty members do not filter.
struct WatchFilter {
  std::vector<WatchEvent::Kind> kinds;
  TaskId task = 0;   // This task alone.
  RunId run = 0;     // The run and its tasks.
  std::string flow;  // Key (nameKey): the flow, its runs and their tasks.
};

// Changes as they become durable, kept for a while. Any thread; nothing here blocks.
class WatchPort {
 public:
  virtual ~WatchPort() = default;

  // Behind the newest event. Errors: NotActive.
  virtual Result<WatchPosition> newest() = 0;

  struct Look {
    enum class End : uint8_t {
      Open,      // More will come.
      Left,      // This master leads no more; what it knew has been given.
      Lost,      // What stands behind `at` is not kept any more.
      Takeover,  // `at` is of an earlier term: what changed in between is not known here.
    };
    std::vector<std::shared_ptr<const WatchEvent>> events;
    bool more = false;  // There is more behind `at` to look at.
    End end = End::Open;
  };
  // What matches behind `at`, at most `max` events; moves `at` behind what was looked at.
  virtual Look look(const WatchFilter& filter, WatchPosition& at, size_t max) = 0;

  // Called when there is something new or this master begins or ceases to lead; must neither
  // block nor call back. One at a time; empty: nobody.
  virtual void setNews(std::function<void()> news) = 0;
};

}  // namespace baton::master::api
