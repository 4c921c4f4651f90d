#include "flow/definition/flow_parser.h"

#include <algorithm>
#include <array>

#include "common/base/http_url.h"
#include "common/model/task_rules.h"
#include "common/yaml/plain_scalar.h"
#include "flow/definition/reading.h"

namespace baton::flow {
namespace {

constexpr std::array<std::pair<std::string_view, Priority>, kPriorityCount> kPriorityWords{
    {{"low", Priority::Low},
     {"normal", Priority::Normal},
     {"high", Priority::High},
     {"critical", Priority::Critical}}};
constexpr std::array<std::pair<std::string_view, OverlapSpec::Policy>, 4> kOverlapWords{
    {{"queue", OverlapSpec::Policy::Queue},
     {"skip", OverlapSpec::Policy::Skip},
     {"cancel_running", OverlapSpec::Policy::CancelRunning},
     {"parallel", OverlapSpec::Policy::Parallel}}};
constexpr std::array<std::pair<std::string_view, bool>, 2> kFlowFailureWords{
    {{"continue", false}, {"stop", true}}};
constexpr std::array<std::pair<std::string_view, CallbackSpec::OnFailure>, 2> kGivenUpWords{
    {{"finish", CallbackSpec::OnFailure::Finish}, {"fail", CallbackSpec::OnFailure::Fail}}};
constexpr std::array<std::string_view, 4> kCallbackEvents{"failed", "finished", "skipped",
                                                          "terminated"};

// Minutes from midnight of "06:30"; none for anything else.
std::optional<int> minutesOf(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  for (const size_t i : {0, 1, 3, 4}) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
  }
  const int hour = (text[0] - '0') * 10 + (text[1] - '0');
  const int minute = (text[3] - '0') * 10 + (text[4] - '0');
  if (hour > 23 || minute > 59) return std::nullopt;
  return hour * 60 + minute;
}

void readOverlap(MapReader& flow, OverlapSpec& overlap) {
  const YamlEntry* entry = flow.take("overlap");
  if (entry == nullptr) return;
  if (entry->value.kind == YamlNode::Kind::Scalar) {
    flow.choice("overlap", overlap.policy, kOverlapWords);
    return;
  }
  MapReader reader(entry->value, "overlap", flow.issues());
  const bool said = reader.choice("policy", overlap.policy, kOverlapWords);
  if (!said && !reader.has("policy")) reader.failKey("policy", "is missing");
  reader.integer("max_runs", overlap.max_runs, 1, 1'000);
  reader.integer("max_queued", overlap.max_queued, 0, 10'000);
  const bool parallel = overlap.policy == OverlapSpec::Policy::Parallel;
  const bool queues = parallel || overlap.policy == OverlapSpec::Policy::Queue;
  for (const auto& [key, fits] :
       {std::pair("max_runs", parallel), std::pair("max_queued", queues)}) {
    if (said && !fits && reader.has(key)) {
      reader.failKey(key, fmt::format("has no meaning with policy {}", toString(overlap.policy)));
    }
  }
  reader.finish();
}

void readDeadline(MapReader& flow, std::string& finish_by) {
  const YamlEntry* entry = flow.take("deadline");
  if (entry == nullptr) return;
  MapReader reader(entry->value, "deadline", flow.issues());
  std::string text;
  if (reader.text("finish_by", text, 40)) {
    if (minutesOf(text)) {
      finish_by = text;
    } else {
      reader.wrong(*reader.take("finish_by"), "a time of day such as \"06:30\"");
    }
  } else if (!reader.has("finish_by") && entry->value.kind == YamlNode::Kind::Map) {
    reader.failKey("finish_by", "is missing");
  }
  reader.finish();
}

void readCallbacks(Reading& reading, MapReader& flow, std::vector<CallbackSpec>& callbacks) {
  const YamlEntry* entry = flow.take("callbacks");
  if (entry == nullptr) return;
  if (entry->value.kind != YamlNode::Kind::List || entry->value.items.size() > 20) {
    flow.wrong(*entry, "a list of at most 20 maps with url, on, wait, on_failure");
    return;
  }
  for (size_t i = 0; i < entry->value.items.size(); ++i) {
    callbacks.emplace_back();
    readCallback(reading, entry->value.items[i], itemPath("callbacks", i), callbacks.back(),
                 "is not offered for the callbacks of a flow: no run waits for a receiver");
  }
}

void readTimezone(Reading& reading, MapReader& flow) {
  const YamlEntry* entry = flow.take("timezone");
  if (entry == nullptr) return;
  if (flow.has("schedule")) {
    flow.failKey("timezone", "stands beside a schedule; write it there");
    return;
  }
  std::string name;
  if (!flow.text("timezone", name, 64)) return;
  const auto zone = TimeZone::load(name);
  if (zone.ok()) {
    reading.flow.timezone = name;
  } else {
    flow.fail(*entry, zone.error().message());
  }
}

void readFlow(Reading& reading, const YamlNode& root) {
  MapReader reader(root, "", reading.issues);
  if (root.kind != YamlNode::Kind::Map) return;
  FlowSpec& flow = reading.flow;
  reader.name("flow", flow.name);
  if (!reader.has("flow")) reader.failKey("flow", "is missing; expected the name of the flow");
  reader.text("description", flow.description, 4'096);
  reader.text("owner", flow.owner, 128);
  readTags(reader, flow.tags);
  readTimezone(reading, reader);
  if (const YamlEntry* entry = reader.take("schedule")) readSchedule(reading, *entry);
  if (const YamlEntry* entry = reader.take("trigger")) readTrigger(reading, *entry);
  readParams(reading, reader, PlacedText::kFlow, flow.params);
  readOverlap(reader, flow.overlap);
  readPriority(reader, flow.priority);
  reader.choice("on_failure", flow.stop_on_failure, kFlowFailureWords);
  reader.duration("timeout", flow.timeout, Millis(0), kTimeoutMax);
  readDeadline(reader, flow.finish_by);
  readDayWindow(reader, flow.window);
  readCallbacks(reading, reader, flow.callbacks);
  const YamlEntry* defaults = reader.take("defaults");
  readTasks(reading, reader.take("tasks"), defaults);
  reader.finish();
  checkFlow(reading);
  checkOffers(reading);
}

}  // namespace

bool refusePlaceholder(MapReader& reader, std::string_view key, std::string_view text) {
  const auto parts = parsePlaceholders(text);
  if (parts.ok() && isLiteral(*parts)) return false;
  reader.refuseKey(key,
                   fmt::format("is \"{}\": no placeholders are read here, and it would be taken "
                               "as it stands",
                               truncateUtf8(text, 60)));
  return true;
}

void Reading::keepText(size_t task, YamlMark mark, const std::string& path, std::string_view text) {
  auto parts = parsePlaceholders(text);
  if (!parts.ok()) {
    issues.error(mark, path, parts.error().message());
  } else if (!isLiteral(*parts)) {
    texts.push_back({task, mark, path, std::move(parts).value()});
  }
}

void readEventSource(Reading& reading, MapReader& reader, const std::string& by,
                     EventSource& source) {
  reader.name("name", source.name);
  reader.name("flow", source.flow);
  reader.name("task", source.task);
  if (reader.node().kind != YamlNode::Kind::Map) return;
  if (reader.has("name") == reader.has("flow")) {
    reader.issues().error(reader.mark(), reader.pathOf("name"),
                          "expected one of name (an event from outside) and flow (its end)");
  }
  if (reader.has("task") && !reader.has("flow")) reader.failKey("task", "needs flow beside it");
  if (source.flow.empty()) return;
  const YamlMark mark = reader.take("flow")->value.mark;
  reading.references.push_back({by.empty() ? FlowReference::Use::Trigger : FlowReference::Use::Wait,
                                source.flow, source.task, by, mark.line, mark.column,
                                reader.pathOf("flow")});
}

void readTrigger(Reading& reading, const YamlEntry& entry) {
  MapReader reader(entry.value, "trigger", reading.issues);
  const YamlEntry* event = reader.take("event");
  EventSource source;
  if (event == nullptr) {
    if (entry.value.kind == YamlNode::Kind::Map) reader.failKey("event", "is missing");
  } else if (event->value.kind == YamlNode::Kind::Map) {
    MapReader keys(event->value, "trigger.event", reading.issues);
    readEventSource(reading, keys, {}, source);
    if (!source.flow.empty() && nameKey(source.flow) == nameKey(reading.flow.name)) {
      keys.failKey("flow", "is the flow itself: each run would begin the next one, for ever");
    }
    keys.finish();
  } else {
    reader.name("event", source.name);
  }
  reader.finish();
  reading.flow.trigger = std::move(source);
}

void readParams(Reading& reading, MapReader& reader, size_t task, ParamMap& params) {
  const YamlEntry* entry = reader.take("params");
  if (entry == nullptr) return;
  const YamlNode& value = entry->value;
  if (value.kind != YamlNode::Kind::Map || value.entries.size() > kMembersMax) {
    reader.wrong(*entry, fmt::format("a map of at most {} parameters", kMembersMax));
    return;
  }
  size_t bytes = 0;
  for (const YamlEntry& item : value.entries) {
    const std::string path =
        fmt::format("{}.{}", reader.pathOf("params"), truncateUtf8(item.key, 80));
    if (const std::string_view wrong = wrongVariableName(item.key); !wrong.empty()) {
      reading.issues.error(item.mark, path, std::string(wrong));
    } else if (isBuiltInName(item.key)) {
      reading.issues.error(item.mark, path, "is a name that baton fills in itself");
    }
    if (item.value.kind == YamlNode::Kind::Null) {
      params[item.key] = std::nullopt;
    } else if (item.value.kind == YamlNode::Kind::Scalar) {
      params[item.key] = item.value.text;
      bytes += item.key.size() + item.value.text.size();
      reading.keepText(task, item.value.mark, path, item.value.text);
    } else {
      reading.issues.error(item.value.mark, path,
                           fmt::format("is {}, expected a single value", shownNode(item.value)));
    }
  }
  if (bytes > kParamsBytesMax) {
    reader.fail(*entry, fmt::format("has {} bytes of parameters, at most {} are accepted", bytes,
                                    kParamsBytesMax));
  }
}

void readCallback(Reading& reading, const YamlNode& node, const std::string& path,
                  CallbackSpec& callback, const std::string& no_wait) {
  MapReader reader(node, path, reading.issues);
  callback.on = {"failed", "finished"};
  if (reader.text("url", callback.url, kUrlCharsMax)) {
    if (refusePlaceholder(reader, "url", callback.url)) {
      // Told.
    } else if (!isWebAddress(callback.url)) {
      reader.wrong(*reader.take("url"), "an http:// address");
    } else if (const std::string fault = webAddressFault(callback.url); !fault.empty()) {
      reader.refuseKey("url", fault);
    } else if (isHttpsAddress(callback.url)) {
      reader.refuseKey("url", "https is not supported by this version of baton");
    } else if (const auto& fault_of = reading.surroundings.callback_fault) {
      // The list may be changed before the first run, so that this hinders nobody.
      if (const std::string why = fault_of(callback.url); !why.empty()) {
        reading.issues.warning(reader.take("url")->mark, reader.pathOf("url"), why);
      }
    }
  } else if (!reader.has("url") && node.kind == YamlNode::Kind::Map) {
    reader.failKey("url", "is missing");
  }
  if (reader.texts("on", callback.on, 4)) {
    for (const std::string& event : callback.on) {
      if (isCallbackEvent(event)) continue;
      reader.fail(*reader.take("on"),
                  fmt::format("has \"{}\", expected {}", truncateUtf8(event, 40),
                              joinWords(kCallbackEvents)));
    }
    std::sort(callback.on.begin(), callback.on.end());
    callback.on.erase(std::unique(callback.on.begin(), callback.on.end()), callback.on.end());
  }
  reader.boolean("wait", callback.wait);
  reader.choice("on_failure", callback.on_failure, kGivenUpWords);
  if (!no_wait.empty()) {
    if (callback.wait) reader.refuseKey("wait", "true " + no_wait);
    if (callback.on_failure == CallbackSpec::OnFailure::Fail) {
      reader.refuseKey("on_failure", "fail " + no_wait);
    }
  }
  reader.finish();
}

void readDayWindow(MapReader& reader, std::optional<DayWindow>& window) {
  std::string text;
  if (!reader.text("window", text, 40)) return;
  const size_t dash = std::min(text.find('-'), text.size());
  const auto from = minutesOf(std::string_view(text).substr(0, dash));
  const auto to = minutesOf(std::string_view(text).substr(std::min(dash + 1, text.size())));
  if (from && to && *from != *to) {
    window = DayWindow{*from, *to};
  } else {
    reader.wrong(*reader.take("window"), "times of day such as \"22:00-06:00\"");
  }
}

void readTags(MapReader& reader, std::vector<std::string>& tags) {
  if (!reader.texts("tags", tags, kTagsMax)) return;
  for (const std::string& tag : tags) {
    if (isValidName(tag, true)) continue;
    reader.fail(
        *reader.take("tags"),
        fmt::format("has \"{}\"; a tag has 1 to 64 of A-Z a-z 0-9 . _ - :", truncateUtf8(tag, 40)));
  }
  std::sort(tags.begin(), tags.end());
  tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
}

void readPriority(MapReader& reader, Priority& priority) {
  reader.choice("priority", priority, kPriorityWords);
}

void readPriority(MapReader& reader, std::optional<Priority>& priority) {
  Priority said = Priority::Normal;
  if (reader.choice("priority", said, kPriorityWords)) priority = said;
}

std::string_view toString(OverlapSpec::Policy policy) {
  for (const auto& [word, known] : kOverlapWords) {
    if (known == policy) return word;
  }
  return {};
}

std::string tasksText(const std::vector<std::string>& tasks) {
  constexpr size_t kShown = 3;
  const size_t shown = tasks.size() <= kShown + 1 ? tasks.size() : kShown;
  std::string text;
  for (size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == tasks.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + truncateUtf8(tasks[i], 80);
  }
  return shown == tasks.size() ? text : text + fmt::format(" and {} more", tasks.size() - shown);
}

std::string FlowIssue::text() const {
  std::string out = file;
  if (line > 0) out += fmt::format(":{}:{}", line, column);
  out += warning ? ": warning: " : ": ";
  if (!key.empty()) out += key + ": ";
  return out + message;
}

ParsedFlow parseFlow(const std::string& file, std::string_view text,
                     const FlowSurroundings& surroundings) {
  Reading reading(surroundings);
  std::vector<YamlIssue> found;
  const auto root = readYaml(text, {}, found);
  for (YamlIssue& issue : found) reading.issues.add(std::move(issue));
  if (root) readFlow(reading, *root);
  ParsedFlow parsed;
  parsed.references = std::move(reading.references);
  if (reading.issues.errors() == 0) parsed.flow = std::move(reading.flow);
  for (YamlIssue& issue : reading.issues.take()) {
    parsed.issues.push_back({file, issue.mark.line, issue.mark.column, std::move(issue.path),
                             std::move(issue.message), issue.warning});
  }
  return parsed;
}

}  // namespace baton::flow
