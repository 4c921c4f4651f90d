#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "master/flow/flow_state.h"
#include "master/flow/run_engine.h"
#include "master/state/read_worker.h"
#include "master/term_context.h"

namespace baton::master {

// Begins runs when their schedules are due. The next instant of every online flow stands in its row
// and in one ordered set here, behind one timer: what is not due costs nothing. The run's row and
// the next instant are written by one operation, so that no instant has two runs and none is passed
// over, whoever dies when.
//
// An instant that passes while the planner looks is begun, however long that takes. Instants that
// passed while nobody looked (no master, no database, a clock that was set forward) are a gap. A
// gap up to a minute long is no outage: the newest instant in it is begun like one that is due now.
// So is the newest of a longer gap if it is not older and no other instant was missed shortly
// before it. The others are dealt with by the schedule's misfire policy, each as a run or a missed
// row, while nothing is due: the stretch stands in the flow's row (missed_after, missed_until) and
// shrinks with each operation.
//
// While the database takes nothing, everything waits and nothing is lost. Dispatcher thread only.
class Planner {
 public:
  Planner(TermContext& context, FlowState& flows, RunEngine& runs, ReadWorker& reads);

  // The flow went online or offline, was deleted, or has another schedule: its record and version
  // already say so. Sets the recurrence, next_at (later than now) and last_instant; the caller
  // stores the record.
  void plan(LiveFlow& flow);
  // The flow's calendar has changed: sets the recurrence and next_at. What is due and not begun,
  // and what was missed, goes by the new calendar as well. False: the flow is not online.
  bool replan(LiveFlow& flow);
  // Before that: what has not been begun of the flow's instants up to now will not be, and becomes
  // missed rows of that reason, the oldest 10,000.
  void giveUp(Operation& operation, LiveFlow& flow, std::string_view reason);
  // From now on what is due is begun: first what is due now, then what was missed. Takes up what
  // stands in the rows of flows; none is read for that.
  void open();
  void close();
  // The wall clock was set: looks again at once. After a backward step what was begun comes no
  // more, whatever the clock shows, but what a clock that was ahead only passed over is begun in
  // its time.
  void onWallClockStep();

  size_t planned() const { return due_.size(); }
  // Flows with missed instants to be dealt with, or to be counted before.
  size_t behind() const { return gaps_.size() + counting_.size(); }
  // For how long the oldest instant that is due has not been begun; zero: none is due.
  Micros lag() const;
  // Instants that became missed rows in this term, by reason.
  const std::map<std::string, uint64_t>& missed() const { return missed_; }

 private:
  void look();
  // Finds out for how long nobody looked.
  void noticeGap(WallTime now);
  void arm(WallTime now);
  void lookIn(Micros wait);
  void lookAgain(Micros wait);  // Zero: behind what waits in the dispatcher.

  // False: its schedule can't be followed; the flow keeps its row and is left alone.
  bool read(LiveFlow& flow);
  bool turnIsOver() const;  // Enough was read, or enough time has gone by.
  void enter(const LiveFlow& flow);
  void leave(const LiveFlow& flow);
  void countLater(const LiveFlow& flow);
  void countOn();
  WallTime nextOf(const LiveFlow& flow) const;  // Zero: none.

  // The clock went back (planner_set_back.cc).
  struct Ahead {
    WallTime from{};  // What follows is known from here to there; zero: nothing is.
    WallTime until{};
    bool asked = false;
    std::set<WallTime> begun;
    std::map<WallTime, MissedRecord> missed;
  };
  void setBack(WallTime now);
  void setBack(LiveFlow& flow, WallTime now, WallTime to);
  // What is undone of `fired`. False: there is more to count, in a later turn.
  bool countSetBack(LiveFlow& flow);
  // Counts instants of (after, until] in flow.counting, up to `most`; where there is no `count`
  // that is none. False: there are more, and the next call with the same `after` goes on.
  bool countInstants(LiveFlow& flow, WallTime after, WallTime until, int64_t most);
  // What is known of instants that may have been dealt with. Null: it is being read, and the flow
  // comes back.
  const Ahead* aheadOf(const LiveFlow& flow, WallTime at, WallTime until);
  void learn(const std::string& key, uint64_t generation, Ahead found, const Status& read);
  void passOver(LiveFlow& flow);  // Its next instant has a run.
  void noteBegun(Operation& operation, const RunRecord& run);
  bool skipDealtWith(LiveFlow& flow);  // Of a gap. True: nothing of it is left to do now.

  bool beginDue(WallTime now);  // False: there is more.
  void take(LiveFlow& flow);
  void takeGap(LiveFlow& flow);
  std::optional<WallTime> currentOf(const LiveFlow& flow, WallTime gap_end) const;
  // The run of `at`, together with the flow's record as it stands behind it.
  void begin(Operation& operation, LiveFlow& flow, WallTime at);

  void miss(Operation& operation, const LiveFlow& flow, WallTime at, std::string_view reason);
  void countMissed(Operation& operation);  // When all of them are in it.

  void compensate();
  struct Slice {
    size_t runs = 0;
    size_t missed = 0;
  };
  Slice compensate(LiveFlow& flow);

  TermContext& context_;
  FlowState& flows_;
  RunEngine& runs_;
  ReadWorker& reads_;

  std::set<std::pair<WallTime, std::string>> due_;  // Next instant and key of each online flow.
  std::set<std::string> gaps_;                      // Flows with a stretch of missed instants.
  std::set<std::string> counting_;                  // Flows whose instants are being counted.
  std::string last_compensated_;                    // They take turns.

  std::map<std::string, uint64_t> missed_;

  std::map<std::string, Ahead> ahead_;  // By flow, since the clock went back.
  uint64_t set_backs_ = 0;
  bool ahead_readable_ = true;    // All that was begun before the clock went back is durable.
  std::set<std::string> unread_;  // Flows that wait for that.

  size_t read_before_ = 0;  // Bytes of definitions, before this turn.
  bool open_ = false;
  bool refused_ = false;     // The database took nothing when it was last looked.
  WallTime watched_from_{};  // Instants from here on pass under our eyes.
  WallTime looked_at_{};     // When that was last so, by both clocks.
  BootTime looked_boot_{};
  BootTime look_at_{};  // When the next look is to be.
  // How the wall clock went before it was set forward, until it goes so again. None: it never was.
  struct Line {
    WallTime wall;
    BootTime boot;
  };
  std::optional<Line> line_before_step_;
  AsyncDispatcher::TimerId timer_ = 0;
  bool posted_ = false;
};

}  // namespace baton::master
