// The master as the web API sees it: a real term with its threads over a database in memory.
#include "master/master_ports.h"

#include <gtest/gtest.h>

#include <future>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_database.h"

namespace baton::test {
namespace {

constexpr Epoch kEpoch = 1;

class LeadingFailover final : public ha::Failover {
 public:
  Status start(ha::IMasterActiveService&) override { return {}; }
  void stop() noexcept override {}
  ha::Permission permission() const noexcept override { return {kEpoch, true}; }
  void onFenced(uint64_t) noexcept override {}
  void onHigherEpoch(uint64_t) noexcept override {}
  void onServiceFailure(const std::string&, bool) noexcept override {}
  ha::LeaderInfo leader() const override { return {}; }
  std::vector<ha::MemberInfo> members() const override { return {}; }
  ha::FailoverStats stats() const override { return {}; }
};

class SilentWebhooks final : public master::api::WebhookPort {
 public:
  void send(master::api::Webhook, std::function<void(Status)>) override {}
};

class MasterPortsTest : public testing::Test {
 protected:
  MasterPortsTest() {
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
    submission.principal = "p";
    submission.idempotency_key = key;
    submission.request_hash = hash;
    std::promise<Result<master::api::SubmitAnswer>> answer;
    ports_.submit(std::move(submission), [&](auto result) { answer.set_value(result); });
    return answer.get_future().get();
  }

  FakeClock clock_;
  FakeDatabase database_{kEpoch};
  master::Metrics metrics_{"test"};
  SilentWebhooks webhooks_;
  LeadingFailover failover_;
  master::MasterActiveService service_{{clock_, database_, webhooks_, metrics_, ""}, {}};
  master::MasterPorts ports_{clock_, database_, service_, metrics_, {"n", "c", "guid-1"}};
};

TEST_F(MasterPortsTest, AnIdempotencyKeyNamesItsFirstRequestForADay) {
  // Aim: within 24 hours a repeat gets the first answer; afterwards the key is new, also where the
  // old row still stands, which then is overwritten.
  const auto first = submit("k", "one");
  ASSERT_TRUE(first.ok());
  clock_.advance(std::chrono::hours(24) - Seconds(1));
  const auto repeat = submit("k", "one");
  ASSERT_TRUE(repeat.ok());
  EXPECT_TRUE(repeat->replayed);
  EXPECT_EQ(repeat->body, first->body);
  EXPECT_EQ(submit("k", "two").error().code(), ErrorCode::Conflict);
  IdempotencyRecord old = database_.rows().idempotency.at({"p", "k"});
  clock_.stepWall(Seconds(1));
  const auto later = submit("k", "two");
  ASSERT_TRUE(later.ok()) << later.status().text();
  EXPECT_FALSE(later->replayed);
  const IdempotencyRecord now = database_.rows().idempotency.at({"p", "k"});
  EXPECT_EQ(now.request_hash, "two");
  EXPECT_GT(now.created_at, old.created_at);
}

TEST_F(MasterPortsTest, VerifyComparesEveryLiveTaskWithItsRow) {
  // Aim: all slices are looked at, and a difference of either side is named.
  for (int i = 0; i < 12'000; ++i) {
    const auto answer = submit("", "");
    ASSERT_TRUE(answer.ok()) << answer.status().text();
  }
  const auto same = ports_.verify();
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->tasks_compared, 12'000U);
  EXPECT_EQ(same->differences_total, 0U);
  TaskRecord row = database_.rows().tasks.at(5);
  row.state.attempt = 3;
  database_.direct().tasks.at(5) = row;
  database_.direct().tasks.erase(6);
  row.state.id = 1'000'000;
  database_.direct().tasks[row.state.id] = row;
  const auto differs = ports_.verify();
  ASSERT_TRUE(differs.ok());
  EXPECT_EQ(differs->differences_total, 3U);
}

TEST_F(MasterPortsTest, TheQueueDepthIsShownByReason) {
  // Aim: what waits and why is seen without a look at each task, in the metrics and the figures.
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(submit("", "").ok());
  EXPECT_NE(
      ports_.metrics().find(R"(baton_queue_depth{cluster="test",reason="no_runner_matches"} 3)"),
      std::string::npos)
      << ports_.metrics();
  EXPECT_NE(ports_.metrics().find(R"(baton_queue_depth{cluster="test",reason="hold"} 0)"),
            std::string::npos);
  const auto stats = ports_.stats();
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(stats->waiting_by_reason.at("no_runner_matches"), 3U);
  EXPECT_EQ(stats->live_by_priority.at("normal"), 3U);
}

}  // namespace
}  // namespace baton::test
