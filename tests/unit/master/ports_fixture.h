#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "master/flow_ports.h"
#include "master/master_ports.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_database.h"

namespace baton::test {

constexpr Epoch kEpoch = 1;

class LeadingFailover final : public ha::Failover {
 public:
  Status start(ha::IMasterActiveService&) override { return {}; }
  void stop() noexcept override {}
  ha::Permission permission() const noexcept override { return {kEpoch, true}; }
  void onFenced(uint64_t) noexcept override {}
  void onHigherEpoch(uint64_t) noexcept override {}
  void onServiceFailure(const std::string&, bool) noexcept override {}
  void handOver(const std::string& why) noexcept override { hand_overs.push_back(why); }
  ha::LeaderInfo leader() const override { return {}; }
  std::vector<ha::MemberInfo> members() const override { return {}; }
  ha::FailoverStats stats() const override {
    ha::FailoverStats stats;
    stats.state = state;
    return stats;
  }

  ha::FailoverState state = ha::FailoverState::Active;
  std::vector<std::string> hand_overs;
};

class SilentWebhooks final : public master::api::WebhookPort {
 public:
  void send(master::api::Webhook, std::function<void(Status)>) override {}
  Status checkReceiver(const std::string& url) const override {
    if (url == "http://listed/hook") return {};
    return Error(ErrorCode::PermissionDenied, "other:80 is not on the list of allowed targets");
  }
};

class PortsTest : public testing::Test {
 protected:
  PortsTest() {
    service_.setFailover(failover_);
    ports_.setFailover(failover_);
    ha::Leadership leadership;
    leadership.epoch = kEpoch;
    leadership.cluster_guid = "guid-1";
    const Status promoted = service_.promote(leadership, {});
    EXPECT_TRUE(promoted.ok()) << promoted.text();
  }

  Result<master::api::SubmitAnswer> submit(const std::string& key, const std::string& hash) {
    master::api::Submission submission;
    TaskSpec spec;
    spec.name = "t";
    spec.command = {"x"};
    submission.tasks.push_back(spec);
    submission.request.principal = "p";
    submission.request.idempotency_key = key;
    submission.request.request_hash = hash;
    std::promise<Result<master::api::SubmitAnswer>> answer;
    ports_.submit(std::move(submission), [&](auto result) { answer.set_value(result); });
    return answer.get_future().get();
  }

  void apply(const std::string& text, bool online) {
    std::promise<Result<master::api::FlowApplied>> answer;
    flows_.apply(
        {.name = {}, .file = {}, .text = text, .if_version = {}, .online = online, .request = {}},
        [&](auto result) { answer.set_value(result); });
    const auto applied = answer.get_future().get();
    ASSERT_TRUE(applied.ok()) << applied.status().text();
    ASSERT_TRUE(applied->errors.empty()) << applied->errors.front().message;
  }
  RunRecord trigger(const std::string& flow) {
    std::promise<Result<master::api::MadeRun>> answer;
    flows_.trigger({.flow = flow, .plan_time = {}, .params = {}, .priority = {}, .request = {}},
                   [&](auto result) { answer.set_value(result); });
    const auto run = answer.get_future().get();
    EXPECT_TRUE(run.ok()) << run.status().text();
    return run.ok() ? run->run : RunRecord{};
  }
  // Another term takes over what this one left.
  void takeOver() {
    service_.demote("test", clock_.bootNow());
    database_.rule(kEpoch + 1);
    ha::Leadership leadership;
    leadership.epoch = kEpoch + 1;
    leadership.cluster_guid = "guid-1";
    const Status promoted = service_.promote(leadership, {});
    ASSERT_TRUE(promoted.ok()) << promoted.text();
  }
  void expectMetric(const std::string& line) {
    const std::string text = ports_.metrics();
    EXPECT_NE(text.find(line + "\n"), std::string::npos) << line << " is not in\n" << text;
  }

  FakeClock clock_;
  FakeDatabase database_{kEpoch};
  master::Metrics metrics_{"test"};
  SilentWebhooks webhooks_;
  LeadingFailover failover_;
  master::MasterActiveService service_{{clock_, database_, webhooks_, metrics_, ""}, {}};
  master::MasterPorts ports_{clock_, database_, service_, metrics_, {"n", "c", "guid-1"}};
  master::FlowPorts flows_{clock_, database_, ports_};
};

}  // namespace baton::test
