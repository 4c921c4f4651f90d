#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/fake_clock.h"
#include "tests/support/term_rig.h"

namespace baton::test {

inline constexpr Millis kH{1'000};

// Receivers that answer when the test wants it.
class FakeWebhooks final : public master::api::WebhookPort {
 public:
  struct Call {
    master::api::Webhook webhook;
    std::function<void(Status)> done;
  };
  void send(master::api::Webhook webhook, std::function<void(Status)> done) override {
    calls.push_back({std::move(webhook), std::move(done)});
  }
  Status checkReceiver(const std::string& url) const override {
    if (url.find("//listed") != url.npos) return {};
    return Error(ErrorCode::PermissionDenied, "it is not on the list of allowed targets");
  }
  std::vector<Call> calls;
};

// One term over an in-memory database, driven step by step, with people and runners at hand.
class MasterTest : public testing::Test {
 protected:
  using Reply = std::optional<Result<HeartbeatReply>>;
  using ReplyRef = std::shared_ptr<Reply>;

  static master::ActiveOptions defaults() {
    master::ActiveOptions options;
    options.heartbeat = kH;
    options.watchdog_period = Millis(100);
    options.recover_threads = 1;
    return options;
  }

  // Begins a term that rules the database; a term before it is dropped without a word.
  void begin(master::ActiveOptions options = defaults(), uint64_t id_stock = 1'000,
             size_t batch_operations_max = 4'096) {
    open(std::move(options), id_stock, batch_operations_max);
    settle();
  }
  // The same, but nothing of what is due has been done yet.
  void open(master::ActiveOptions options = defaults(), uint64_t id_stock = 1'000,
            size_t batch_operations_max = 4'096) {
    ++epoch_;
    database_.rule(epoch_);
    rig_ = std::make_unique<TermRig>(TermRig::Setup{clock_, database_, metrics_, webhooks_,
                                                    std::move(options), epoch_, "guid-1", "key",
                                                    id_stock, batch_operations_max});
    const Status recovered = rig_->recover();
    ASSERT_TRUE(recovered.ok()) << recovered.text();
    rig_->open();
  }
  void settle() { rig_->settle(); }
  // Lets time pass in steps that no timer overlooks.
  void pass(Micros time) {
    while (time > Micros(0)) {
      const Micros step = std::min<Micros>(time, Millis(50));
      clock_.advance(step);
      time -= step;
      settle();
    }
  }

  // ------------------------------------------------------------------------------- people
  static TaskSpec spec() {
    TaskSpec spec;
    spec.name = "t";
    spec.command = {"x"};
    return spec;
  }
  static TaskSpec retried(int64_t max = 2) {
    TaskSpec task = spec();
    task.policy.retry = {max, Millis(1'000), 2.0, Millis(60'000)};
    return task;
  }
  Result<master::api::SubmitAnswer> offer(master::api::Submission submission) {
    std::optional<Result<master::api::SubmitAnswer>> answer;
    rig_->dispatcher.post([&] {
      rig_->commands.submit(submission, clock_.bootNow(), [&](auto result) { answer = result; });
    });
    settle();
    EXPECT_TRUE(answer.has_value());
    return *answer;
  }
  TaskId submit(TaskSpec task = spec()) {
    master::api::Submission submission;
    submission.tasks.push_back(std::move(task));
    submission.request.principal = "p";
    const auto answer = offer(std::move(submission));
    EXPECT_TRUE(answer.ok()) << answer.status().text();
    return *parseTaskId((*parseJson(answer->body))["id"].get<std::string>());
  }
  // Whom the audit names.
  static master::api::Request requester() {
    master::api::Request request;
    request.principal = "p";
    request.remote = "10.0.0.7";
    request.request_id = "r-1";
    return request;
  }
  Result<TaskState> command(TaskId id, master::api::TaskCommand what, bool force = false) {
    clock_.advance(Micros(1));  // A row read in the microsecond of its end is read again.
    const TaskRecord record = database_.rows().tasks.at(id);
    std::optional<Result<TaskState>> answer;
    rig_->dispatcher.post([&] {
      rig_->commands.command(id, what, force, requester(),
                             isTerminal(record.state.status) ? &record : nullptr, clock_.bootNow(),
                             [&](auto result) { answer = result; });
    });
    settle();
    EXPECT_TRUE(answer.has_value());
    return *answer;
  }
  // A command that must be accepted.
  void order(TaskId id, master::api::TaskCommand what) {
    const auto answer = command(id, what);
    EXPECT_TRUE(answer.ok()) << answer.status().text();
  }
  TaskState state(TaskId id) const { return database_.state(id); }
  TaskStatus status(TaskId id) const { return state(id).status; }
  AttemptRecord attempt(TaskId id, int32_t number = 1) const {
    return database_.attempt(id, number);
  }

  // ------------------------------------------------------------------------------ runners
  // The next heartbeat of a runner ("worker:slot"), about what it accepted last.
  HeartbeatRequest beat(RunnerStatus said = RunnerStatus::Idle, const std::string& runner = "w:0") {
    HeartbeatRequest request;
    request.runner_id = runner;
    request.worker_id = runner.substr(0, runner.find(':'));
    request.host = request.worker_id;
    request.journal_id = "journal-" + request.worker_id;
    request.incarnation = 1;
    request.seq = ++seqs_[runner];
    const auto accepted = accepted_.find(runner);
    if (accepted != accepted_.end()) {
      request.has_last_order = true;
      request.last_order = accepted->second;
      if (said != RunnerStatus::Idle) request.current = accepted->second;
    }
    request.status = said;
    if (said == RunnerStatus::Finished) request.result.return_code = 0;
    if (said == RunnerStatus::Failed) {
      request.result.return_code = 1;
      request.result.reason = FailureReason::ExitCode;
    }
    return request;
  }
  ReplyRef send(HeartbeatRequest request) {
    auto reply = std::make_shared<Reply>();
    rig_->dispatcher.post([this, request = std::move(request), reply]() mutable {
      rig_->heartbeats.handle(std::move(request), [reply](auto result) { *reply = result; });
    });
    settle();
    return reply;
  }
  // The answer to a heartbeat, which must be there; an order is accepted.
  HeartbeatReply exchange(const HeartbeatRequest& request) {
    const ReplyRef reply = send(request);
    EXPECT_TRUE(reply->has_value() && (*reply)->ok())
        << (reply->has_value() ? (*reply)->status().text() : "no answer");
    if (!reply->has_value() || !(*reply)->ok()) return {};
    if ((**reply)->order) accepted_[request.runner_id] = (**reply)->order->key;
    return ***reply;
  }
  HeartbeatReply say(RunnerStatus said, const std::string& runner = "w:0") {
    return exchange(beat(said, runner));
  }
  // A task that was submitted, given to the runner and, if wanted, reported running.
  TaskId dispatch(TaskSpec task = spec(), const std::string& runner = "w:0") {
    const TaskId id = submit(std::move(task));
    const HeartbeatReply reply = say(RunnerStatus::Idle, runner);
    EXPECT_EQ(reply.command, Command::RunNew);
    EXPECT_EQ(status(id), TaskStatus::Dispatched);
    return id;
  }
  TaskId run(TaskSpec task = spec(), const std::string& runner = "w:0") {
    const TaskId id = dispatch(std::move(task), runner);
    EXPECT_EQ(say(RunnerStatus::Running, runner).command, Command::GoOn);
    EXPECT_EQ(status(id), TaskStatus::Running);
    return id;
  }

  test::FakeClock clock_;
  FakeDatabase database_{1};
  master::Metrics metrics_{"test"};
  FakeWebhooks webhooks_;
  std::unique_ptr<TermRig> rig_;
  Epoch epoch_ = 1;
  std::map<std::string, uint64_t> seqs_;
  std::map<std::string, AttemptKey> accepted_;
};

}  // namespace baton::test
