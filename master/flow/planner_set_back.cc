// A clock that was ahead for a while has moved all schedules on. When it is right again they go
// back to it: what has a run keeps that one, and what was only passed over is begun in its time.
// Which is which only the database knows, so it is read a stretch at a time, when an instant there
// is due.
#include <algorithm>

#include "common/base/log.h"
#include "master/flow/planner.h"

namespace baton::master {
namespace {

// Who is so little ahead just waits.
constexpr Micros kAheadTolerated = Seconds(60);
constexpr Micros kAheadStretch = Seconds(3'600);
constexpr uint32_t kAheadRunsMax = 10'000;
constexpr uint32_t kAheadRowsPage = 1'000;
constexpr Micros kReadAgainWait = Millis(200);

template <typename Found>
Status readAhead(dao::Reader& reader, const std::string& key, WallTime from, Found& found) {
  const WallTime end = found.until + Micros(1);
  ASSIGN_OR_RETURN(const auto runs, reader.runsPlanned(key, from, end, kAheadRunsMax));
  for (const RunRecord& run : runs) {
    if (run.trigger == RunTrigger::Schedule) found.begun.insert(run.plan_time);
  }
  for (WallTime before = end; before > from;) {
    ASSIGN_OR_RETURN(const auto page, reader.missed({.flow = key}, before, "", kAheadRowsPage));
    for (const MissedRecord& row : page.items) {
      before = row.plan_time;
      if (before < from) break;
      found.missed.emplace(row.plan_time, row);
    }
    if (!page.more) break;
  }
  return {};
}

}  // namespace

void Planner::setBack(WallTime now) {
  // Back to where it would be if it had never been set forward. A clock that only goes back may be
  // the wrong one: then a flow has no instants before it went online.
  bool corrected = false;
  if (line_before_step_) {
    const WallTime line =
        line_before_step_->wall + (context_.clock.bootNow() - line_before_step_->boot);
    corrected = now - line <= kAheadTolerated && line - now <= kAheadTolerated;
    if (corrected) line_before_step_.reset();
  }
  size_t flows = 0;
  WallTime ahead = flows_.dealt_until;
  for (auto& [key, flow] : flows_.flows) {
    // What was due before it went online is none of its instants, unless it went online under the
    // clock that was ahead.
    const bool online_ahead = corrected && flow.record.online_since > now + kAheadTolerated;
    const WallTime to = online_ahead ? now : std::max(now, flow.record.online_since);
    if (flow.record.last_instant <= to + kAheadTolerated) continue;
    ahead = std::max(ahead, flow.record.last_instant);
    setBack(flow, now, to);
    ++flows;
  }
  if (flows == 0) return;
  logWarn("schedules_set_back", field("flows", flows), field("from", formatRfc3339(ahead)),
          field("to", formatRfc3339(now)));
  flows_.dealt_until = ahead;
  const uint64_t generation = ++set_backs_;
  ahead_readable_ = false;
  for (auto& [key, known] : ahead_) known.from = known.until = {};
  Operation operation;
  operation.store(SettingRecord{std::string(kSettingDealtUntil), formatRfc3339(ahead)});
  operation.then([this, generation] {
    context_.dispatcher.post([this, generation] {
      if (generation != set_backs_) return;
      ahead_readable_ = true;
      for (const std::string& key : std::exchange(unread_, {})) {
        if (const LiveFlow* flow = flows_.findFlow(key)) enter(*flow);
      }
      if (open_) lookAgain({});
    });
  });
  context_.writer.submit(std::move(operation));
}

// Its next instant is found when it is looked at: there may be very many flows.
void Planner::setBack(LiveFlow& flow, WallTime now, WallTime to) {
  FlowRecord& record = flow.record;
  const bool follows = record.online && !record.deleted;
  leave(flow);
  if (record.online_since > to) {
    record.online_since = std::chrono::floor<Seconds>(to);  // As where a flow goes online.
    flow.recurrence.reset();                                // A grid may count from there.
  }
  flow.set_back_from = std::max(flow.set_back_from, record.last_instant);
  record.last_instant = to;
  if (record.missed_until > now) {
    record.missed_until = now;
    if (record.missed_after >= now) {
      record.missed_after = record.missed_until = {};
      gaps_.erase(record.key());
    }
  }
  record.next_at = follows ? now : WallTime{};
  flow.counting = {};
  flow.planned = false;
  enter(flow);
}

bool Planner::countSetBack(LiveFlow& flow) {
  FlowRecord& record = flow.record;
  const int64_t most = flow.newest->spec.schedule->count;
  if (!countInstants(flow, record.last_instant, flow.set_back_from, most)) return false;
  record.fired -= std::min(record.fired, std::exchange(flow.counting, {}).found);
  flow.set_back_from = {};
  return true;
}

const Planner::Ahead* Planner::aheadOf(const LiveFlow& flow, WallTime at, WallTime until) {
  Ahead& known = ahead_[flow.record.key()];
  if (known.from != WallTime{} && known.from <= at && until <= known.until) return &known;
  if (!ahead_readable_) {
    unread_.insert(flow.record.key());
    return nullptr;
  }
  if (std::exchange(known.asked, true)) return nullptr;
  Ahead wanted;
  wanted.from = at;
  wanted.until = std::max(until, std::min(at + kAheadStretch, flows_.dealt_until));
  reads_.submit([this, key = flow.record.key(), at, generation = set_backs_,
                 found = std::move(wanted)](dao::Reader& reader) mutable {
    const Status read = readAhead(reader, key, at, found);
    context_.dispatcher.post([this, key, generation, found = std::move(found), read] {
      learn(key, generation, found, read);
    });
  });
  return nullptr;
}

void Planner::learn(const std::string& key, uint64_t generation, Ahead found, const Status& read) {
  Ahead& known = ahead_[key];
  known.asked = false;
  if (read.ok() && generation == set_backs_) {
    found.begun.merge(known.begun);  // What was begun meanwhile.
    known = std::move(found);
  }
  if (const LiveFlow* flow = flows_.findFlow(key)) enter(*flow);
  if (open_) lookAgain(read.ok() ? Micros(0) : kReadAgainWait);
}

void Planner::passOver(LiveFlow& flow) {
  FlowRecord& record = flow.record;
  record.last_instant = record.next_at;
  ++record.fired;
  record.next_at = nextOf(flow);
  Operation operation;
  operation.store(record);
  context_.writer.submit(std::move(operation));
  enter(flow);
}

void Planner::noteBegun(Operation& operation, const RunRecord& run) {
  Ahead& known = ahead_[nameKey(run.flow)];
  known.begun.insert(run.plan_time);
  const auto missed = known.missed.find(run.plan_time);
  if (missed == known.missed.end()) return;
  missed->second.run_id = run.state.id;
  operation.changes.missed.push_back(missed->second);
}

bool Planner::skipDealtWith(LiveFlow& flow) {
  FlowRecord& record = flow.record;
  const WallTime until = std::min(flows_.dealt_until, watched_from_ - Micros(1));
  if (record.next_at > until) return false;
  const Ahead* ahead = aheadOf(flow, record.next_at, until);
  if (ahead == nullptr) return true;
  WallTime newest{};
  if (const auto past = ahead->begun.upper_bound(until); past != ahead->begun.begin()) {
    newest = *std::prev(past);
  }
  if (const auto past = ahead->missed.upper_bound(until); past != ahead->missed.begin()) {
    newest = std::max(newest, std::prev(past)->first);
  }
  if (newest < record.next_at) return false;
  if (!countInstants(flow, record.last_instant, newest, flow.newest->spec.schedule->count)) {
    countLater(flow);
    return true;
  }
  record.fired += std::exchange(flow.counting, {}).found;
  record.last_instant = newest;
  record.next_at = nextOf(flow);
  if (record.next_at != WallTime{} && record.next_at < watched_from_) return false;
  Operation operation;
  operation.store(record);
  context_.writer.submit(std::move(operation));
  enter(flow);
  return true;
}

}  // namespace baton::master
