// What became of an instant of a schedule, for people.
#include "common/base/duration_text.h"
#include "common/model/missed_text.h"
#include "master/flow_ports.h"

namespace baton::master {
namespace {

constexpr uint32_t kRunsOfInstantMax = 100;

std::string policyText(const MisfirePolicy& policy) {
  switch (policy.kind) {
    case MisfireKind::None:
      return "none";
    case MisfireKind::Latest:
      return "latest";
    case MisfireKind::All:
      break;
  }
  return fmt::format("all, {} at most, none older than {}, {}", policy.max,
                     formatDuration(policy.within),
                     policy.oldest_first ? "oldest first" : "newest first");
}

std::string runText(const RunRecord& run) {
  std::string text = fmt::format("run {} of it is {}", run.state.id, toString(run.state.status));
  if (!run.state.reason_text.empty()) text += ": " + run.state.reason_text;
  if (run.compensates) text += "; it makes up for the instant, which nobody began in time";
  return text;
}

}  // namespace

Result<api::Explanation> FlowPorts::explainMissed(const std::string& flow, WallTime plan_time) {
  ASSIGN_OR_RETURN(const auto term, master_.activeTerm());
  const std::string key = nameKey(flow);
  ASSIGN_OR_RETURN(auto row, readers_.with([&](dao::Reader& reader) { return reader.flow(key); }));
  if (!row || !row->version) return Error::notFound("there is no flow {}", truncateUtf8(flow, 64));
  ASSIGN_OR_RETURN(const auto missed, readers_.with([&](dao::Reader& reader) {
    return reader.missedInstant(key, plan_time);
  }));
  ASSIGN_OR_RETURN(const auto runs, readers_.with([&](dao::Reader& reader) {
    return reader.runsPlanned(key, plan_time, plan_time + Micros(1), kRunsOfInstantMax);
  }));
  const FlowRecord& record = row->record;
  const flow::ParsedFlow parsed = flow::parseFlow(flow, row->version->text, {.stored = true});
  std::optional<Recurrence> recurrence;
  if (parsed.flow && parsed.flow->schedule) {
    const std::string& calendar = parsed.flow->schedule->calendar;
    const auto days = calendar.empty() ? nullptr : term->calendarDays(calendar);
    if (calendar.empty() || days != nullptr) {
      recurrence = flow::recurrenceOf(*parsed.flow, record.online_since, days);
    }
  }
  api::Explanation out;
  for (const RunRecord& run : runs) {
    if (run.trigger == RunTrigger::Schedule) out.status = "run";
    out.reasons.push_back(runText(run));
  }
  if (missed) {
    out.status = "missed";
    out.reasons.insert(out.reasons.begin(),
                       fmt::format("{}: {}", missed->reason, missedText(*missed)));
    if (recurrence) {
      const MisfirePolicy policy =
          parsed.flow->schedule->misfire.value_or(defaultMisfirePolicy(*recurrence));
      out.reasons.push_back(fmt::format("the misfire policy of version {} is {}",
                                        row->version->version, policyText(policy)));
    }
    if (missed->run_id == 0) {
      out.reasons.push_back(fmt::format("`baton missed run {} {}` runs it now", record.name,
                                        formatRfc3339(plan_time)));
    }
    return out;
  }
  if (!out.status.empty()) return out;
  if (!parsed.flow || !parsed.flow->schedule) {
    out.status = "none";
    out.reasons.push_back(fmt::format("flow {} has no schedule", record.name));
    return out;
  }
  const bool planned = recurrence && recurrence->next(plan_time - Micros(1)) == plan_time;
  if (!planned) {
    out.status = "none";
    out.reasons.push_back(fmt::format("the schedule of version {} has no such instant ({})",
                                      row->version->version, flow::scheduleText(*parsed.flow)));
  } else if (plan_time > clock_.wallNow()) {
    out.status = "to_come";
    if (!record.online) out.reasons.push_back("the flow is offline");
  } else if (record.online &&
             (plan_time > record.last_instant ||
              (plan_time > record.missed_after && plan_time <= record.missed_until))) {
    out.status = "behind";
    out.reasons.push_back("the planner has not dealt with it yet");
  } else {
    out.status = "none";
    out.reasons.push_back(
        "the flow was offline then, or had another schedule: such instants leave no trace");
  }
  return out;
}

}  // namespace baton::master
