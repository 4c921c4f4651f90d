#include "master/metrics.h"

#include <prometheus/text_serializer.h>

#include <sstream>

namespace baton::master {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;

prometheus::Family<prometheus::Counter>& counterFamily(prometheus::Registry& registry,
                                                       const char* name, const char* help,
                                                       const std::string& cluster) {
  return BuildCounter().Name(name).Help(help).Labels({{"cluster", cluster}}).Register(registry);
}

prometheus::Family<prometheus::Gauge>& gaugeFamily(prometheus::Registry& registry, const char* name,
                                                   const char* help, const std::string& cluster) {
  return BuildGauge().Name(name).Help(help).Labels({{"cluster", cluster}}).Register(registry);
}

prometheus::Histogram& histogram(prometheus::Registry& registry, const char* name, const char* help,
                                 const std::string& cluster,
                                 prometheus::Histogram::BucketBoundaries bounds) {
  return BuildHistogram()
      .Name(name)
      .Help(help)
      .Labels({{"cluster", cluster}})
      .Register(registry)
      .Add({}, std::move(bounds));
}

}  // namespace

Metrics::Metrics(const std::string& cluster)
    : attempts_(
          counterFamily(registry_, "baton_attempts_total", "Ended attempts by outcome.", cluster)),
      tasks_(gaugeFamily(registry_, "baton_tasks", "Live tasks by status.", cluster)),
      waiting_(gaugeFamily(registry_, "baton_queue_depth", "Waiting tasks by reason.", cluster)),
      runners_(gaugeFamily(registry_, "baton_runners", "Runners by state.", cluster)),
      hosts_(gaugeFamily(registry_, "baton_hosts", "Workers by health.", cluster)),
      stuck_(gaugeFamily(registry_, "baton_tasks_stuck",
                         "Tasks that stay too long in a status that should pass soon.", cluster)),
      session_(gaugeFamily(registry_, "baton_zookeeper_session",
                           "1 for the present state of the session.", cluster)),
      takeover_(gaugeFamily(registry_, "baton_takeover_seconds",
                            "Phases of this process's last takeover.", cluster)),
      callbacks_(counterFamily(registry_, "baton_callbacks_total",
                               "Callback deliveries by outcome.", cluster)),
      runs_(gaugeFamily(registry_, "baton_runs", "Live runs of flows by status.", cluster)),
      ended_runs_(counterFamily(registry_, "baton_runs_total",
                                "Runs of flows that have ended, by status.", cluster)),
      missed_(counterFamily(registry_, "baton_missed_instants_total",
                            "Instants of schedules that were not run, by reason.", cluster)),
      submitted_(counterFamily(registry_, "baton_tasks_submitted_total", "Accepted tasks.", cluster)
                     .Add({})),
      late_reports_(counterFamily(registry_, "baton_late_reports_total",
                                  "Results that came after their attempt was closed.", cluster)
                        .Add({})),
      heartbeats_(counterFamily(registry_, "baton_heartbeats_total", "Handled heartbeats.", cluster)
                      .Add({})),
      illegal_moves_(counterFamily(registry_, "baton_illegal_moves_total",
                                   "Events that the life cycle refused.", cluster)
                         .Add({})),
      committed_rows_(
          counterFamily(registry_, "baton_database_rows_total", "Committed row changes.", cluster)
              .Add({})),
      submit_to_start_(histogram(registry_, "baton_submit_to_start_seconds",
                                 "From accepted to reported started.", cluster,
                                 {0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30, 300})),
      lateness_(histogram(registry_, "baton_schedule_lateness_seconds",
                          "From an instant of a schedule to the stored run, without what was made "
                          "up for.",
                          cluster, {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60})),
      batch_operations_(histogram(registry_, "baton_database_batch_operations",
                                  "Decisions committed in one transaction.", cluster,
                                  {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096})),
      commit_seconds_(histogram(registry_, "baton_database_commit_seconds",
                                "Time of one transaction.", cluster,
                                {0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.25, 1, 5})),
      role_(gaugeFamily(registry_, "baton_master_active", "1 if this master is active.", cluster)
                .Add({})),
      epoch_(
          gaugeFamily(registry_, "baton_epoch", "Epoch of the last term of this process.", cluster)
              .Add({})),
      leader_changes_(gaugeFamily(registry_, "baton_leader_changes",
                                  "Promotions and demotions of this process.", cluster)
                          .Add({})),
      outbox_(gaugeFamily(registry_, "baton_callback_outbox", "Callbacks that wait for delivery.",
                          cluster)
                  .Add({})),
      outbox_oldest_(gaugeFamily(registry_, "baton_callback_outbox_oldest_seconds",
                                 "For how long the oldest of them has waited; 0: there is none.",
                                 cluster)
                         .Add({})),
      hosts_held_back_(gaugeFamily(registry_, "baton_hosts_held_back",
                                   "Workers that get no new tasks, by rule or quarantine.", cluster)
                           .Add({})),
      schedules_(gaugeFamily(registry_, "baton_schedules",
                             "Online flows whose schedule has a next instant.", cluster)
                     .Add({})),
      planner_behind_(gaugeFamily(registry_, "baton_planner_behind_flows",
                                  "Flows with missed instants that are still to be dealt with.",
                                  cluster)
                          .Add({})),
      planner_lag_(gaugeFamily(registry_, "baton_planner_lag_seconds",
                               "For how long the oldest instant that is due has not been begun.",
                               cluster)
                       .Add({})) {}

