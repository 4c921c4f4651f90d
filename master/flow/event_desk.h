#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "master/api/flow_ports.h"
#include "master/flow/event_look_up.h"
#include "master/flow/flow_state.h"
#include "master/state/read_worker.h"
#include "master/task/task_engine.h"
#include "master/term_context.h"

namespace baton::master {

// Brings together what happened and who waits for it: ends of runs and tasks, and events from
// outside, with event tasks and with flows that an event begins. What happened is a committed row
// before anybody is told of it, so that whoever comes later finds it there; a wait is looked up in
// the database when it begins and again behind each commit that may have met it. Waits for the same
// thing are looked up together. A flow's `trigger` fires within the operation that stores what
// happened, so that no takeover comes between. Dispatcher thread only.
class EventDesk {
 public:
  // A flow's `trigger` is met. `trigger_key` is unique to what happened, `plan_time` is that of the
  // run that ended, or when the event happened; `params` are the event's data. The flow is online
  // and can be read.
  using Trigger = std::function<void(Operation& operation, const std::string& flow_key,
                                     const std::string& trigger_key, WallTime plan_time,
                                     const flow::ParamMap& params)>;

  EventDesk(TermContext& context, FlowState& flows, ReadWorker& reads, IdAllocator& event_ids);
  void setEngine(TaskEngine& tasks) { tasks_ = &tasks; }
  void setTrigger(Trigger trigger) { trigger_ = std::move(trigger); }

  // --- waits -------------------------------------------------------------------------------
  // The task (RUNNING, of kind event) waits for what `wait` says, its placeholders resolved, for a
  // run of this plan time in this zone. It ends well (TaskEngine::done) once that is met; event
  // data become its outputs. Behind the operation, never within it. Again for the same task:
  // instead.
  void wait(Operation& operation, const LiveTask& task, const flow::EventWait& wait,
            WallTime plan_time, const TimeZone& zone);
  void forget(TaskId task);
  // For people: "waits for flow fx-rates, task rates, plan times from … to before …: the newest,
  // run 12 of …, is FAILED". Empty: the task does not wait.
  std::string whyWaiting(TaskId task) const;
  size_t waits() const { return waiting_.size(); }
  // Tells of each task that waits.
  template <typename Visit>
  void eachWait(const Visit& visit) const {
    for (const auto& [task, watch] : waiting_) visit(task);
  }

  // --- what happened -----------------------------------------------------------------------
  // A run was made, has begun, or is to run again: what waits for its end tells how it stands.
  void onRunMoved(Operation& operation, const RunRecord& run);
  // A run, or a task of a run, has become terminal.
  void onRunEnded(Operation& operation, const LiveRun& run);
  void onNodeEnded(Operation& operation, const LiveRun& run, const NodeEnd& end);
  // An event from outside. Stored once by (name, key): whoever sends it again is told what is
  // stored. Errors: InvalidArgument and TooLarge (with the field), Overloaded, NotActive.
  void send(api::EventSend event, api::Callback<api::EventSent> done);

  // The flow's definition or state changed (what recovery found is known without that): which
  // events begin it, and what its schedule makes waits for all of its instants ask for.
  void onFlowChanged(LiveFlow& flow);
  // Definitions of different flows that are to hold together, as if all were online.
  using Versions = std::vector<std::shared_ptr<const FlowVersion>>;
  struct Circle {
    size_t definition = 0;  // One that is in it.
    Error error;            // InvalidArgument; names the path.
  };
  // Nothing that follows from a run of one of them (sub-flows, and flows whose triggers are met)
  // may begin it again. Costs as much as there are flows and what begins what, however many are
  // defined.
  std::optional<Circle> findCircle(const Versions& versions);
  // Flows whose definitions it would have to read for that, as far as that is known before they are
  // read.
  std::vector<std::string> unreadBehind(const Versions& versions);

  // Until opened no wait is looked up and nothing is accepted. Before anything ends.
  void open();
  void close() { open_ = false; }

