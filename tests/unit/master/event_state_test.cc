// What a wait for the end of a flow says of it, and which of its runs counts.
#include "tests/unit/master/flow_fixture.h"

namespace baton::test {
namespace {

class EventStateTest : public FlowTest {
 protected:
  const std::string kWaiting = "flow: dst\ntasks: {w: {event: {flow: src}}}\n";

  RunRecord runAt(const std::string& flow, const std::string& plan_time) {
    return trigger(flow, {.plan_time = *parseRfc3339(plan_time)});
  }
  std::string why(RunId run) { return rig_->events.whyWaiting(node(run, "w").state.id); }
};

TEST_F(EventStateTest, AWaitTellsHowItsSourceStandsNow) {
  define("flow: src\ntasks: {a: {command: [x]}}\n");
  define(kWaiting);
  const RunId waiting = runAt("dst", "2026-11-29T05:00:00Z").state.id;
  settle();
  EXPECT_NE(why(waiting).find("there is no run yet"), std::string::npos) << why(waiting);
  const RunId source = runAt("src", "2026-11-29T02:00:00Z").state.id;
  settle();
  EXPECT_NE(why(waiting).find("is RUNNING"), std::string::npos) << why(waiting);
  work({"a"});
  EXPECT_NE(why(waiting).find("is FAILED"), std::string::npos) << why(waiting);
  ASSERT_TRUE(orderRun({.id = source, .command = master::api::RunCommand::Rerun}).ok());
  settle();
  EXPECT_NE(why(waiting).find("is RUNNING"), std::string::npos) << why(waiting);
}

// A run that never began because of another says nothing of the state.
TEST_F(EventStateTest, ARunThatWasSkippedForAnotherDoesNotCount) {
  define("flow: src\noverlap: skip\ntasks: {a: {command: [x]}}\n");
  define(kWaiting);
  const RunId first = runAt("src", "2026-11-29T02:00:00Z").state.id;
  const RunId second = runAt("src", "2026-11-29T03:00:00Z").state.id;
  EXPECT_EQ(runStatus(second), RunStatus::Skipped);
  const RunId waiting = runAt("dst", "2026-11-29T05:00:00Z").state.id;
  settle();
  EXPECT_NE(why(waiting).find(fmt::format("the newest, run {} of", first)), std::string::npos)
      << why(waiting);
  work();
  EXPECT_EQ(runStatus(first), RunStatus::Finished);
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Finished);
}

}  // namespace
}  // namespace baton::test
