#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "common/protocol/heartbeat.h"
#include "tests/support/fake_database.h"

namespace baton::test {

// Units of weight that the group "g" may run in every run.
inline constexpr int64_t kSimGroupLimit = 3;

// What really happened to every attempt, as an all-seeing witness notes it, and the promises that
// are checked against it with every start, end and commit. The first broken one is kept.
class SimLedger {
 public:
  SimLedger(FakeDatabase& database, const Clock& clock);

  // Whether the master that leads has closed the attempt, durable or not.
  std::function<bool(TaskId id, int32_t attempt)> givenUp;

  void onProcessStart(const AttemptKey& key, const std::string& runner);
  void onProcessEnd(const AttemptKey& key, const AttemptResult& result);
  // The runner has taken the order.
  void onOrderAccepted(const AttemptKey& key) { runs_[idOf(key)].order_accepted = true; }
  // The start failed before the program ran.
  void onStartFailed(const AttemptKey& key);
  // What the worker knew of this attempt is gone with its disk or its shepherd.
  void excuseLoss(const AttemptKey& key) { runs_[idOf(key)].may_be_lost = true; }
  void excuseRunner(const std::string& runner);
  void onAccepted(TaskId id);
  // Somebody asks for a new run of an ended task.
  // Several may be asked for at a time; each that is refused takes back its own permission.
  void allowRerun(TaskId id) { reruns_.insert(id); }
  void forbidRerun(TaskId id) { takeRerun(id); }
  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = what;
  }
  // One line of the run's story, for people (BATON_SIM_LOG); costs nothing otherwise.
  template <typename... Args>
  void tell(fmt::format_string<Args...> format, Args&&... args) const {
    if (tells_) writeStory(fmt::format(format, std::forward<Args>(args)...));
  }

  bool allEnded() const;
  // Checks what holds when everything has come to rest.
  void checkEnd();

  const std::string& failure() const { return failure_; }
  size_t starts() const { return starts_; }
  size_t accepted() const { return accepted_.size(); }
  const std::set<TaskId>& acceptedIds() const { return accepted_; }
  // How many attempts were closed with this reason.
  size_t closedBy(FailureReason reason) const {
    const auto it = reasons_.find(reason);
    return it == reasons_.end() ? 0 : it->second;
  }
  size_t closedAs(AttemptStatus status) const {
    const auto it = closed_.find(status);
    return it == closed_.end() ? 0 : it->second;
  }

 private:
  using RunId = std::pair<TaskId, int32_t>;
  struct Run {
    std::string nonce;
    std::string runner;
    bool started = false;
    bool alive = false;
    bool closed_for_good = false;  // The master says that it is gone.
    bool may_be_lost = false;
    bool order_accepted = false;
    std::optional<AttemptResult> result;
  };
  static RunId idOf(const AttemptKey& key) { return {key.task_id, key.attempt}; }
  void writeStory(const std::string& line) const;
  void onTask(const TaskState* before, const TaskState& after);
  void onAttempt(const AttemptRecord* before, const AttemptRecord& after);
  void onClosed(const AttemptRecord& attempt);
  // What runs of the group, as far as it was not given up as lost, never passes its limit.
  void checkGroup();

  FakeDatabase& database_;
  const Clock& clock_;
  const bool tells_;
  std::map<RunId, Run> runs_;
  std::map<TaskId, RunId> alive_;
  std::map<TaskId, int32_t> newest_attempt_;
  std::set<TaskId> accepted_;
  bool takeRerun(TaskId id) {
    const auto it = reruns_.find(id);
    if (it == reruns_.end()) return false;
    reruns_.erase(it);
    return true;
  }

  std::multiset<TaskId> reruns_;
  std::map<FailureReason, size_t> reasons_;
  std::map<AttemptStatus, size_t> closed_;
  size_t starts_ = 0;
  std::string failure_;
};

}  // namespace baton::test
