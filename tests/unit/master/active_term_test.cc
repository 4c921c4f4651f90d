#include "master/active_term.h"

#include <gtest/gtest.h>

#include <future>

#include "tests/unit/master/master_fixture.h"

namespace baton::test {
namespace {

constexpr Millis kTermLimit{10'000};

class TellTale final : public master::TermListener {
 public:
  void onTermFenced() override {
    if (++fenced == 1) first_fenced.set_value();
  }
  void onTermHigherEpoch(Epoch) override {}
  void onTermBug(const std::string&) override { ++bugs; }
  void onTermDatabase(bool) override {}
  bool mayAct() const override { return true; }
  std::atomic<int> fenced{0}, bugs{0};
  std::promise<void> first_fenced;
};

// A whole term with its own threads over a database in memory.
class ActiveTermTest : public testing::Test {
 protected:
  std::unique_ptr<master::ActiveTerm> make() {
    master::ActiveOptions options;
    options.heartbeat = kH;
    ha::Leadership leadership;
    leadership.epoch = database_.epoch();
    leadership.cluster_guid = "guid-1";
    return std::make_unique<master::ActiveTerm>(
        master::TermEnvironment{clock_, database_, webhooks_, metrics_, watch_, listener_, "key"},
        options, leadership, stop_.get_token());
  }
  // A submission; what comes of it can be waited for.
  std::future<Status> submit(master::ActiveTerm& term) {
    TaskSpec spec;
    spec.name = "t";
    spec.command = {"true"};
    master::api::Submission submission;
    submission.tasks.push_back(std::move(spec));
    const auto promise = std::make_shared<std::promise<Status>>();
    term.submit(std::move(submission), clock_.bootNow(),
                [promise](const Result<master::api::SubmitAnswer>& answer) {
                  promise->set_value(answer.status());
                });
    return promise->get_future();
  }
  static bool answered(const std::future<Status>& answer, Millis limit) {
    return answer.wait_for(limit) == std::future_status::ready;
  }
  // Asks for something whose answer is to come, and says how it was answered.
  template <typename Ask>
  static Status wait(const Ask& ask) {
    const auto promise = std::make_shared<std::promise<Status>>();
    auto answer = promise->get_future();
    ask([promise](const auto& result) { promise->set_value(result.status()); });
    EXPECT_TRUE(answered(answer, kTermLimit));
    return answer.get();
  }
  ha::Leadership leadership() {
    ha::Leadership leadership;
    leadership.epoch = database_.epoch();
    return leadership;
  }

  SystemClock clock_;
  FakeDatabase database_;
  FakeWebhooks webhooks_;
  master::Metrics metrics_{"test"};
  master::WatchLog watch_;
  TellTale listener_;
  std::stop_source stop_;
};

TEST_F(ActiveTermTest, TakesASubmissionAndMakesItDurable) {
  const auto term = make();
  ASSERT_TRUE(term->start().ok());
  EXPECT_TRUE(term->open());
  auto answer = submit(*term);
  ASSERT_TRUE(answered(answer, kTermLimit));
  EXPECT_TRUE(answer.get().ok());
  EXPECT_EQ(database_.rows().tasks.size(), 1U);
  term->stop();
  EXPECT_FALSE(term->open());
}

// What an order is about is read before the dispatcher decides.
TEST_F(ActiveTermTest, OrdersAboutManyFlowsFindTheirDefinitionsRead) {
  using master::api::CalendarsApplied;
  using master::api::FlowsApplied;
  using master::api::FlowView;
  const auto apply = [&](master::ActiveTerm& term, const std::string& text) {
    master::api::FlowApply request;
    request.text = text;
    const auto parsed = flow::parseFlow("test", text);
    auto version = master::makeFlowVersion(0, *parsed.flow);
    std::vector<master::FlowDefinition> one;
    one.push_back({std::move(request), std::move(version), {}});
    return wait([&](auto done) {
      term.applyFlows(std::move(one), [done](const Result<FlowsApplied>& result) { done(result); });
    });
  };
  size_t followers = 0;
  const auto applyCalendar = [&](master::ActiveTerm& term, const std::string& text) {
    master::api::CalendarApply request;
    request.text = text;
    return wait([&](auto done) {
      std::vector<master::CalendarDefinition> one;
      one.push_back({request, flow::parseCalendar("test", text)});
      term.applyCalendars(std::move(one),
                          [&followers, done](const Result<CalendarsApplied>& result) {
                            followers = result.ok() ? result->calendars.front().flows : 0;
                            done(result);
                          });
    });
  };
  {
    const auto term = make();
    ASSERT_TRUE(term->start().ok());
    ASSERT_TRUE(applyCalendar(*term, "{calendar: De}").ok());
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(apply(*term, fmt::format("{{flow: f{}, schedule: {{cron: '0 2 * * *', timezone: "
                                           "UTC, calendar: De}}, tasks: {{a: {{noop: true}}}}}}",
                                           i))
                      .ok());
    }
    ASSERT_TRUE(apply(*term, "{flow: part, tasks: {s: {flow: f0}}}").ok());
    term->stop();
  }
  database_.rule(database_.epoch() + 1);
  const auto term = make();
  ASSERT_TRUE(term->start().ok());
  EXPECT_TRUE(applyCalendar(*term, "{calendar: De, holidays: [2026-01-01]}").ok());
  EXPECT_EQ(followers, 5U);
  EXPECT_TRUE(wait([&](auto done) {
                term->setFlowOnline("f1", true, {},
                                    [done](const Result<FlowView>& result) { done(result); });
              }).ok());
  EXPECT_EQ(apply(*term, "{flow: n, trigger: {event: {flow: f0}}, tasks: {s: {flow: part}}}")
                .error()
                .code(),
            ErrorCode::InvalidArgument);
  size_t read_by_dispatcher = 1;
  EXPECT_TRUE(term->inspect([&] { read_by_dispatcher = term->flows().bytes_read; }));
  EXPECT_EQ(read_by_dispatcher, 0U);
  term->stop();
}

// Definitions that nobody has read since the takeover are asked whether they use a parameter of the
// project, and only those that may are read.
TEST_F(ActiveTermTest, AParameterThatUnreadFlowsUseStays) {
  const auto removeFrom = [&](master::ActiveTerm& term, const std::string& name) {
    return wait([&](auto done) {
      term.removeParam(name, {}, [done](const Result<ParamRecord>& removed) { done(removed); });
    });
  };
  {
    const auto term = make();
    ASSERT_TRUE(term->start().ok());
    for (const char* name : {"region", "unused"}) {
      ASSERT_TRUE(wait([&](auto done) {
                    term->setParam(
                        {.name = name, .value = "x", .if_version = {}},
                        [done](const Result<master::api::ParamIsSet>& is_set) { done(is_set); });
                  }).ok());
    }
    std::vector<master::FlowDefinition> definitions;
    for (const std::string text : {"{flow: A, tasks: {a: {command: ['${region}']}}}",
                                   "{flow: B, tasks: {a: {command: [\"${\\x72egion}\"]}}}",
                                   "{flow: C, tasks: {a: {command: [x]}}}"}) {
      const auto parsed = flow::parseFlow("test", text, term->flowSurroundings());
      ASSERT_TRUE(parsed.flow) << text;
      master::api::FlowApply request;
      request.text = text;
      definitions.push_back({std::move(request), master::makeFlowVersion(0, *parsed.flow), {}});
    }
    ASSERT_TRUE(wait([&](auto done) {
                  term->applyFlows(
                      std::move(definitions),
                      [done](const Result<master::api::FlowsApplied>& result) { done(result); });
                }).ok());
    term->stop();
  }
  database_.rule(database_.epoch() + 1);
  const auto term = make();
  ASSERT_TRUE(term->start().ok());
  const Status refused = removeFrom(*term, "region");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.text().find("is used by A, B;"), std::string::npos) << refused.text();
  EXPECT_TRUE(removeFrom(*term, "unused").ok());
  bool unread = false;
  EXPECT_TRUE(term->inspect([&] { unread = term->flows().flows.at("c").newest == nullptr; }));
  EXPECT_TRUE(unread);
  term->stop();
}

// A freeze that falls into the start holds until the resume that follows the promotion; then the
// term works.
TEST_F(ActiveTermTest, FreezeDuringTheStartHoldsUntilTheResume) {
  const auto term = make();
  term->freeze();
  ASSERT_TRUE(term->start().ok());
  auto answer = submit(*term);
  EXPECT_FALSE(answered(answer, Millis(300)));
  EXPECT_TRUE(database_.rows().tasks.empty());
  EXPECT_TRUE(term->resume(leadership()));
  ASSERT_TRUE(answered(answer, kTermLimit));
  EXPECT_TRUE(answer.get().ok());
}

TEST_F(ActiveTermTest, FrozenTermWritesNothingAndGoesOnWhenResumed) {
  const auto term = make();
  ASSERT_TRUE(term->start().ok());
  term->freeze();
  auto answer = submit(*term);
  EXPECT_FALSE(answered(answer, Millis(300)));
  EXPECT_TRUE(term->resume(leadership()));
  ASSERT_TRUE(answered(answer, kTermLimit));
  EXPECT_TRUE(answer.get().ok());
}

// Its memory is ahead of the database: only a term that loads anew can go on.
TEST_F(ActiveTermTest, TermWhoseWriterWasFencedDoesNotResume) {
  const auto term = make();
  ASSERT_TRUE(term->start().ok());
  database_.fail(FakeDatabase::Point::Begin, ErrorCode::Fenced);
  auto answer = submit(*term);
  ASSERT_EQ(listener_.first_fenced.get_future().wait_for(kTermLimit), std::future_status::ready);
  term->freeze();
  EXPECT_FALSE(term->resume(leadership()));
  EXPECT_TRUE(database_.rows().tasks.empty());
}

TEST_F(ActiveTermTest, DrainCommitsWhatIsDecidedAndTakesNothingNew) {
  const auto term = make();
  ASSERT_TRUE(term->start().ok());
  // Tries again after 50, 100, 200 and 400 ms.
  database_.fail(FakeDatabase::Point::Begin, ErrorCode::Unavailable, 4);
  auto waiting = submit(*term);
  EXPECT_FALSE(answered(waiting, Millis(100)));
  EXPECT_FALSE(term->drain(clock_.bootNow() + Millis(200)));
  EXPECT_TRUE(term->drain(clock_.bootNow() + kTermLimit));
  ASSERT_TRUE(answered(waiting, kTermLimit));
  EXPECT_TRUE(waiting.get().ok());
  auto late = submit(*term);
  term->stop();
  EXPECT_EQ(database_.rows().tasks.size(), 1U);
  EXPECT_FALSE(answered(late, Millis(0)) && late.get().ok());
}

// A promotion that is called off ends at once, wherever it stands.
TEST_F(ActiveTermTest, StartThatIsCalledOffEnds) {
  stop_.request_stop();
  const auto term = make();
  const Status started = term->start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code(), ErrorCode::Cancelled);
  EXPECT_FALSE(term->open());
}

}  // namespace
}  // namespace baton::test
