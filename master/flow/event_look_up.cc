#include "master/flow/event_look_up.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "common/base/json.h"

namespace baton::master {
namespace {

// Rows of a window that are read: those of the expected instants with what was run beside them.
constexpr uint32_t kWindowRowsMax = 2 * kExpectedMax;

SourceState sourceStateOf(const RunRecord& run) {
  return {run.plan_time, run.state.id, toString(run.state.status),
          run.state.status == RunStatus::Finished};
}

// The same for one task of each run.
Result<std::vector<SourceState>> taskStates(dao::Reader& reader, const EventSubject& subject,
                                            const std::vector<RunRecord>& runs) {
  const flow::PlanRange range{runs.front().plan_time, runs.back().plan_time + Micros(1)};
  ASSIGN_OR_RETURN(const std::vector<TaskRecord> rows,
                   reader.tasksPlanned(subject.source, subject.detail, range.from, range.before,
                                       kWindowRowsMax));
  std::unordered_map<RunId, TaskStatus> by_run;
  for (const TaskRecord& row : rows) by_run[row.run_id] = row.state.status;
  std::vector<SourceState> states;
  for (const RunRecord& run : runs) {
    SourceState state = sourceStateOf(run);
    const auto task = by_run.find(run.state.id);
    if (task != by_run.end()) {
      state.status = toString(task->second);
      state.well = task->second == TaskStatus::Finished;
    } else {
      // Without tasks it has not begun; what has begun has all of them.
      if (run.state.started_at != WallTime{}) state.status = "without such a task";
      state.well = false;
    }
    states.push_back(state);
  }
  return states;
}

// A run that was skipped for another beside it never began, and says nothing of the state.
bool saysNothing(const RunRecord& run) {
  const RunReason why = run.state.reason;
  return run.state.status == RunStatus::Skipped &&
         (why == RunReason::OverlapSkip || why == RunReason::QueueFull ||
          why == RunReason::OverlapCancel);
}

// The runs of a window that count, in the order of plan times and numbers: all that say something,
// and the newest of each plan time that has no other.
Result<std::vector<RunRecord>> readAll(dao::Reader& reader, const EventSubject& subject) {
  ASSIGN_OR_RETURN(
      std::vector<RunRecord> runs,
      reader.runsPlanned(subject.source, subject.range.from, subject.range.before, kWindowRowsMax));
  std::set<WallTime> said;
  for (const RunRecord& run : runs) {
    if (!saysNothing(run)) said.insert(run.plan_time);
  }
  std::erase_if(
      runs, [&](const RunRecord& run) { return saysNothing(run) && said.contains(run.plan_time); });
  return runs;
}

// The newest that counts; none if there is none.
Result<std::vector<RunRecord>> readNewest(dao::Reader& reader, const EventSubject& subject) {
  ASSIGN_OR_RETURN(std::vector<RunRecord> newest,
                   reader.runsPlanned(subject.source, subject.range.from, subject.range.before, 1));
  if (newest.empty() || !saysNothing(newest.front())) return newest;
  ASSIGN_OR_RETURN(std::vector<RunRecord> runs, readAll(reader, subject));
  const auto last = std::find_if_not(runs.rbegin(), runs.rend(), saysNothing);
  if (last != runs.rend()) newest.front() = std::move(*last);
  return newest;
}

Result<EventAnswer> lookUpEnd(dao::Reader& reader, const EventQuestion& question) {
  const EventSubject& subject = question.subject;
  std::optional<std::vector<WallTime>> expected;
  if (question.schedule) {
    expected = expectedInstants(*question.schedule, subject.range);
    if (!expected) {
      return EventAnswer{
          false, fmt::format("the schedule has over {} instants there", kExpectedMax), {}};
    }
  }
  // Of several runs of one plan time the newest counts; it comes last.
  ASSIGN_OR_RETURN(const std::vector<RunRecord> runs,
                   subject.all ? readAll(reader, subject) : readNewest(reader, subject));
  if (runs.empty() && !question.flow_exists) {
    return EventAnswer{false, "there is no flow of that name", {}};
  }
  std::vector<SourceState> states;
  if (subject.kind == EventSubject::Kind::Run) {
    for (const RunRecord& run : runs) states.push_back(sourceStateOf(run));
  } else if (!runs.empty()) {
    ASSIGN_OR_RETURN(states, taskStates(reader, subject, runs));
  }
  Judgement judged =
      subject.all ? judgeAll(states, expected, question.zone) : judgeNewest(states, question.zone);
  return EventAnswer{judged.met, std::move(judged.text), {}};
}

Result<EventAnswer> lookUpOutside(dao::Reader& reader, const EventSubject& subject) {
  std::optional<EventRecord> event;
  if (subject.kind == EventSubject::Kind::Key) {
    ASSIGN_OR_RETURN(event, reader.event(subject.source, subject.detail));
  } else {
    ASSIGN_OR_RETURN(
        std::vector<EventRecord> events,
        reader.eventsBetween(subject.source, subject.range.from, subject.range.before, 1));
    if (!events.empty()) event = std::move(events.back());
  }
  if (!event) return EventAnswer{false, "it has not come yet", {}};
  EventAnswer answer{true, fmt::format("event {} came", event->id), {}};
  ASSIGN_OR_RETURN(answer.outputs, eventData(*event));
  return answer;
}

}  // namespace

std::string describe(const EventSubject& subject, const TimeZone& zone) {
  std::string text = fmt::format("{} {}", subject.ofFlow() ? "flow" : "event", subject.source);
  if (subject.kind == EventSubject::Kind::Key)
    return text + fmt::format(", key \"{}\"", subject.detail);
  if (subject.kind == EventSubject::Kind::Task) text += ", task " + subject.detail;
  return text +
         fmt::format(", {} from {} to before {}{}", subject.ofFlow() ? "plan times" : "happened",
                     formatRfc3339(subject.range.from, zone),
                     formatRfc3339(subject.range.before, zone), subject.all ? ", all of them" : "");
}

Result<EventAnswer> lookUpEvent(dao::Reader& reader, const EventQuestion& question) {
  return question.subject.ofFlow() ? lookUpEnd(reader, question)
                                   : lookUpOutside(reader, question.subject);
}

Result<std::map<std::string, std::string>> eventData(const EventRecord& event) {
  std::map<std::string, std::string> data;
  if (event.data.empty()) return data;
  const auto json = parseJson(event.data);
  if (!json.ok() || !json->is_object()) {
    return Error::make(ErrorCode::Corrupt, "the data of event {} are no JSON object", event.id);
  }
  for (const auto& [name, value] : json->items()) {
    if (!value.is_string()) {
      return Error::make(ErrorCode::Corrupt, "\"{}\" of event {} is no text", name, event.id);
    }
    data[name] = value.get<std::string>();
  }
  return data;
}

}  // namespace baton::master
