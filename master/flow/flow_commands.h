#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "master/api/flow_ports.h"
#include "master/flow/event_desk.h"
#include "master/flow/flow_state.h"
#include "master/flow/planner.h"
#include "master/flow/run_engine.h"
#include "master/state/audit.h"
#include "master/state/read_worker.h"
#include "master/task/recent_keys.h"
#include "master/term_context.h"

namespace baton::master {

// What a new definition changes against the newest version of its flow. Large ones take a while to
// compare, so that is done on the caller's thread.
struct FlowComparison {
  std::shared_ptr<const FlowVersion> before;  // Null: there is none.
  std::vector<std::string> changes;           // In words; empty: none, or there is none before.
  bool other_times = true;                    // It has other instants.
};
FlowComparison compareVersions(std::shared_ptr<const FlowVersion> before,
                               const flow::FlowSpec& after);

// Puts what lists show of a definition into the view.
void describeBy(const flow::FlowSpec& spec, api::FlowView& view);

// A definition to be stored. `version` was made of request.text, has no number yet, and belongs to
// FlowCommands from there on; `compared` is used if its version is still the newest.
struct FlowDefinition {
  api::FlowApply request = {};
  std::shared_ptr<FlowVersion> version = {};
  FlowComparison compared = {};
};

// What people ask of flows, decided on the dispatcher thread; answers leave behind the commit.
// Definitions are read and checked by the caller's thread before (FlowPort::apply). Views that are
// answered have of the version what is known here: its number, and the text if it was just given.
// Dispatcher thread only.
class FlowCommands {
 public:
  // All outlive this.
  FlowCommands(TermContext& context, FlowState& flows, RunEngine& runs, Planner& planner,
               EventDesk& events, IdAllocator& run_ids, ReadWorker& reads, RecentKeys& recent_keys);

  // Whether the database takes the text; any thread. Errors: TooLarge.
  static Status checkStorable(const std::string& text, size_t row_bytes_max);

  // All of them or none, of different flows, with one key. A definition that means the same as the
  // newest version makes none, so a repetition changes nothing, whatever if_version says; with the
  // same key it is answered as the first time, also if the flow is another one by now. With another
  // schedule, instants that are due and not begun become missed rows ("redefined"). Errors:
  // Conflict (if_version; field "version"; key used with another body), InvalidArgument (no such
  // calendar or parameter of the project, runs that would begin each other for ever), Overloaded.
  void apply(std::vector<FlowDefinition> definitions, api::Callback<api::FlowsApplied> done);
  // Idempotent. Nothing is missed while a flow is offline: instants of that time are no rows. What
  // was due and not begun when it went offline is a missed row ("offline").
  // Errors: NotFound, Conflict (the definition can't be read any more).
  void setOnline(const std::string& name, bool online, const api::Request& request,
                 api::Callback<api::FlowView> done);
  // What names it was read before (ActiveTerm::removeFlow). Errors: NotFound.
  void remove(const std::string& name, const api::Request& request,
              api::Callback<api::FlowView> done);

  // Requests that make runs. Repeated with the same key, they are answered with the rows of the
  // first time as they now are. Errors of all: NotFound, Conflict (key used with another body; the
  // definition can't be read), InvalidArgument and TooLarge (field), Overloaded.
  void trigger(const api::FlowTrigger& request, api::Callback<api::MadeRun> done);
  // Instants of the range that lie in the future or outside of the schedule's window are left out;
  // in a list they are refused. The flow's own next instant stays what it is.
  void backfill(const api::FlowBackfill& request, api::Callback<api::BackfillView> done);
  // Conflict: the instant was run already.
  void runMissed(const MissedRecord& missed, const api::Request& request,
                 api::Callback<api::MadeRun> done);
  // As EventDesk::send, and once by the request's key: its row follows that of the event.
  void sendEvent(const api::EventSend& event, api::Callback<api::EventSent> done);

  void open() { open_ = true; }
  void close() { open_ = false; }

