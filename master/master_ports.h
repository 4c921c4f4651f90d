#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "ha/failover.h"
#include "master/api/audit_port.h"
#include "master/api/group_port.h"
#include "master/api/ports.h"
#include "master/master_active_service.h"
#include "master/state/reader_pool.h"

namespace baton::master {

// The master as the web API sees it: commands go to the term under way, reads to the database,
// and everything is NotActive while this process does not lead. Any thread; see ports.h for what
// blocks.
class MasterPorts final : public api::TaskPort,
                          public api::HeartbeatPort,
                          public api::HostPort,
                          public api::ClusterPort,
                          public api::CallbackPort,
                          public api::GroupPort,
                          public api::AuditPort {
 public:
  struct Identity {
    std::string node_id;
    std::string cluster;
    std::string cluster_guid;
  };

  // All outlive this.
  MasterPorts(Clock& clock, dao::Database& database, MasterActiveService& service, Metrics& metrics,
              Identity identity);
  // The election of this process. Until it is set this master is a standby that knows nobody.
  void setFailover(ha::Failover& failover) { failover_.store(&failover); }

  void submit(api::Submission submission, api::Callback<api::SubmitAnswer> done) override;
  void command(TaskId id, api::TaskCommand command, bool force, api::Request request,
               api::Callback<api::TaskView> done) override;
  Result<api::TaskView> task(TaskId id) override;
  Result<api::TaskListView> tasks(const api::TaskListQuery& query) override;
  Result<std::vector<AttemptRecord>> attempts(TaskId id) override;

  void heartbeat(HeartbeatRequest request, api::HeartbeatReplyFn reply) override;
  void heartbeatGone(const std::string& runner_id, uint64_t incarnation, uint64_t seq) override;

  Result<std::vector<api::RunnerView>> runners() override;
  Result<std::vector<api::HostView>> hosts() override;
  Result<api::HostPolicy> policy() override;
  void change(api::HostChange change, api::Callback<std::vector<api::HostView>> done) override;
  void setPolicy(api::HostPolicyChange change, api::Callback<api::HostPolicy> done) override;

  api::ClusterView cluster() override;
  bool isActive() const override;
  Result<std::vector<api::TakeoverView>> history(uint32_t limit) override;
  Result<api::StatsView> stats() override;
  Result<std::string> internals() override;
  Result<api::VerifyView> verify() override;
  void sync(api::Request request, api::Callback<api::SyncBegun> done) override;
  std::string metrics() override;

  Result<std::vector<OutboxRecord>> dead(uint64_t before, uint32_t limit) override;
  void resend(uint64_t id, api::Request request, api::Callback<OutboxRecord> done) override;
  Result<api::ListOf<AuditRecord>> audit(const api::AuditListQuery& query) override;

  void changeLimit(api::LimitChange change, api::Callback<api::LimitView> done) override;
  Result<std::vector<api::LimitView>> limits(LimitKind kind) override;
  Result<api::LimitView> limit(LimitKind kind, const std::string& name) override;

  // The term if it may act; recovering counts only with `recovering`. Errors: NotActive.
  Result<std::shared_ptr<ActiveTerm>> activeTerm(bool recovering = false) const;
  // Why the live ones of these tasks wait, put into them.
  void explainWaiting(ActiveTerm& term, std::vector<api::TaskView*> views) const;

 private:
  Status verifyTasks(ActiveTerm& term, api::VerifyView& view);
  Status verifyRuns(ActiveTerm& term, api::VerifyView& view);

  Clock& clock_;
  MasterActiveService& service_;
  std::atomic<ha::Failover*> failover_{nullptr};
  Metrics& metrics_;
  const Identity identity_;
  ReaderPool readers_;
  dao::Database& database_;
};

}  // namespace baton::master