 private:
  using Kind = EventSubject::Kind;

  // All tasks that wait for one subject.
  struct Watch {
    EventQuestion question;
    std::set<TaskId> tasks;
    std::string text;      // Of the newest answer.
    bool reading = false;  // An answer is under way.
    bool again = false;    // Something happened since it was asked for.
  };
  using Watches = std::map<EventSubject, Watch>;
  // Whether somebody waits for ends of a flow. The flag is looked at behind the commit of an end: a
  // wait that sets it later looks into the database later as well, and finds the end there.
  struct Awaited {
    std::shared_ptr<std::atomic<bool>> flag = std::make_shared<std::atomic<bool>>(false);
    size_t watches = 0;
  };
  // An event that is looked up or stored, and all who sent it meanwhile, the first one first.
  struct Sending {
    api::EventSend event;
    std::vector<api::Callback<api::EventSent>> asked;
  };
  using EventKey = std::pair<std::string, std::string>;  // Name and key.

  void drop(Watches::iterator watch);
  void lookUp(const EventSubject& subject);
  void onAnswer(const EventSubject& subject, Result<EventAnswer> answer);
  void retryLater(const EventSubject& subject);
  // Looks again at what waits for this, of that time.
  void lookAgain(Kind kind, const std::string& source, const std::string& detail, WallTime at);
  // The same for a flow and all of its tasks.
  void lookAgain(const std::string& flow_key, WallTime at);
  // The same behind the operation.
  void tellWaits(Operation& operation, Kind kind, const std::string& source,
                 const std::string& detail, WallTime at);

  // How triggers are found: by what happened. `task` empty: the end of the flow.
  static std::string firedByEnd(const std::string& flow_key, const std::string& task);
  static std::string firedByEvent(const std::string& name);
  // What begins the flow, if something does and it is online.
  void index(LiveFlow& flow);
  void fire(Operation& operation, const std::string& source, const std::string& trigger_key,
            WallTime plan_time, const flow::ParamMap& params);
  void begin(Operation& operation, const std::string& key, const std::string& trigger_key,
             WallTime plan_time, const flow::ParamMap& params);
  // Definitions by what is asked of them.
  struct Defined {
    explicit Defined(const Versions& versions);
    std::map<std::string, const FlowVersion*> by_key;
    std::vector<std::string> order;                      // Their keys.
    std::map<std::string, std::set<std::string>> begun;  // As triggered_.
  };
  // The flows that a run of that one begins, some perhaps more than once. A definition that nobody
  // has read is read, or put into `unread` and not followed.
  std::vector<std::string> begunBy(const std::string& from, const Defined& defined,
                                   std::vector<std::string>* unread);
  // What is told of a circle, if one of the defined flows is in it.
  static std::optional<Circle> circleOf(std::vector<std::string> circle, const Versions& versions,
                                        const Defined& defined);
  // Whether the flow's end meets its own trigger, over other flows' triggers or not.
  bool triggersItself(const std::string& flow_key);

  void onSentLookedUp(const EventKey& key, Result<std::optional<EventRecord>> found);
  void store(const EventKey& key, const Sending& sending);
  void answerSent(const EventKey& key, const Result<EventRecord>& event, bool known);

  TermContext& context_;
  FlowState& flows_;
  ReadWorker& reads_;
  IdAllocator& event_ids_;
  TaskEngine* tasks_ = nullptr;
  Trigger trigger_;
  bool open_ = false;

  Watches watches_;
  std::unordered_map<TaskId, Watches::iterator> waiting_;
  std::unordered_map<std::string, Awaited> awaited_;  // By flow; one for each that ever ended.
  std::map<EventKey, Sending> sending_;
  // Flows by what begins them, and the other way round.
  std::map<std::string, std::set<std::string>> triggered_;
  std::unordered_map<std::string, std::string> trigger_of_;
};

}  // namespace baton::master