 private:
  static constexpr size_t kBackfillMax = 10'000;  // Runs of one backfill.

  Status admissible() const;
  LiveFlow* find(const std::string& name);
  // The flow, ready to run.
  Result<LiveFlow*> findToRun(const std::string& name);
  template <typename View>
  void answer(Operation operation, const Audit& audit, Result<View> view,
              const api::Callback<View>& done) {
    audit.putInto(operation, view.status());
    operation.then([done, view = std::move(view)] { done(view); });
    context_.writer.submit(std::move(operation));
  }

  // What storing a definition would change.
  struct Judged {
    api::FlowApplied applied = {};  // All but the view of the flow.
    bool was_online = false;
    bool online = false;
    bool other_times = false;

    bool writes() const { return applied.changed || online != was_online; }
  };
  Result<Judged> judge(FlowDefinition& definition);
  api::FlowApplied store(Operation& operation, const FlowDefinition& definition, Judged judged);
  void putOnline(LiveFlow& flow, bool online);
  Result<api::FlowView> setOnline(Operation& operation, LiveFlow& flow, bool online);

  // What a request is decided on: when its key was looked up, and its missed row.
  struct LookedUp {
    BootTime at{};
    MissedRecord missed = {};
  };
  // Looks a key up, first in the database; `decide` runs on the dispatcher thread if it is new,
  // else the rows of the first time answer.
  template <typename View>
  void onceByKey(const api::Request& request, std::function<void(const LookedUp&)> decide,
                 api::Callback<View> done);
  // Answers a repetition behind the operation.
  template <typename View>
  void answerAgain(Operation& operation, const std::string& first, const std::string& key,
                   const api::Callback<View>& done);
  void answerAgain(Operation& operation, const std::string& first, const std::string& key,
                   const api::Callback<api::FlowsApplied>& done);
  void answerAgain(Operation& operation, const std::string& first, const std::string& key,
                   const api::Callback<api::EventSent>& done);
  void replay(uint64_t id, const api::Callback<api::MadeRun>& done);
  void replay(uint64_t id, const api::Callback<api::BackfillView>& done);
  void keep(Operation& operation, const api::Request& request, std::string answer);
  // If the request has a key.
  void keepMade(Operation& operation, const api::Request& request, uint64_t id);
  void keepSent(const api::Request& request, const api::EventSent& sent,
                const api::Callback<api::EventSent>& done);
  void keepApplied(Operation& operation, const api::Request& request,
                   const api::FlowsApplied& applied);
  void applyOnce(std::vector<FlowDefinition> definitions, const api::Request& keyed,
                 const api::Callback<api::FlowsApplied>& done);
  static api::FlowView viewOf(const LiveFlow& flow);
  // Other flows whose newest version runs or waits for it, or begins with its end, as far as they
  // were read since the takeover.
  std::vector<std::string> namersOf(const std::string& flow_key) const;

  Audit auditOf(const api::Request& request, const char* action, const std::string& object) const {
    return Audit(request, context_.clock.wallNow(), action, object);
  }
  Result<api::MadeRun> trigger(Operation& operation, const api::FlowTrigger& request);
  Result<api::MadeRun> runMissed(Operation& operation, MissedRecord missed,
                                 const api::Request& request);
  Result<api::BackfillView> backfill(Operation& operation, const api::FlowBackfill& request);
  Result<std::vector<WallTime>> instantsOf(const LiveFlow& flow,
                                           const api::FlowBackfill& request) const;

  TermContext& context_;
  FlowState& flows_;
  RunEngine& runs_;
  Planner& planner_;
  EventDesk& events_;
  IdAllocator& run_ids_;
  ReadWorker& reads_;
  RecentKeys& recent_keys_;
  bool open_ = false;
  // Missed instants that were run in this term: a row read before that does not show it.
  std::map<std::pair<std::string, WallTime>, RunId> run_by_hand_;
};

}  // namespace baton::master
