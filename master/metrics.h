#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>
#include <string_view>

#include "common/model/run_status.h"
#include "common/model/task_status.h"
#include "master/state/state_publisher.h"

namespace baton::master {

// The process's metrics (prefix baton_, base units, no task id as a label). Any thread.
class Metrics final : public StateSubscriber {
 public:
  explicit Metrics(const std::string& cluster);

  void onStateChange(const StateChange& change) override;
  void lateReport();
  void heartbeat();
  void committed(size_t operations, size_t rows, double seconds);
  void illegalMove();
  void callbackSent(bool delivered);
  void takeover(double lock_seconds, double bump_seconds, double load_seconds,
                double total_seconds);
  void setRole(bool active, uint64_t epoch);
  void setTasks(TaskStatus status, double count);
  void setWaiting(std::string_view reason, double count);
  void setRunners(std::string_view state, double count);
  void setHosts(std::string_view health, double count);
  void setHostsHeldBack(double count);
  void setStuck(TaskStatus status, double count);
  void setOutbox(double pending, double oldest_seconds);
  void runEnded(RunStatus status);
  void missedInstants(std::string_view reason, double count);
  // Of a run that was begun when it was due.
  void scheduleLateness(double seconds);
  void setRuns(RunStatus status, double count);
  // `lag`: for how long the oldest instant that is due has not been begun; `behind`: flows with
  // missed instants that are still to be dealt with.
  void setPlanner(double schedules, double behind, double lag_seconds);
  void setSession(std::string_view state, uint64_t leader_changes);

  // Prometheus text format.
  std::string text() const;

 private:
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& attempts_;
  prometheus::Family<prometheus::Gauge>& tasks_;
  prometheus::Family<prometheus::Gauge>& waiting_;
  prometheus::Family<prometheus::Gauge>& runners_;
  prometheus::Family<prometheus::Gauge>& hosts_;
  prometheus::Family<prometheus::Gauge>& stuck_;
  prometheus::Family<prometheus::Gauge>& session_;
  prometheus::Family<prometheus::Gauge>& takeover_;
  prometheus::Family<prometheus::Counter>& callbacks_;
  prometheus::Family<prometheus::Gauge>& runs_;
  prometheus::Family<prometheus::Counter>& ended_runs_;
  prometheus::Family<prometheus::Counter>& missed_;
  prometheus::Counter& submitted_;
  prometheus::Counter& late_reports_;
  prometheus::Counter& heartbeats_;
  prometheus::Counter& illegal_moves_;
  prometheus::Counter& committed_rows_;
  prometheus::Histogram& submit_to_start_;
  prometheus::Histogram& lateness_;
  prometheus::Histogram& batch_operations_;
  prometheus::Histogram& commit_seconds_;
  prometheus::Gauge& role_;
  prometheus::Gauge& epoch_;
  prometheus::Gauge& leader_changes_;
  prometheus::Gauge& outbox_;
  prometheus::Gauge& outbox_oldest_;
  prometheus::Gauge& hosts_held_back_;
  prometheus::Gauge& schedules_;
  prometheus::Gauge& planner_behind_;
  prometheus::Gauge& planner_lag_;
};

}  // namespace baton::master