void Metrics::onStateChange(const StateChange& change) {
  switch (change.kind) {
    case StateChange::Kind::Submitted:
      submitted_.Increment();
      break;
    case StateChange::Kind::Started:
      submit_to_start_.Observe(static_cast<double>(change.waited.count()) / 1e6);
      break;
    case StateChange::Kind::AttemptEnded: {
      const std::string_view outcome =
          change.attempt == AttemptStatus::Failed       ? toString(change.reason)
          : change.attempt == AttemptStatus::Finished   ? "finished"
          : change.attempt == AttemptStatus::Terminated ? "terminated"
                                                        : "undelivered";
      attempts_.Add({{"outcome", std::string(outcome)}}).Increment();
      break;
    }
    case StateChange::Kind::Ended:
      break;  // baton_tasks and the attempts say it.
  }
}
void Metrics::lateReport() { late_reports_.Increment(); }
void Metrics::heartbeat() { heartbeats_.Increment(); }
void Metrics::committed(size_t operations, size_t rows, double seconds) {
  batch_operations_.Observe(static_cast<double>(operations));
  committed_rows_.Increment(static_cast<double>(rows));
  commit_seconds_.Observe(seconds);
}
void Metrics::illegalMove() { illegal_moves_.Increment(); }
void Metrics::callbackSent(bool delivered) {
  callbacks_.Add({{"outcome", delivered ? "delivered" : "failed"}}).Increment();
}
void Metrics::takeover(double lock_seconds, double bump_seconds, double load_seconds,
                       double total_seconds) {
  takeover_.Add({{"phase", "lock"}}).Set(lock_seconds);
  takeover_.Add({{"phase", "bump"}}).Set(bump_seconds);
  takeover_.Add({{"phase", "load"}}).Set(load_seconds);
  takeover_.Add({{"phase", "total"}}).Set(total_seconds);
}
void Metrics::setRole(bool active, uint64_t epoch) {
  role_.Set(active ? 1 : 0);
  epoch_.Set(static_cast<double>(epoch));
}
void Metrics::setTasks(TaskStatus status, double count) {
  tasks_.Add({{"status", std::string(toString(status))}}).Set(count);
}
void Metrics::setWaiting(std::string_view reason, double count) {
  waiting_.Add({{"reason", std::string(reason)}}).Set(count);
}
void Metrics::setRunners(std::string_view state, double count) {
  runners_.Add({{"state", std::string(state)}}).Set(count);
}
void Metrics::setHosts(std::string_view health, double count) {
  hosts_.Add({{"health", std::string(health)}}).Set(count);
}
void Metrics::setHostsHeldBack(double count) { hosts_held_back_.Set(count); }
void Metrics::setStuck(TaskStatus status, double count) {
  stuck_.Add({{"status", std::string(toString(status))}}).Set(count);
}
void Metrics::setOutbox(double pending, double oldest_seconds) {
  outbox_.Set(pending);
  outbox_oldest_.Set(oldest_seconds);
}
void Metrics::runEnded(RunStatus status) {
  ended_runs_.Add({{"status", std::string(toString(status))}}).Increment();
}
void Metrics::missedInstants(std::string_view reason, double count) {
  missed_.Add({{"reason", std::string(reason)}}).Increment(count);
}
void Metrics::scheduleLateness(double seconds) { lateness_.Observe(seconds); }
void Metrics::setRuns(RunStatus status, double count) {
  runs_.Add({{"status", std::string(toString(status))}}).Set(count);
}
void Metrics::setPlanner(double schedules, double behind, double lag_seconds) {
  schedules_.Set(schedules);
  planner_behind_.Set(behind);
  planner_lag_.Set(lag_seconds);
}
void Metrics::setSession(std::string_view state, uint64_t leader_changes) {
  for (const char* known : {"connected", "connecting", "expired", "local"}) {
    session_.Add({{"state", known}}).Set(state == known ? 1 : 0);
  }
  leader_changes_.Set(static_cast<double>(leader_changes));
}

std::string Metrics::text() const {
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, registry_.Collect());
  return out.str();
}

}  // namespace baton::master
