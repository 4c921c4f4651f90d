#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/master/flow_fixture.h"

namespace baton::test {

// The schedule of most flows of tests that people order something of.
inline constexpr const char* kDaily =
    "cron: '0 2 * * *', timezone: UTC, start: '2026-02-20T00:00:00Z'";

// Flows with schedules, driven by a clock that jumps. Their tasks end by themselves unless a test
// says otherwise.
class PlannerTest : public FlowTest {
 protected:
  // What became of an instant: "run", "late" (compensation) or why it was missed.
  using Fates = std::map<std::string, std::string>;

  void SetUp() override {
    at("2026-03-02T00:00:30Z");
    begin();
  }
  void TearDown() override {
    EXPECT_EQ(database_.violation(), "");
    if (rig_) {
      EXPECT_EQ(rig_->bug, "");
    }
  }

  static WallTime instant(const std::string& text) {
    const auto parsed = parseRfc3339(text);
    EXPECT_TRUE(parsed.ok()) << text;
    return *parsed;
  }
  // The time becomes that, later than it is, with nobody looking.
  void at(const std::string& text) { clock_.advance(instant(text) - clock_.wallNow()); }
  // Time goes by under the eyes of the master: it is there when something is due.
  void watch(Micros time, Micros step = Seconds(10)) {
    while (time > Micros(0)) {
      Micros by = std::min(time, step);
      for (const auto& [key, flow] : rig_->flows.flows) {
        const Micros until_due = flow.record.next_at - clock_.wallNow();
        if (flow.record.online && until_due > Micros(0)) by = std::min(by, until_due);
      }
      clock_.advance(by);
      time -= by;
      for (int i = 0; i < 3; ++i) rig_->step();
    }
    settle();
  }
  void watchUntil(const std::string& text, Micros step = Seconds(10)) {
    watch(instant(text) - clock_.wallNow(), step);
  }
  // Runs until the planner has nothing left to do and all of it is durable.
  void finish() {
    const auto busy = [&] {
      return rig_->planner.behind() > 0 || rig_->writer.pendingOperations() > 0;
    };
    for (int i = 0; i < 10'000 && busy(); ++i) {
      clock_.advance(Millis(1));
      rig_->step();
    }
    settle();
  }
  // No master for so long; then another one.
  void absent(Micros time, uint64_t id_stock = 1'000) {
    rig_.reset();
    clock_.advance(time);
    begin(defaults(), id_stock);
    finish();
  }

  static std::string yaml(const std::string& name, const std::string& schedule) {
    return "{flow: " + name + ", schedule: {" + schedule +
           "}, overlap: {policy: parallel, max_runs: 1000, max_queued: 10000}, "
           "tasks: {a: {noop: true}}}";
  }
  template <typename View>
  Result<View> ask(const std::function<void(master::api::Callback<View>)>& question) {
    std::optional<Result<View>> answer;
    rig_->dispatcher.post([&] { question([&](Result<View> result) { answer = result; }); });
    settle();
    EXPECT_TRUE(answer.has_value());
    return answer ? *answer : Result<View>(Error::internal("no answer"));
  }
  Result<master::api::FlowApplied> tryApply(master::api::FlowApply request,
                                            const master::FlowComparison& compared = {}) {
    flow::ParsedFlow parsed = flow::parseFlow("test", request.text);
    for (const flow::FlowIssue& issue : parsed.issues) EXPECT_TRUE(issue.warning) << issue.text();
    const auto version = master::makeFlowVersion(0, *parsed.flow);
    std::vector<master::FlowDefinition> one;
    one.push_back({std::move(request), version, compared});
    auto applied = applyAll(std::move(one));
    if (!applied.ok()) return applied.error();
    return applied->flows.front();
  }
  Result<master::api::FlowsApplied> applyAll(std::vector<master::FlowDefinition> definitions) {
    return ask<master::api::FlowsApplied>(
        [&](auto done) { rig_->flow_commands.apply(std::move(definitions), done); });
  }
  // Several at once, as files a, b, …
  Result<master::api::FlowsApplied> applyTexts(const std::vector<std::string>& texts) {
    std::vector<master::FlowDefinition> definitions;
    for (const std::string& text : texts) {
      master::api::FlowApply request;
      request.text = text;
      request.file = std::string(1, static_cast<char>('a' + definitions.size()));
      request.online = true;
      flow::ParsedFlow parsed = flow::parseFlow(request.file, text);
      definitions.push_back({std::move(request), master::makeFlowVersion(0, *parsed.flow), {}});
    }
    return applyAll(std::move(definitions));
  }
  master::api::FlowApplied apply(const std::string& text, std::optional<bool> online = true) {
    master::api::FlowApply request;
    request.text = text;
    request.online = online;
    const auto applied = tryApply(std::move(request));
    EXPECT_TRUE(applied.ok()) << applied.status().text();
    return applied.ok() ? *applied : master::api::FlowApplied{};
  }
  void setOnline(const std::string& name, bool online) {
    const auto view = ask<master::api::FlowView>(
        [&](auto done) { rig_->flow_commands.setOnline(name, online, requester(), done); });
    EXPECT_TRUE(view.ok()) << view.status().text();
    EXPECT_EQ(view->record.online, online);
  }

  // A backfill of flow F.
  Result<master::api::BackfillView> backfill(const master::api::FlowBackfill& request) {
    return ask<master::api::BackfillView>(
        [&](auto done) { rig_->flow_commands.backfill(request, done); });
  }
  static master::api::FlowBackfill days(const std::string& from, const std::string& to) {
    master::api::FlowBackfill request;
    request.flow = "F";
    request.from = instant(from);
    request.to = instant(to);
    return request;
  }

  FlowRecord flowRow(const std::string& key) const { return database_.rows().flows.at(key); }
  std::vector<RunRecord> runsOf(const std::string& key,
                                RunTrigger trigger = RunTrigger::Schedule) const {
    std::vector<RunRecord> found;
    for (const auto& [id, run] : database_.rows().runs) {
      if (nameKey(run.flow) == key && run.trigger == trigger) found.push_back(run);
    }
    return found;
  }
  // By plan time; an instant with two rows is a failure.
  Fates fates(const std::string& key) const {
    Fates found;
    for (const RunRecord& run : runsOf(key)) {
      const auto [at, added] =
          found.emplace(formatRfc3339(run.plan_time), run.compensates ? "late" : "run");
      EXPECT_TRUE(added) << at->first;
      EXPECT_EQ(run.trigger_key, at->first);
    }
    for (const auto& [instant, missed] : database_.rows().missed) {
      if (instant.second != key || missed.run_id != 0) continue;
      EXPECT_TRUE(found.emplace(formatRfc3339(missed.plan_time), missed.reason).second)
          << formatRfc3339(missed.plan_time);
    }
    return found;
  }
  size_t count(const std::string& key, const std::string& fate) const {
    size_t found = 0;
    for (const auto& [at, what] : fates(key)) found += what == fate ? 1 : 0;
    return found;
  }
  // A grid of instants, all with one fate.
  static void expectEach(Fates& fates, const std::string& from, const std::string& to, Micros step,
                         const std::string& fate) {
    for (WallTime at = instant(from); at <= instant(to); at += step) {
      fates[formatRfc3339(at)] = fate;
    }
  }
};

}  // namespace baton::test
