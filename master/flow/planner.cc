#include "master/flow/planner.h"

#include <algorithm>

#include "common/base/log.h"
#include "common/base/mutant.h"

namespace baton::master {
namespace {

// A gap so long is a failover and no outage; and so old a newest instant may still be begun.
constexpr Micros kCurrentTolerance = Seconds(60);
// Unless another one was missed so short a time before it.
constexpr Micros kOutageQuiet = Seconds(600);
// We look at least so often.
constexpr Micros kSleepMax = Seconds(30);
// Who looks so much later than it wanted to has slept: a dispatcher that is merely busy is not so
// late, or the master gives its role up.
constexpr Micros kLateMax = Seconds(5);
constexpr Micros kStepTolerated = Millis(500);

constexpr size_t kDuePerTurn = 200;
// What one look may take, however much is due: dense schedules on calendars cost more than others.
constexpr Micros kTurn = Millis(100);
// Of definitions that nobody has needed since the takeover.
constexpr size_t kBytesReadPerTurn = 256 * 1024;
constexpr size_t kGapFlowsPerTurn = 50;
constexpr size_t kGapRunsPerTurn = 50;
constexpr size_t kGapRowsPerTurn = 2'000;
constexpr size_t kRunsPerSlice = 10;
constexpr size_t kRowsPerSlice = 500;
constexpr size_t kGivenUpMax = 10'000;
constexpr size_t kCountedPerTurn = 10'000;
// Operations on their way: compensation lets so many go first, and more must not pile up in memory.
constexpr size_t kWriterBusy = 1'000;
constexpr size_t kWriterFull = 20'000;

constexpr Micros kRefusedWait = Millis(200);
constexpr Micros kWriterWait = Millis(20);
constexpr Micros kTick{1};

int64_t countOf(const LiveFlow& flow) { return flow.newest->spec.schedule->count; }

}  // namespace

Planner::Planner(TermContext& context, FlowState& flows, RunEngine& runs, ReadWorker& reads)
    : context_(context), flows_(flows), runs_(runs), reads_(reads) {}

// ------------------------------------------------------------------------------------- flows

bool Planner::read(LiveFlow& flow) {
  if (flows_.newestOf(flow) != nullptr && flow.recurrence) return true;
  logError("flow_not_planned", field("flow", flow.record.name));
  return false;
}

bool Planner::turnIsOver() const {
  return flows_.bytes_read - read_before_ > kBytesReadPerTurn ||
         context_.clock.bootNow() - looked_boot_ > kTurn;
}

WallTime Planner::nextOf(const LiveFlow& flow) const {
  const int64_t count = countOf(flow);
  if (count > 0 && flow.record.fired >= count) return {};
  return flow.recurrence->next(flow.record.last_instant).value_or(WallTime{});
}

void Planner::enter(const LiveFlow& flow) {
  if (flow.record.next_at != WallTime{}) due_.emplace(flow.record.next_at, flow.record.key());
}

void Planner::leave(const LiveFlow& flow) {
  due_.erase({flow.record.next_at, flow.record.key()});
  counting_.erase(flow.record.key());
}

// It goes on behind what is due.
void Planner::countLater(const LiveFlow& flow) { counting_.insert(flow.record.key()); }

void Planner::plan(LiveFlow& flow) {
  FlowRecord& record = flow.record;
  leave(flow);
  gaps_.erase(record.key());
  record.missed_after = record.missed_until = {};
  record.next_at = flow.set_back_from = {};
  flow.counting = {};
  flow.recurrence.reset();
  if (record.deleted || !record.online) return;
  if (flows_.newestOf(flow) == nullptr || !flow.recurrence) return;
  const WallTime now = context_.clock.wallNow();
  record.last_instant = std::max(record.last_instant, now);
  record.next_at = nextOf(flow);
  flow.planned = true;
  enter(flow);
  if (open_ && !due_.empty() && due_.begin()->second == record.key()) arm(now);
}

bool Planner::replan(LiveFlow& flow) {
  FlowRecord& record = flow.record;
  flow.recurrence.reset();
  flow.counting = {};
  if (record.deleted || !record.online) return false;
  leave(flow);
  const WallTime now = context_.clock.wallNow();
  const bool due = record.next_at != WallTime{} && record.next_at <= now;
  // A day of the past that becomes a workday is not made up for.
  if (!due) record.last_instant = std::max(record.last_instant, now);
  record.next_at = {};
  if (!read(flow)) return true;
  record.next_at = nextOf(flow);
  flow.planned = true;
  enter(flow);
  if (open_) lookAgain({});
  return true;
}

void Planner::giveUp(Operation& operation, LiveFlow& flow, std::string_view reason) {
  FlowRecord& record = flow.record;
  if (record.deleted || !record.online) return;
  const WallTime now = context_.clock.wallNow();
  const bool missed = record.missed_until != WallTime{};
  const bool due = record.next_at != WallTime{} && record.next_at <= now;
  if ((missed || due) && read(flow)) {
    const int64_t count = countOf(flow);
    size_t rows = 0;
    const auto giveUpAll = [&](WallTime after, WallTime until, bool counted) {
      for (auto at = flow.recurrence->next(after); at && *at <= until;
           at = flow.recurrence->next(*at)) {
        if (counted && count > 0 && record.fired++ >= count) return;
        if (++rows > kGivenUpMax) return;
        miss(operation, flow, *at, reason);
      }
    };
    if (missed) giveUpAll(record.missed_after, record.missed_until, false);
    if (due) giveUpAll(record.last_instant, now, true);
    countMissed(operation);
    if (rows > kGivenUpMax) {
      logWarn("missed_not_recorded", field("flow", record.name), field("recorded", kGivenUpMax),
              field("reason", reason));
    }
  }
  leave(flow);
  gaps_.erase(record.key());
  record.missed_after = record.missed_until = {};
  record.last_instant = std::max(record.last_instant, now);
  record.next_at = {};
}

// -------------------------------------------------------------------------------------- time

void Planner::open() {
  open_ = true;
  setBack(context_.clock.wallNow());
  for (const auto& [key, flow] : flows_.flows) {
    if (!flow.record.online || flow.record.deleted) continue;
    enter(flow);
    if (flow.record.missed_until != WallTime{}) gaps_.insert(key);
  }
  refused_ = false;
  watched_from_ = looked_at_ = context_.clock.wallNow();
  looked_boot_ = context_.clock.bootNow();
  lookAgain({});
}

void Planner::close() {
  open_ = false;
  if (timer_ != 0) context_.dispatcher.cancel(std::exchange(timer_, 0));
}

void Planner::onWallClockStep() { look(); }

Micros Planner::lag() const {
  if (due_.empty()) return {};
  return std::max<Micros>(Micros(0), context_.clock.wallNow() - due_.begin()->first);
}

void Planner::noticeGap(WallTime now) {
  const BootTime boot = context_.clock.bootNow();
  const Micros passed = boot - looked_boot_;
  const Micros step = now - looked_at_ - passed;
  looked_at_ = now;
  looked_boot_ = boot;
  const bool slept = boot - look_at_ > kLateMax;
  const bool gap = std::exchange(refused_, false) || slept || step > kStepTolerated;
  if (step > kStepTolerated && !line_before_step_) line_before_step_ = Line{now - step, boot};
  // The clock may have gone back right after the last look.
  const WallTime back_to = gap ? now : now - passed;
  if (gap) {
    watched_from_ = now;
    logInfo("planner_gap", field("not_looked_ms", passed.count() / 1000),
            field("clock_step_ms", step.count() / 1000));
  } else if (step < -kStepTolerated) {
    watched_from_ = std::min(watched_from_, back_to);
  }
  if (step < -kStepTolerated) setBack(back_to);
}

void Planner::arm(WallTime now) {
  Micros wait = kSleepMax;
  if (!due_.empty()) wait = std::clamp(due_.begin()->first - now, Micros(0), kSleepMax);
  lookIn(wait);
}

void Planner::lookIn(Micros wait) {
  look_at_ = context_.clock.bootNow() + wait;
  if (timer_ != 0) context_.dispatcher.cancel(timer_);
  timer_ = context_.dispatcher.callAt(look_at_, [this] {
    timer_ = 0;
    look();
  });
}

void Planner::lookAgain(Micros wait) {
  if (wait > Micros(0)) return lookIn(wait);
  if (std::exchange(posted_, true)) return;
  look_at_ = context_.clock.bootNow();
  context_.dispatcher.post([this] {
    posted_ = false;
    look();
  });
}

void Planner::look() {
  if (!open_) return;
  if (!context_.writer.acceptsWork()) {
    refused_ = true;
    return lookAgain(kRefusedWait);
  }
  const WallTime now = context_.clock.wallNow();
  noticeGap(now);
  read_before_ = flows_.bytes_read;
  const bool backlog_first = mutant("compensation_before_current") && !gaps_.empty();
  const bool all_begun = !backlog_first && beginDue(now);
  if (all_begun) countOn();
  if (all_begun || backlog_first) compensate();
  const size_t pending = context_.writer.pendingOperations();
  if (!all_begun) return lookAgain(pending > kWriterFull ? kWriterWait : Micros(0));
  if (gaps_.empty() && counting_.empty()) return arm(now);
  // What is due next waits no longer for the backlog than the backlog for the writer.
  lookAgain(pending > kWriterBusy ? kWriterWait : Micros(0));
}

// --------------------------------------------------------------------------------------- due

bool Planner::beginDue(WallTime now) {
  for (size_t taken = 0; !due_.empty() && due_.begin()->first <= now; ++taken) {
    if (taken == kDuePerTurn || turnIsOver()) return false;
    LiveFlow* flow = flows_.findFlow(due_.begin()->second);
    CHECK(flow != nullptr);
    take(*flow);
  }
  return true;
}

void Planner::countOn() {
  const std::set<std::string> keys = counting_;
  for (const std::string& key : keys) {
    if (turnIsOver()) return;
    if (LiveFlow* flow = flows_.findFlow(key)) take(*flow);
  }
}

void Planner::take(LiveFlow& flow) {
  FlowRecord& record = flow.record;
  leave(flow);
  if (!read(flow)) return;
  if (flow.set_back_from != WallTime{} && !countSetBack(flow)) return countLater(flow);
  // What stands in the row was so by the zones and the rules of then.
  const bool recovered = !std::exchange(flow.planned, true);
  if (const WallTime next = nextOf(flow); recovered && next != record.next_at) {
    record.next_at = next;
    return enter(flow);
  }
  if (record.next_at < watched_from_) {
    // Of two gaps the older one first; the flow comes back when that is dealt with.
    if (record.missed_until == WallTime{}) takeGap(flow);
    return;
  }
  if (record.next_at <= flows_.dealt_until) {
    const Ahead* ahead = aheadOf(flow, record.next_at, record.next_at);
    if (ahead == nullptr) return;
    const bool begun = ahead->begun.contains(record.next_at);
    if (begun && !mutant("planner_no_unique_key")) return passOver(flow);
  }
  Operation operation;
  begin(operation, flow, record.next_at);
  context_.writer.submit(std::move(operation));
  enter(flow);
}

void Planner::begin(Operation& operation, LiveFlow& flow, WallTime at) {
  FlowRecord& record = flow.record;
  record.last_instant = at;
  ++record.fired;
  record.next_at = nextOf(flow);
  if (mutant("planner_moves_on_before_row")) {
    Operation before;
    before.store(record);
    context_.writer.submit(std::move(before));
  } else {
    operation.store(record);
  }
  const std::string key = mutant("planner_no_unique_key") ? "" : formatRfc3339(at);
  const RunRecord run = runs_.start(
      operation,
      {.flow = record.key(), .trigger = RunTrigger::Schedule, .trigger_key = key, .plan_time = at});
  if (at <= flows_.dealt_until) noteBegun(operation, run);
  operation.then([&clock = context_.clock, &metrics = context_.metrics, at] {
    metrics.scheduleLateness(static_cast<double>((clock.wallNow() - at).count()) / 1e6);
  });
}

void Planner::takeGap(LiveFlow& flow) {
  if (skipDealtWith(flow)) return;
  FlowRecord& record = flow.record;
  WallTime gap_end = watched_from_;
  if (const int64_t count = countOf(flow); count > 0) {
    // All that passed counts, up to the last one that there is.
    const int64_t left = count - record.fired;
    if (!countInstants(flow, record.last_instant, gap_end - kTick, left)) return countLater(flow);
    const LiveFlow::Counting counted = std::exchange(flow.counting, {});
    record.fired += counted.found;
    if (counted.found == left) gap_end = counted.at + kTick;
  }
  const std::optional<WallTime> current = currentOf(flow, gap_end);
  const WallTime until = current.value_or(gap_end) - kTick;
  if (record.next_at <= until) {
    record.missed_after = record.last_instant;
    record.missed_until = until;
    gaps_.insert(record.key());
  }
  Operation operation;
  if (current) {
    --record.fired;  // begin() counts it.
    begin(operation, flow, *current);
  } else {
    record.last_instant = until;
    record.next_at = nextOf(flow);
    operation.store(record);
  }
  context_.writer.submit(std::move(operation));
  enter(flow);
}

bool Planner::countInstants(LiveFlow& flow, WallTime after, WallTime until, int64_t most) {
  LiveFlow::Counting& counting = flow.counting;
  if (counting.after != after) counting = {after, after, 0};
  for (size_t looked = 0; counting.found < most; ++looked) {
    if (looked == kCountedPerTurn) return false;
    const auto next = flow.recurrence->next(counting.at);
    if (!next || *next > until) break;
    counting.at = *next;
    ++counting.found;
  }
  return true;
}

std::optional<WallTime> Planner::currentOf(const LiveFlow& flow, WallTime gap_end) const {
  const FlowRecord& record = flow.record;
  const WallTime young = watched_from_ - kCurrentTolerance;
  std::optional<WallTime> newest;
  std::optional<WallTime> before;
  for (auto at = flow.recurrence->next(std::max(record.last_instant, young - kOutageQuiet - kTick));
       at && *at < gap_end; at = flow.recurrence->next(*at)) {
    before = std::exchange(newest, at);
  }
  if (!newest || *newest < young) return std::nullopt;
  const bool failover = record.next_at >= young;
  const bool alone = !before || *newest - *before >= kOutageQuiet;
  return failover || alone ? newest : std::nullopt;
}

// -------------------------------------------------------------------------------------- gaps

void Planner::miss(Operation& operation, const LiveFlow& flow, WallTime at,
                   std::string_view reason) {
  operation.changes.missed.push_back({.flow = flow.record.name,
                                      .plan_time = at,
                                      .reason = std::string(reason),
                                      .recorded_at = context_.clock.wallNow()});
}

void Planner::countMissed(Operation& operation) {
  std::map<std::string, uint64_t> counts;
  for (const MissedRecord& row : operation.changes.missed) ++counts[row.reason];
  for (const auto& [reason, count] : counts) missed_[reason] += count;
  if (counts.empty()) return;
  operation.then([&metrics = context_.metrics, counts = std::move(counts)] {
    for (const auto& [reason, count] : counts) {
      metrics.missedInstants(reason, static_cast<double>(count));
    }
  });
}

void Planner::compensate() {
  Slice done;
  for (size_t flows = 0; flows < kGapFlowsPerTurn && !gaps_.empty(); ++flows) {
    if (done.runs >= kGapRunsPerTurn || done.missed >= kGapRowsPerTurn) return;
    if (turnIsOver()) return;
    auto next = gaps_.upper_bound(last_compensated_);
    if (next == gaps_.end()) next = gaps_.begin();
    last_compensated_ = *next;
    LiveFlow* flow = flows_.findFlow(last_compensated_);
    CHECK(flow != nullptr);
    if (!read(*flow)) {
      gaps_.erase(next);
      continue;
    }
    const Slice slice = compensate(*flow);
    done.runs += slice.runs;
    done.missed += slice.missed;
  }
}

Planner::Slice Planner::compensate(LiveFlow& flow) {
  FlowRecord& record = flow.record;
  const Recurrence& recurrence = *flow.recurrence;
  const MisfirePolicy policy =
      flow.newest->spec.schedule->misfire.value_or(defaultMisfirePolicy(recurrence));
  MisfirePlan plan =
      planMisfire(recurrence, policy, record.missed_after, record.missed_until, kRowsPerSlice);
  const size_t runs = std::min(plan.run.size(), kRunsPerSlice);
  const bool done = runs == plan.run.size() && plan.missed.size() < kRowsPerSlice;
  plan.run.resize(runs);
  Operation operation;
  std::vector<RunStart> starts;
  for (const MisfirePlan::Missed& missed : plan.missed) {
    miss(operation, flow, missed.at, toString(missed.reason));
    record.missed_after = missed.at;
  }
  for (const WallTime at : plan.run) {
    starts.push_back({.flow = record.key(),
                      .trigger = RunTrigger::Schedule,
                      .trigger_key = formatRfc3339(at),
                      .plan_time = at,
                      .compensates = true});
    (policy.oldest_first ? record.missed_after : record.missed_until) =
        policy.oldest_first ? at : at - kTick;
  }
  countMissed(operation);
  if (done) {
    record.missed_after = record.missed_until = {};
    gaps_.erase(record.key());
    enter(flow);  // It waited if its next instant was missed as well.
  }
  operation.store(record);
  runs_.startAll(operation, starts);
  context_.writer.submit(std::move(operation));
  return {runs, plan.missed.size()};
}

}  // namespace baton::master
