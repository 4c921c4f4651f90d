#include <map>

#include "common/base/duration_text.h"
#include "flow/definition/flow_spec.h"

namespace baton::flow {
namespace {

template <typename Container>
void putUnlessEmpty(Json& json, const char* key, const Container& value) {
  if (!value.empty()) json[key] = value;
}

void putUnlessZero(Json& json, const char* key, Millis duration) {
  if (duration.count() != 0) json[key] = formatDuration(duration);
}

// Writes "key": word unless it is that of the default.
template <typename Value>
void putWord(Json& json, const char* key, Value value, Value normal) {
  if (value != normal) json[key] = toString(value);
}

// A number without a fraction where it has none, so that it is written as a person would.
Json numberOf(double value) {
  const auto whole = static_cast<int64_t>(value);
  if (static_cast<double>(whole) == value) return whole;
  return value;
}

Json paramsOf(const ParamMap& params) {
  Json json = Json::object();
  for (const auto& [name, value] : params) {
    json[name] = value ? Json(*value) : Json(nullptr);
  }
  return json;
}

Json callbackOf(const CallbackSpec& callback) {
  Json json = {{"url", callback.url}, {"on", callback.on}};
  if (callback.wait) json["wait"] = true;
  if (callback.on_failure == CallbackSpec::OnFailure::Fail) json["on_failure"] = "fail";
  return json;
}

Json eventSourceOf(const EventSource& source) {
  Json json = Json::object();
  putUnlessEmpty(json, "name", source.name);
  putUnlessEmpty(json, "flow", source.flow);
  putUnlessEmpty(json, "task", source.task);
  return json;
}

Json scheduleOf(const ScheduleSpec& schedule, const std::string& timezone) {
  Json json = {{"timezone", timezone}};
  switch (schedule.kind) {
    case ScheduleSpec::Kind::Cron:
      json["cron"] = schedule.cron;
      break;
    case ScheduleSpec::Kind::Every:
      json["every"] = formatDuration(schedule.every);
      break;
    case ScheduleSpec::Kind::At:
      json["at"] = formatRfc3339(schedule.at);
      break;
  }
  if (schedule.dialect != CronDialect::Auto) {
    json["dialect"] = schedule.dialect == CronDialect::Unix5 ? "unix5" : "quartz";
  }
  Json dst = Json::object();
  putWord(dst, "gap", schedule.gap, GapPolicy::RunAfter);
  putWord(dst, "overlap", schedule.clock_overlap, OverlapPolicy::First);
  putUnlessEmpty(json, "dst", dst);
  if (schedule.start) json["start"] = formatRfc3339(*schedule.start);
  if (schedule.end) json["end"] = formatRfc3339(*schedule.end);
  if (schedule.count > 0) json["count"] = schedule.count;
  putUnlessEmpty(json, "calendar", schedule.calendar);
  putWord(json, "off_day", schedule.off_day, OffDayPolicy::Skip);
  if (schedule.misfire) {
    Json misfire = {{"policy", toString(schedule.misfire->kind)}};
    if (schedule.misfire->kind == MisfireKind::All) {
      misfire["max"] = schedule.misfire->max;
      misfire["within"] = formatDuration(schedule.misfire->within);
      if (!schedule.misfire->oldest_first) misfire["order"] = "newest_first";
    }
    json["misfire"] = std::move(misfire);
  }
  return json;
}

Json eventOf(const EventWait& event) {
  Json json = eventSourceOf(event.source);
  if (event.by_key) {
    json["key"] = event.key;
  } else {
    const EventWindow& window = event.window;
    json["window"] = window.all ? Json{{window.name, "all"}} : Json(window.name);
  }
  return json;
}

void putWhatToRun(Json& json, const TaskNode& task) {
  if (task.kind == "command") {
    json["command"] = task.command;
  } else if (task.kind == "script") {
    json["script"] = task.script;
    putUnlessEmpty(json, "interpreter", task.interpreter);
  } else if (task.kind == "http") {
    json["http"] = httpToJson(task.http);
  } else if (task.kind == "flow") {
    json["flow"] = task.flow;
  } else if (task.kind == "event") {
    json["event"] = eventOf(task.event);
  } else {
    json["kind"] = task.kind;
    if (!task.with.is_null()) json["with"] = task.with;
  }
}

void putPolicy(Json& json, const TaskPolicy& policy) {
  const TaskPolicy normal;
  putUnlessEmpty(json, "labels", policy.labels);
  Json retry = Json::object();
  if (policy.retry.max != normal.retry.max) retry["max"] = policy.retry.max;
  if (policy.retry.delay != normal.retry.delay) retry["delay"] = formatDuration(policy.retry.delay);
  if (policy.retry.backoff != normal.retry.backoff) {
    retry["backoff"] = numberOf(policy.retry.backoff);
  }
  if (policy.retry.max_delay != normal.retry.max_delay) {
    retry["max_delay"] = formatDuration(policy.retry.max_delay);
  }
  if (policy.retry.on_lost) retry["on_lost"] = true;
  putUnlessEmpty(json, "retry", retry);
  putUnlessZero(json, "timeout", policy.timeout);
  putUnlessZero(json, "dispatch_timeout", policy.dispatch_timeout);
  if (policy.kill_grace != normal.kill_grace) {
    json["kill_grace"] = formatDuration(policy.kill_grace);
  }
  if (!policy.callback.url.empty()) json["callback"] = callbackOf(policy.callback);
}

Json needsOf(const std::map<std::string, NeedOn>& needs) {
  bool all_success = true;
  Json list = Json::array();
  Json map = Json::object();
  for (const auto& [task, on] : needs) {
    all_success = all_success && on == NeedOn::Success;
    list.push_back(task);
    map[task] = toString(on);
  }
  return all_success ? list : map;
}

Json taskOf(const TaskNode& task) {
  Json json = Json::object();
  putWhatToRun(json, task);
  putUnlessEmpty(json, "description", task.description);
  putUnlessEmpty(json, "needs", needsOf(task.needs));
  putUnlessEmpty(json, "when", task.when);
  if (task.ignore_failure) json["on_failure"] = "ignore";
  if (task.hold) json["hold"] = true;
  if (task.disabled) json["disabled"] = true;
  putUnlessEmpty(json, "params", paramsOf(task.params));
  putUnlessEmpty(json, "outputs", task.outputs);
  putUnlessEmpty(json, "env", task.env);
  putUnlessEmpty(json, "dir", task.dir);
  if (task.priority) json["priority"] = baton::toString(*task.priority);
  putUnlessEmpty(json, "group", task.group);
  if (task.weight != 1) json["weight"] = task.weight;
  if (task.window) json["window"] = formatDayWindow(*task.window);
  // So that a definition without the key is another one.
  if (!task.unsupported.empty()) json[task.unsupported] = "not supported";
  putUnlessEmpty(json, "tags", task.tags);
  putPolicy(json, task.policy);
  return json;
}

Json overlapOf(const OverlapSpec& overlap) {
  Json json = {{"policy", toString(overlap.policy)}};
  if (overlap.policy == OverlapSpec::Policy::Parallel) json["max_runs"] = overlap.max_runs;
  if (overlap.policy == OverlapSpec::Policy::Parallel ||
      overlap.policy == OverlapSpec::Policy::Queue) {
    json["max_queued"] = overlap.max_queued;
  }
  return json;
}

}  // namespace

std::string_view toString(NeedOn need) {
  switch (need) {
    case NeedOn::Success:
      return "success";
    case NeedOn::Failure:
      return "failure";
    case NeedOn::Done:
      return "done";
  }
  return {};
}

std::string formatDayWindow(const DayWindow& window) {
  return fmt::format("{:02}:{:02}-{:02}:{:02}", window.from_minute / 60, window.from_minute % 60,
                     window.to_minute / 60, window.to_minute % 60);
}

Json canonicalJson(const FlowSpec& flow) {
  Json json = {{"flow", flow.name}};
  putUnlessEmpty(json, "description", flow.description);
  putUnlessEmpty(json, "owner", flow.owner);
  putUnlessEmpty(json, "tags", flow.tags);
  if (flow.schedule) {
    json["schedule"] = scheduleOf(*flow.schedule, flow.timezone);
  } else if (flow.timezone != "UTC") {
    json["timezone"] = flow.timezone;
  }
  if (flow.trigger) json["trigger"] = {{"event", eventSourceOf(*flow.trigger)}};
  putUnlessEmpty(json, "params", paramsOf(flow.params));
  const Json overlap = overlapOf(flow.overlap);
  if (overlap != overlapOf(OverlapSpec{})) json["overlap"] = overlap;
  if (flow.priority != Priority::Normal) json["priority"] = baton::toString(flow.priority);
  if (flow.stop_on_failure) json["on_failure"] = "stop";
  putUnlessZero(json, "timeout", flow.timeout);
  if (!flow.finish_by.empty()) json["deadline"] = {{"finish_by", flow.finish_by}};
  if (flow.window) json["window"] = formatDayWindow(*flow.window);
  for (const CallbackSpec& callback : flow.callbacks) {
    json["callbacks"].push_back(callbackOf(callback));
  }
  Json tasks = Json::object();
  for (const TaskNode& task : flow.tasks) tasks[task.name] = taskOf(task);
  json["tasks"] = std::move(tasks);
  return json;
}

std::string scheduleText(const FlowSpec& flow) {
  if (!flow.schedule) return {};
  const ScheduleSpec& schedule = *flow.schedule;
  std::string text;
  switch (schedule.kind) {
    case ScheduleSpec::Kind::Cron:
      text = fmt::format("cron {} {}", schedule.cron, flow.timezone);
      break;
    case ScheduleSpec::Kind::Every:
      text = fmt::format("every {}", formatDuration(schedule.every));
      break;
    case ScheduleSpec::Kind::At:
      text = fmt::format("at {}", formatRfc3339(schedule.at));
      break;
  }
  if (schedule.start) text += fmt::format(", from {}", formatRfc3339(*schedule.start));
  if (schedule.end) text += fmt::format(", until {}", formatRfc3339(*schedule.end));
  if (schedule.count == 1) text += ", once";
  if (schedule.count > 1) text += fmt::format(", {} times", schedule.count);
  if (schedule.calendar.empty()) return text;
  return fmt::format("{}, days off of {}: {}", text, schedule.calendar, toString(schedule.off_day));
}

std::string canonicalText(const FlowSpec& flow) { return dumpJson(canonicalJson(flow)); }

}  // namespace baton::flow
