#include "flow/definition/flow_diff.h"

#include "tests/unit/flow/flow_texts.h"

namespace baton::flow {
namespace {

using Lines = std::vector<std::string>;

Lines diffOf(const std::string& before, const std::string& after) {
  return diffFlows(flowOf(before), flowOf(after));
}

// Every change must be said in words, in the terms of the definition.
TEST(FlowDiffTest, SaysWhatChanges) {
  const std::string before =
      "flow: f\nowner: a\nparams: {d: '1', e: null}\n"
      "schedule: {cron: 0 2 * * *, timezone: UTC}\ntasks:\n"
      "  load: {command: [x, a], timeout: 1h, retry: {max: 1}}\n"
      "  x: {noop: true}\n  y: {noop: true, needs: [x]}\n"
      "  s: {script: \"a\\nb\\nc\\n\", labels: {os: linux}}\n";
  const std::string after =
      "flow: f\npriority: high\nparams: {d: '2', e: ''}\ntags: [t]\n"
      "schedule: {cron: 0 3 * * *, timezone: UTC, misfire: latest}\ntasks:\n"
      "  load: {command: [x, b], timeout: 2h, retry: {max: 3, delay: 5s}}\n"
      "  z: {noop: true}\n  y: {noop: true, needs: {z: success, load: done}}\n"
      "  s: {script: \"a\\nb\\nd\\n\", when: \"${flow} == 'f'\"}\n";
  EXPECT_EQ(diffOf(before, before), Lines{});
  EXPECT_EQ(
      diffOf(before, after),
      (Lines{"owner a removed", "params.d 1 -> 2", "params.e null -> \"\"",
             "schedule.cron \"0 2 * * *\" -> \"0 3 * * *\"", "schedule.misfire.policy latest added",
             "priority high added", "tags +t", "task load: command [\"x\",\"a\"] -> [\"x\",\"b\"]",
             "task load: retry.max 1 -> 3", "task load: retry.delay 5s added",
             "task load: timeout 1h -> 2h", "task s: labels.os linux removed",
             "task s: script changed (3 lines)", "task s: when \"${flow} == 'f'\" added",
             "task x removed", "task y: needs +load (done) +z -x", "task z added"}));
  const Lines back = diffOf(after, before);
  EXPECT_NE(std::find(back.begin(), back.end(), "task y: needs +x -load (done) -z"), back.end());
}

// What is written otherwise but means the same is no change; a new default tells what it does.
TEST(FlowDiffTest, ComparesMeaning) {
  const std::string plain = "flow: f\ntasks:\n  a: {command: [x], timeout: 60s}\n";
  EXPECT_EQ(diffOf(plain,
                   "{\"flow\": \"f\", \"defaults\": {\"timeout\": \"1m\"}, "
                   "\"tasks\": {\"a\": {\"command\": [\"x\"], \"weight\": 1}}}"),
            Lines{});
  EXPECT_EQ(diffOf(plain,
                   "flow: f\ndefaults: {group: etl}\ntasks:\n"
                   "  a: {command: [x], timeout: 60s}\n"),
            Lines{"task a: group etl added"});
  EXPECT_EQ(diffOf("flow: f\ntasks: {a: {noop: true}, b: {noop: true, needs: [a]}}\n",
                   "flow: f\ntasks: {a: {noop: true}, b: {noop: true, needs: {a: failure}}}\n"),
            Lines{"task b: needs a success -> failure"});
}

}  // namespace
}  // namespace baton::flow
