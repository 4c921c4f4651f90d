#include "common/model/task_spec.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/base/duration_text.h"
#include "common/base/http_url.h"

namespace baton {
namespace {

void checkText(JsonReader& reader, std::string_view field, const std::string& text) {
  if (text.find('\0') != text.npos) reader.fail(field, "has a NUL character");
}

void checkEnvironment(JsonReader& reader, std::string_view field,
                      const std::map<std::string, std::string>& variables) {
  for (const auto& [name, value] : variables) {
    const std::string where = fmt::format("{}.{}", field, truncateUtf8(name, 80));
    if (const std::string_view wrong = wrongVariableName(name); !wrong.empty()) {
      reader.fail(where, std::string(wrong));
    }
    checkText(reader, where, value);
  }
}

void readLabels(JsonReader& reader, LabelMap& labels) {
  // One more than may be submitted: the master adds that of the kind.
  reader.stringMap("labels", labels, kLabelsMax + 1);
  for (const auto& [name, value] : labels) {
    if (!isValidName(name) || !isValidName(value)) {
      reader.fail(fmt::format("labels.{}", truncateUtf8(name, 80)), std::string(kLabelRule));
    }
  }
}

void checkSubmittedLabels(JsonReader& reader, const LabelMap& labels) {
  for (const auto& [name, value] : labels) {
    if (name.starts_with(kKindLabelPrefix)) {
      reader.fail(fmt::format("labels.{}", name), std::string(kKindLabelRule));
    }
  }
  if (labels.size() > kLabelsMax) {
    reader.fail("labels",
                fmt::format("has {} members, at most {} are accepted", labels.size(), kLabelsMax));
  }
}

void readRetry(JsonReader& task, RetryPolicy& retry) {
  const Json* json = task.object("retry");
  if (json == nullptr) return;
  JsonReader reader(*json, task.pathOf("retry"));
  reader.integer("max", retry.max, 0, kRetriesMax)
      .duration("delay", retry.delay, kTimeoutMax)
      .number("backoff", retry.backoff, 1.0, kBackoffMax)
      .duration("max_delay", retry.max_delay, kTimeoutMax)
      .boolean("on_lost", retry.on_lost);
  if (const Status read = reader.finish(); !read.ok()) task.fail(read.error());
}

void readCallback(JsonReader& task, CallbackSpec& callback) {
  const Json* json = task.object("callback");
  if (json == nullptr) return;
  JsonReader reader(*json, task.pathOf("callback"));
  std::string on_failure = "finish";
  callback.on = {"finished", "failed"};
  reader.string("url", callback.url, kUrlCharsMax)
      .strings("on", callback.on, 4)
      .boolean("wait", callback.wait)
      .string("on_failure", on_failure);
  if (!isWebAddress(callback.url)) {
    reader.fail("url", "expected an http:// address");
  }
  for (const std::string& event : callback.on) {
    if (!isCallbackEvent(event)) {
      reader.fail("on", fmt::format("\"{}\" is not one of finished, failed, terminated, skipped",
                                    truncateUtf8(event, 40)));
    }
  }
  std::sort(callback.on.begin(), callback.on.end());
  callback.on.erase(std::unique(callback.on.begin(), callback.on.end()), callback.on.end());
  if (on_failure != "finish" && on_failure != "fail") {
    reader.fail("on_failure",
                fmt::format("is \"{}\", expected finish or fail", truncateUtf8(on_failure, 40)));
  }
  callback.on_failure =
      on_failure == "fail" ? CallbackSpec::OnFailure::Fail : CallbackSpec::OnFailure::Finish;
  if (const Status read = reader.finish(); !read.ok()) task.fail(read.error());
}

void readGroup(JsonReader& reader, TaskLimitsScope& scope) {
  reader.string("group", scope.group).integer("weight", scope.weight, 1, kWeightMax);
  if (reader.has("group") && !isValidName(scope.group)) {
    reader.fail("group", fmt::format("is \"{}\", {}", truncateUtf8(scope.group, 80), kGroupRule));
  }
}

void readPolicy(JsonReader& reader, TaskPolicy& policy) {
  readLabels(reader, policy.labels);
  readGroup(reader, policy.scope);
  readRetry(reader, policy.retry);
  reader.duration("timeout", policy.timeout, kTimeoutMax)
      .duration("dispatch_timeout", policy.dispatch_timeout, kTimeoutMax)
      .duration("kill_grace", policy.kill_grace, kKillGraceMax);
  readCallback(reader, policy.callback);
}

void readRun(JsonReader& reader, TaskSpec& spec, bool tolerant) {
  reader.string("kind", spec.kind)
      .strings("command", spec.command, kArgsMax)
      .string("script", spec.script)
      .strings("interpreter", spec.interpreter, kInterpreterArgsMax)
      .stringMap("env", spec.env, kMembersMax)
      .stringMap("params", spec.params, kMembersMax)
      .string("dir", spec.dir, kDirCharsMax);
  if (const Json* http = reader.object("http")) {
    const Status read = readHttp(*http, reader.pathOf("http"), tolerant, spec.http);
    if (!read.ok()) reader.fail(read.error());
  }
  if (const Json* with = reader.object("with")) spec.with = *with;
}

// Fields of the contract that belong to later versions: refused by name, never ignored.
void refuseUnsupported(JsonReader& reader, const TaskPolicy& policy) {
  for (const std::string_view name : {"run_as", "limits"}) {
    if (reader.any(name) != nullptr) {
      reader.fail(Error(ErrorCode::Unsupported, "is not supported by this version of baton",
                        reader.pathOf(name)));
    }
  }
  std::string on_disconnect = "keep";
  reader.string("on_disconnect", on_disconnect);
  if (on_disconnect == "stop") {
    reader.fail(Error(ErrorCode::Unsupported, "\"stop\" is not supported by this version of baton",
                      reader.pathOf("on_disconnect")));
  } else if (on_disconnect != "keep") {
    reader.fail("on_disconnect", "expected keep or stop");
  }
  // Stored policies are read more leniently: readCallback.
  const std::string& url = policy.callback.url;
  if (isHttpsAddress(url)) {
    reader.fail(Error(ErrorCode::Unsupported, "https is not supported by this version of baton",
                      reader.pathOf("callback") + ".url"));
  } else if (isWebAddress(url)) {
    const std::string fault = webAddressFault(url);
    if (!fault.empty()) reader.fail("callback.url", fault);
  }
}

// An error of `http` or `with`, whose field is the path below the task.
void failBelow(JsonReader& reader, const std::string& field, const Error& error) {
  reader.fail(Error(error.code(), error.message(), reader.pathOf(field)));
}

void checkKind(JsonReader& reader, const TaskSpec& spec) {
  // What belongs to one kind alone; a plug-in's kind has many names.
  const bool built_in = spec.kind == "command" || spec.kind == "script" || spec.kind == "http";
  for (const std::string_view own : {"command", "script", "http"}) {
    if (own == spec.kind || !reader.has(own)) continue;
    reader.fail(own, fmt::format("belongs to kind {}, this task is of kind {}", own,
                                 truncateUtf8(spec.kind, 40)));
  }
  if (spec.kind != "command" && spec.kind != "script" && reader.has("interpreter")) {
    reader.fail("interpreter", "belongs to kind script");
  }
  if (built_in && reader.has("with")) {
    reader.fail("with", "belongs to a plug-in, whose name is the task's kind");
  }
  if (spec.kind == "command") {
    if (spec.command.empty()) {
      reader.fail("command",
                  "is empty or missing; expected an array of the program and its arguments");
    } else if (spec.command.front().empty()) {
      reader.fail("command[0]", "is empty; expected a program");
    }
  } else if (spec.kind == "script") {
    if (spec.script.empty()) reader.fail("script", "is empty or missing");
  } else if (spec.kind == "http") {
    if (!reader.has("http")) reader.fail("http", "is missing");
    for (const Error& fault : httpFaults(spec.http)) {
      failBelow(reader, "http." + fault.field(), fault);
    }
  } else if (const std::string_view wrong = wrongPlugInKind(spec.kind); !wrong.empty()) {
    reader.fail(
        "kind",
        fmt::format("is \"{}\", expected command, script, http or the name of a plug-in: {}",
                    truncateUtf8(spec.kind, 40), wrong));
  } else if (const Status fits = checkWith(spec.with); !fits.ok()) {
    failBelow(reader, "with", fits.error());
  }
}

void checkRun(JsonReader& reader, const TaskSpec& spec) {
  checkKind(reader, spec);
  for (const std::string& argument : spec.command) checkText(reader, "command", argument);
  for (const std::string& argument : spec.interpreter) checkText(reader, "interpreter", argument);
  checkText(reader, "script", spec.script);
  checkText(reader, "dir", spec.dir);
  if (!spec.dir.empty() && spec.dir.front() != '/') reader.fail("dir", "expected an absolute path");
  checkEnvironment(reader, "env", spec.env);
  checkEnvironment(reader, "params", spec.params);
  size_t bytes = 0;
  for (const auto& [name, value] : spec.params) bytes += name.size() + value.size();
  if (bytes > kParamsBytesMax) {
    reader.fail(Error(
        ErrorCode::TooLarge,
        fmt::format("{} bytes of parameters, at most {} are accepted", bytes, kParamsBytesMax),
        reader.pathOf("params")));
  }
}

std::string defaultName(const TaskSpec& spec) {
  if (spec.kind != "command") return spec.kind;
  const std::string& program = spec.command.front();
  std::string base = program.substr(program.find_last_of('/') + 1);
  if (base.empty()) base = "command";
  while (utf8Length(base) > kNameCharsMax) base.pop_back();
  return isValidUtf8(base) ? base : "command";
}

}  // namespace

bool RetryPolicy::covers(FailureReason reason) const {
  return isRetried(reason) || (reason == FailureReason::RunnerLost && on_lost);
}

Millis RetryPolicy::delayBefore(int64_t retry) const {
  const double scaled =
      static_cast<double>(delay.count()) * std::pow(backoff, static_cast<double>(retry - 1));
  if (!(scaled < static_cast<double>(max_delay.count()))) return std::max(max_delay, Millis(0));
  return Millis(static_cast<int64_t>(scaled));
}

bool CallbackSpec::wants(TaskStatus ended) const {
  if (url.empty()) return false;
  std::string_view event;
  switch (ended) {
    case TaskStatus::Finished:
      event = "finished";
      break;
    case TaskStatus::Failed:
      event = "failed";
      break;
    case TaskStatus::Terminated:
      event = "terminated";
      break;
    case TaskStatus::Skipped:
      event = "skipped";
      break;
    default:
      return false;
  }
  return std::find(on.begin(), on.end(), event) != on.end();
}

Result<TaskSpec> parseTaskSpec(const Json& json, const std::string& path) {
  JsonReader reader(json, path);
  TaskSpec spec;
  std::string priority(toString(spec.priority));
  std::string not_before;
  // Such a key alone says which kind is meant; a stated kind wins.
  if (!reader.has("command")) {
    if (reader.has("script")) {
      spec.kind = "script";
    } else if (reader.has("http")) {
      spec.kind = "http";
    }
  }
  reader.string("name", spec.name, kNameCharsMax)
      .string("priority", priority)
      .string("not_before", not_before)
      .boolean("hold", spec.hold)
      .strings("tags", spec.tags, kTagsMax);
  readRun(reader, spec, false);
  readPolicy(reader, spec.policy);
  checkSubmittedLabels(reader, spec.policy.labels);
  refuseUnsupported(reader, spec.policy);
  checkRun(reader, spec);
  checkText(reader, "name", spec.name);
  if (reader.has("name") && spec.name.empty()) reader.fail("name", "is empty");
  if (const auto parsed = parsePriority(priority)) {
    spec.priority = *parsed;
  } else {
    reader.fail("priority", fmt::format("is \"{}\", expected low, normal, high or critical",
                                        truncateUtf8(priority, 40)));
  }
  for (const std::string& tag : spec.tags) {
    if (!isValidName(tag, true)) reader.fail("tags", "a tag has 1 to 64 of A-Z a-z 0-9 . _ - :");
  }
  if (!not_before.empty()) {
    const auto parsed = parseRfc3339(not_before);
    if (parsed.ok()) {
      spec.not_before = *parsed;
    } else {
      reader.fail("not_before", parsed.error().message());
    }
  }
  RETURN_IF_ERROR(reader.finish());
  if (spec.name.empty()) spec.name = defaultName(spec);
  return spec;
}

Json runPartToJson(const TaskSpec& spec) {
  Json json = {{"kind", spec.kind}};
  if (spec.kind == "script") {
    json["script"] = spec.script;
    if (!spec.interpreter.empty()) json["interpreter"] = spec.interpreter;
  } else if (spec.kind == "command") {
    json["command"] = spec.command;
  } else {
    json["name"] = spec.name;
    if (spec.kind == "http") json["http"] = httpToJson(spec.http);
    if (!spec.with.is_null()) json["with"] = spec.with;
  }
  if (!spec.env.empty()) json["env"] = spec.env;
  if (!spec.params.empty()) json["params"] = spec.params;
  if (!spec.dir.empty()) json["dir"] = spec.dir;
  return json;
}

Status readRunPart(const Json& json, TaskSpec& spec) {
  JsonReader reader(json);
  reader.string("name", spec.name);
  readRun(reader, spec, true);
  return reader.finishTolerant();
}

std::string policyToText(const TaskPolicy& policy) {
  if (policy == TaskPolicy{}) return {};
  Json json = Json::object();
  const TaskPolicy defaults;
  addPolicyFields(policy, json);
  if (policy.labels.empty()) json.erase("labels");
  if (policy.retry == defaults.retry) json.erase("retry");
  if (policy.timeout == defaults.timeout) json.erase("timeout");
  if (policy.dispatch_timeout == defaults.dispatch_timeout) json.erase("dispatch_timeout");
  if (policy.kill_grace == defaults.kill_grace) json.erase("kill_grace");
  if (policy.scope.weight == defaults.scope.weight) json.erase("weight");
  // Not on the wire: nobody submits these for somebody else.
  if (!policy.scope.flow.empty()) json["flow"] = policy.scope.flow;
  if (!policy.scope.user.empty()) json["user"] = policy.scope.user;
  if (!policy.scope.window.empty()) json["window"] = policy.scope.window;
  if (!policy.scope.flow_window.empty()) json["flow_window"] = policy.scope.flow_window;
  if (!policy.scope.time_zone.empty()) json["time_zone"] = policy.scope.time_zone;
  return dumpJson(json);
}

Result<TaskPolicy> policyFromText(std::string_view text) {
  TaskPolicy policy;
  if (text.empty()) return policy;
  ASSIGN_OR_RETURN(const Json json, parseJson(text));
  JsonReader reader(json);
  readPolicy(reader, policy);
  reader.string("flow", policy.scope.flow)
      .string("user", policy.scope.user)
      .string("window", policy.scope.window)
      .string("flow_window", policy.scope.flow_window)
      .string("time_zone", policy.scope.time_zone);
  RETURN_IF_ERROR(reader.finishTolerant());
  return policy;
}

void addPolicyFields(const TaskPolicy& policy, Json& task) {
  task["labels"] = policy.labels;
  if (!policy.scope.group.empty()) task["group"] = policy.scope.group;
  task["weight"] = policy.scope.weight;
  task["retry"] = {{"max", policy.retry.max},
                   {"delay", formatDuration(policy.retry.delay)},
                   {"backoff", policy.retry.backoff},
                   {"max_delay", formatDuration(policy.retry.max_delay)}};
  if (policy.retry.on_lost) task["retry"]["on_lost"] = true;
  if (policy.timeout.count() > 0) task["timeout"] = formatDuration(policy.timeout);
  if (policy.dispatch_timeout.count() > 0) {
    task["dispatch_timeout"] = formatDuration(policy.dispatch_timeout);
  }
  task["kill_grace"] = formatDuration(policy.kill_grace);
  if (!policy.callback.url.empty()) {
    const bool fail = policy.callback.on_failure == CallbackSpec::OnFailure::Fail;
    task["callback"] = {{"url", policy.callback.url},
                        {"on", policy.callback.on},
                        {"wait", policy.callback.wait},
                        {"on_failure", fail ? "fail" : "finish"}};
  }
}

Result<PolicyPool::Ref> PolicyPool::intern(std::string_view text) {
  const auto [it, inserted] = by_text_->try_emplace(std::string(text));
  if (!inserted) return it->second.lock();
  auto policy = policyFromText(text);
  if (!policy.ok()) {
    by_text_->erase(it);
    return Error::make(ErrorCode::Corrupt, "stored policy {}: {}", truncateUtf8(text, 200),
                       policy.error().message());
  }
  // The last reference takes the entry along.
  const auto forget = [pool = std::weak_ptr(by_text_), key = &it->first](const TaskPolicy* dead) {
    delete dead;
    if (const auto by_text = pool.lock()) by_text->erase(by_text->find(*key));
  };
  Ref ref(new TaskPolicy(std::move(policy).value()), forget);
  it->second = ref;
  return ref;
}

Result<WallTime> parseRfc3339(std::string_view text) {
  const auto wrong = [&] {
    return Error::invalidArgument(
        "\"{}\" is not a time; expected RFC 3339 such as 2026-11-29T12:00:00Z",
        truncateUtf8(text, 40));
  };
  const std::string copy(text);
  // sscanf alone would take blanks and signs for part of a number.
  const auto allDigits = [](std::string_view part, std::string_view pattern) {
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] == '9' && (part[i] < '0' || part[i] > '9')) return false;
    }
    return true;
  };
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, used = 0;
  if (copy.size() < 20 || copy.size() > 40 || !allDigits(copy, "9999-99-99T99:99:99") ||
      std::sscanf(copy.c_str(), "%4d-%2d-%2d%*1[Tt]%2d:%2d:%2d%n", &year, &month, &day, &hour,
                  &minute, &second, &used) != 6 ||
      used != 19) {
    return wrong();
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60 || hour < 0 || minute < 0 ||
      second < 0) {
    return wrong();
  }
  std::string_view rest = std::string_view(copy).substr(19);
  int64_t fraction_us = 0;
  if (rest.starts_with('.')) {
    size_t digits = 1;
    int64_t scale = 100'000;
    for (; digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9'; ++digits) {
      fraction_us += (rest[digits] - '0') * scale;
      scale /= 10;
    }
    if (digits == 1) return wrong();
    rest.remove_prefix(digits);
  }
  int64_t offset_minutes = 0;
  if (rest != "Z" && rest != "z") {
    int hours = 0, minutes = 0, read = 0;
    if (rest.size() != 6 || (rest[0] != '+' && rest[0] != '-') || !allDigits(rest, "+99:99") ||
        std::sscanf(rest.data() + 1, "%2d:%2d%n", &hours, &minutes, &read) != 2 || read != 5 ||
        hours > 23 || minutes > 59 || hours < 0 || minutes < 0) {
      return wrong();
    }
    offset_minutes = (rest[0] == '-' ? -1 : 1) * (hours * 60 + minutes);
  }
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const int64_t seconds = days * 86'400 + hour * 3'600 + minute * 60 + second - offset_minutes * 60;
  // In any zone it is to have a year of four digits.
  constexpr int64_t kEnd = 253'370'764'800;  // 9999-01-01.
  if (seconds < 0 || seconds >= kEnd) {
    return Error::invalidArgument("\"{}\" is out of range; expected a time from 1970 to 9998",
                                  truncateUtf8(text, 40));
  }
  return wallFromMicros(seconds * 1'000'000 + fraction_us);
}

}  // namespace baton
