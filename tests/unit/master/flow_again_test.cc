// Flows that are stored again: what goes on, and what begins anew.
#include "tests/unit/master/planner_fixture.h"

namespace baton::test {
namespace {

class FlowAgainTest : public PlannerTest {
 protected:
  Status remove(const std::string& name) {
    return ask<master::api::FlowView>(
               [&](auto done) { rig_->flow_commands.remove(name, requester(), done); })
        .status();
  }
  ErrorCode faultOfMissed(const std::string& flow, const std::string& at) {
    MissedRecord missed;
    missed.flow = flow;
    missed.plan_time = instant(at);
    const auto run = ask<master::api::MadeRun>([&](auto done) {
      rig_->flow_commands.runMissed(missed, {"p", {}, "h"}, done);
    });
    EXPECT_FALSE(run.ok());
    return run.error().code();
  }
};

// Neither the case of the name nor what becomes of missed instants makes another schedule.
TEST_F(FlowAgainTest, TheCountGoesOnWhereTheInstantsStayTheSame) {
  apply("{flow: f, schedule: {every: 100s, count: 3}, tasks: {a: {noop: true}}}");
  watch(Seconds(210));
  ASSERT_EQ(fates("f").size(), 2U);
  apply("{flow: F, schedule: {every: 100s, count: 3}, tasks: {a: {noop: true}}}");
  apply("{flow: F, schedule: {every: 100s, count: 3, misfire: latest}, tasks: {a: {noop: true}}}");
  watch(Seconds(500));
  EXPECT_EQ(fates("f").size(), 3U);
}

// A name that is used again begins anew: what the flow before it missed is not its own.
TEST_F(FlowAgainTest, ANewFlowHasNothingOfADeletedOneOfItsName) {
  apply(yaml("F", "cron: '0 2 * * *', timezone: UTC, misfire: none"));
  absent(Seconds(3 * 86'400));
  const std::string at = "2026-03-03T02:00:00Z";
  ASSERT_EQ(fates("f").at(at), "policy_none");
  ASSERT_TRUE(remove("f").ok());
  watch(Seconds(1));
  apply("{flow: F, tasks: {a: {command: [x]}}}");
  EXPECT_EQ(faultOfMissed("f", at), ErrorCode::NotFound);
}

}  // namespace
}  // namespace baton::test
