#include <algorithm>
#include <array>

#include "common/model/event_rules.h"
#include "common/model/task_rules.h"
#include "common/yaml/plain_scalar.h"
#include "flow/definition/condition.h"
#include "flow/definition/reading.h"

namespace baton::flow {
namespace {

constexpr size_t kTextCharsMax = 64 * 1024;  // Of a script, a body, an argument.
constexpr std::array<std::string_view, 6> kKinds{"command", "script", "http",
                                                 "flow",    "event",  "noop"};
constexpr std::array<std::pair<std::string_view, bool>, 2> kFailureWords{
    {{"fail", false}, {"ignore", true}}};
constexpr std::array<std::pair<std::string_view, NeedOn>, 3> kNeedWords{
    {{"success", NeedOn::Success}, {"failure", NeedOn::Failure}, {"done", NeedOn::Done}}};

constexpr std::array<std::string_view, 13> kWorkerKeys{
    "env",        "dir",    "group",  "weight",
    "run_as",     "labels", "retry",  "dispatch_timeout",
    "kill_grace", "limits", "window", "on_disconnect",
    "interpreter"};

// Reads one task into a node that holds the flow's defaults.
class TaskReader {
 public:
  TaskReader(Reading& reading, const YamlEntry& entry, const TaskNode& defaults)
      : reading_(reading),
        index_(reading.flow.tasks.size()),
        entry_(entry),
        path_("tasks." + truncateUtf8(entry.key, 80)),
        reader_(entry.value, path_, reading.issues),
        defaults_(defaults) {
    place_.mark = entry.mark;
  }

  void read() {
    if (!isValidName(entry_.key)) {
      reading_.issues.error(entry_.mark, path_,
                            fmt::format("is no name for a task; expected {}", kNameRule));
    }
    node_.name = entry_.key;
    if (entry_.value.kind == YamlNode::Kind::Map) {
      // A task of no known kind may have every key, so that only what is surely wrong is told.
      kind_known_ = readKind();
      readAll();
    }
    reading_.flow.tasks.push_back(std::move(node_));
    reading_.places.push_back(std::move(place_));
  }

 private:
  // Which kind it is: by the key that says what to run, or by `kind`.
  bool readKind() {
    std::vector<std::string_view> said;
    for (const std::string_view kind : kKinds) {
      if (reader_.take(kind) != nullptr) said.push_back(kind);
    }
    std::string kind;
    if (reader_.name("kind", kind)) {
      if (kind != "noop" && std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end() &&
          said.empty()) {
        reader_.failKey(kind, fmt::format("is missing; the task is of kind {}", kind));
        return false;
      }
    } else if (reader_.has("kind")) {
      return false;
    }
    if (said.size() > 1) {
      reader_.failKey(said[1], fmt::format("stands beside {}; a task has one of {}", said[0],
                                           joinWords(kKinds)));
      return false;
    }
    if (!said.empty() && !kind.empty() && kind != said[0]) {
      reader_.failKey("kind", fmt::format("is \"{}\", but the task has {}", kind, said[0]));
      return false;
    }
    if (said.empty() && kind.empty()) {
      reading_.issues.error(
          entry_.mark, path_,
          fmt::format("says not what to run; expected one of {}, or kind", joinWords(kKinds)));
      return false;
    }
    const std::string own = said.empty() ? kind : std::string(said[0]);
    node_.kind = own;
    if (node_.hasRunner()) {
      node_ = defaults_;
      node_.kind = own;
      node_.name = entry_.key;
    }
    return true;
  }

  void readAll() {
    if (kind_known_) {
      readWhatToRun();
    } else {
      node_.kind.clear();
      for (const std::string_view key : {"interpreter", "with"}) reader_.take(key);
    }
    reader_.text("description", node_.description, 4'096);
    readNeeds();
    readWhen();
    reader_.choice("on_failure", node_.ignore_failure, kFailureWords);
    reader_.boolean("hold", node_.hold);
    reader_.boolean("disabled", node_.disabled);
    readParams(reading_, reader_, index_, node_.params);
    readOutputs();
    readPriority(reader_, node_.priority);
    readTags(reader_, node_.tags);
    reader_.duration("timeout", node_.policy.timeout, Millis(0), kTimeoutMax);
    if (const YamlEntry* callback = reader_.take("callback")) {
      const std::string no_wait =
          node_.hasRunner()
              ? std::string()
              : fmt::format("has no meaning for kind {}, whose end waits for no receiver",
                            node_.kind);
      readCallback(reading_, callback->value, reader_.pathOf("callback"), node_.policy.callback,
                   no_wait);
    }
    if (node_.hasRunner()) {
      readWorkerKeys(reader_, node_);
      keepTexts("env", node_.env);
      if (reader_.has("dir")) keep("dir", node_.dir);
      const bool script = node_.kind == "script" || !kind_known_;
      if (!script && reader_.take("interpreter") != nullptr) {
        reader_.failKey("interpreter", "has a meaning for a script alone");
      }
    } else {
      for (const std::string_view key : kWorkerKeys) {
        if (reader_.take(key) == nullptr) continue;
        reader_.failKey(
            key, fmt::format("has no meaning for kind {}, which takes no runner", node_.kind));
      }
    }
    checkGroup();
    checkWindow();
    reader_.finish();
  }

  void readWhatToRun() {
    if (node_.kind == "command") {
      readCommand();
    } else if (node_.kind == "script") {
      if (reader_.text("script", node_.script, kTextCharsMax) && node_.script.empty()) {
        reader_.wrong(*reader_.take("script"), "the lines to run");
      }
      reader_.texts("interpreter", node_.interpreter, kInterpreterArgsMax);
      for (const std::string& part : node_.interpreter) {
        if (refusePlaceholder(reader_, "interpreter", part)) break;
      }
    } else if (node_.kind == "http") {
      readHttp();
    } else if (node_.kind == "flow") {
      if (reader_.name("flow", node_.flow)) {
        const YamlMark mark = reader_.take("flow")->value.mark;
        reading_.references.push_back({FlowReference::Use::SubFlow,
                                       node_.flow,
                                       {},
                                       node_.name,
                                       mark.line,
                                       mark.column,
                                       reader_.pathOf("flow")});
      }
    } else if (node_.kind == "event") {
      readEvent();
    } else if (node_.kind == "noop") {
      readNoop();
    } else {
      readPlugIn();
    }
  }

  void readCommand() {
    if (!reader_.texts("command", node_.command, kArgsMax)) return;
    const YamlEntry& entry = *reader_.take("command");
    if (node_.command.empty() || node_.command.front().empty()) {
      reader_.wrong(entry, "a list of the program and its arguments");
      return;
    }
    for (size_t i = 0; i < node_.command.size(); ++i) {
      reading_.keepText(index_, entry.value.items[i].mark, itemPath(reader_.pathOf("command"), i),
                        node_.command[i]);
    }
    warnOfShell(entry);
  }

  // A value spliced into the text of a shell is run by it.
  void warnOfShell(const YamlEntry& entry) {
    const std::string& program = node_.command.front();
    const std::string shell = program.substr(program.find_last_of('/') + 1);
    if (node_.command.size() < 3 || !node_.command[1].starts_with('-') ||
        !node_.command[1].ends_with('c') ||
        (shell != "sh" && shell != "bash" && shell != "dash" && shell != "zsh")) {
      return;
    }
    const auto parts = parsePlaceholders(node_.command[2]);
    if (!parts.ok() || isLiteral(*parts)) return;
    reading_.issues.warning(entry.value.items[2].mark, itemPath(reader_.pathOf("command"), 2),
                            "puts a value into text that a shell runs; use script, where "
                            "parameters are environment variables");
  }

  void readHttp() {
    const YamlEntry* entry = reader_.take("http");
    HttpSpec& http = node_.http;
    MapReader keys(entry->value, reader_.pathOf("http"), reading_.issues);
    const size_t errors_before = reading_.issues.errors();
    keys.text("method", http.method, 16);
    if (keys.text("url", http.url, kUrlCharsMax)) keepAt(keys, "url", http.url);
    if (keys.textMap("headers", http.headers, kHttpHeadersMax)) {
      for (const auto& [name, value] : http.headers) keepAt(keys, "headers", value);
    }
    if (keys.text("body", http.body, kHttpBodyCharsMax)) keepAt(keys, "body", http.body);
    if (const YamlEntry* expect = keys.take("expect");
        expect != nullptr && expect->value.kind == YamlNode::Kind::Scalar) {
      http.expect = {expect->value.text};
    } else if (expect != nullptr) {
      keys.texts("expect", http.expect, kHttpExpectMax);
    }
    keys.text("capture", http.capture, 64);
    const bool readable = reading_.issues.errors() == errors_before;
    for (const Error& fault : httpFaults(http, true)) {
      if (fault.field() != "url") {
        keys.failKey(fault.field(), fault.message());
      } else if (!http.url.empty()) {
        keys.refuseKey("url", fault.message());
      } else if (readable) {  // What could not be read has been told, and is not missing.
        keys.failKey("url", fault.message());
      }
    }
    keys.finish();
  }

  void readEvent() {
    const YamlEntry* entry = reader_.take("event");
    MapReader keys(entry->value, reader_.pathOf("event"), reading_.issues);
    readEventSource(reading_, keys, node_.name, node_.event.source);
    if (keys.text("key", node_.event.key, 256)) {
      node_.event.by_key = true;
      keepAt(keys, "key", node_.event.key);
      const auto parts = parsePlaceholders(node_.event.key);
      if (parts.ok() && isLiteral(*parts) && !isEventKey(node_.event.key)) {
        keys.refuseKey("key", eventKeyFault(node_.event.key));
      }
      if (node_.event.source.name.empty()) {
        keys.failKey("key", "has a meaning only with name");
      } else if (keys.has("window")) {
        keys.failKey("window", "stands beside key; expected one of them");
      }
    }
    readEventWindow(keys, node_.event.window);
    if (node_.event.window.all && !node_.event.source.name.empty()) {
      keys.failKey("window",
                   "asks for all; nobody knows how many events from outside are to come, "
                   "so that has a meaning only with flow");
    }
    keys.finish();
  }

  void readNoop() {
    const YamlEntry* entry = reader_.take("noop");
    if (entry == nullptr) return;
    const YamlNode& value = entry->value;
    const bool plain = value.kind == YamlNode::Kind::Null ||
                       (value.kind == YamlNode::Kind::Map && value.entries.empty()) ||
                       (value.kind == YamlNode::Kind::Scalar && value.text == "true");
    if (!plain) reader_.wrong(*entry, "true");
  }

  void readPlugIn() {
    if (const std::string hint = hintFor(node_.kind, kKinds); !hint.empty()) {
      reading_.issues.warning(entry_.mark, reader_.pathOf("kind"),
                              fmt::format("\"{}\" is a plug-in's{}", node_.kind, hint));
    }
    if (const std::string_view wrong = wrongPlugInKind(node_.kind); !wrong.empty()) {
      reader_.failKey("kind", fmt::format("is \"{}\": {}", node_.kind, wrong));
    }
    const YamlEntry* with = reader_.take("with");
    if (with == nullptr) return;
    node_.with = jsonOf(with->value, reader_.pathOf("with"));
    if (const Status fits = checkWith(node_.with); !fits.ok()) {
      reader_.fail(*with, fits.error().message());
    }
  }

  // A plug-in's own keys, as written: every scalar a string.
  Json jsonOf(const YamlNode& node, const std::string& path) {
    switch (node.kind) {
      case YamlNode::Kind::Null:
        return nullptr;
      case YamlNode::Kind::Scalar:
        reading_.keepText(index_, node.mark, path, node.text);
        return node.text;
      case YamlNode::Kind::List: {
        Json list = Json::array();
        for (size_t i = 0; i < node.items.size(); ++i) {
          list.push_back(jsonOf(node.items[i], itemPath(path, i)));
        }
        return list;
      }
      case YamlNode::Kind::Map:
        break;
    }
    Json map = Json::object();
    for (const YamlEntry& entry : node.entries) {
      map[entry.key] = jsonOf(entry.value, path + "." + truncateUtf8(entry.key, 80));
    }
    return map;
  }

  void readNeeds() {
    const YamlEntry* entry = reader_.take("needs");
    if (entry == nullptr) return;
    place_.needs_mark = entry->mark;
    const YamlNode& value = entry->value;
    if (value.kind == YamlNode::Kind::List) {
      for (size_t i = 0; i < value.items.size(); ++i) {
        const YamlNode& item = value.items[i];
        if (item.kind != YamlNode::Kind::Scalar) {
          reading_.issues.error(item.mark, itemPath(reader_.pathOf("needs"), i),
                                fmt::format("is {}, expected the name of a task", shownNode(item)));
          continue;
        }
        addNeed(item.text, item.mark, NeedOn::Success);
      }
    } else if (value.kind == YamlNode::Kind::Map) {
      MapReader needs(value, reader_.pathOf("needs"), reading_.issues);
      for (const YamlEntry& item : value.entries) {
        NeedOn on = NeedOn::Success;
        needs.choice(item.key, on, kNeedWords);
        addNeed(item.key, item.mark, on);
      }
    } else {
      reader_.wrong(*entry, "a list of tasks, or a map of tasks to success, failure or done");
    }
  }

  void addNeed(const std::string& task, YamlMark mark, NeedOn on) {
    if (!node_.needs.emplace(task, on).second) {
      reading_.issues.error(mark, reader_.pathOf("needs"),
                            fmt::format("names {} twice", truncateUtf8(task, 80)));
      return;
    }
    place_.needs.emplace_back(task, mark);
  }

  void readWhen() {
    if (!reader_.text("when", node_.when, 4'096)) return;
    const YamlEntry& entry = *reader_.take("when");
    const auto condition = Condition::parse(node_.when);
    if (!condition.ok()) {
      reader_.fail(entry, fmt::format("is \"{}\": {}", truncateUtf8(node_.when, 60),
                                      condition.error().message()));
      return;
    }
    reading_.texts.push_back(
        {index_, entry.value.mark, reader_.pathOf("when"), condition->placeholders()});
  }

  void readOutputs() {
    if (!reader_.texts("outputs", node_.outputs, 1'000)) return;
    for (const std::string& key : node_.outputs) {
      const std::string_view wrong = wrongVariableName(key);
      if (!wrong.empty()) {
        reader_.fail(*reader_.take("outputs"), fmt::format("{} {}", truncateUtf8(key, 80), wrong));
      }
    }
    std::sort(node_.outputs.begin(), node_.outputs.end());
    node_.outputs.erase(std::unique(node_.outputs.begin(), node_.outputs.end()),
                        node_.outputs.end());
  }

  // Limits change at any time, so none of this hinders anybody: it is told.
  void checkGroup() {
    const auto& limits = reading_.surroundings.group_limits;
    if (node_.group.empty() || !limits) return;
    const auto known = limits->find(node_.group);
    if (known == limits->end()) return keepWarning(reading_.unset_groups);
    const auto& limit = known->second;
    if (limit && *limit == 0) {
      keepWarning(reading_.shut_groups);
    } else if (limit && node_.weight > *limit) {
      warn("weight", fmt::format("is {}, but group {} has a limit of {}: it can never run while "
                                 "that holds",
                                 node_.weight, node_.group, *limit));
    }
  }

  void keepWarning(std::map<std::string, Reading::SharedWarning>& of_groups) {
    const YamlEntry* entry = reader_.take("group");
    const auto [at, first] = of_groups.try_emplace(node_.group);
    if (first) {
      at->second.mark = entry == nullptr ? entry_.mark : entry->mark;
      at->second.path = reader_.pathOf("group");
    }
    at->second.tasks.push_back(node_.name);
  }

  void checkWindow() {
    const std::optional<DayWindow>& whole = reading_.flow.window;
    if (!node_.window || !whole) return;
    if (contains(*whole, node_.window->from_minute) ||
        contains(*node_.window, whole->from_minute)) {
      return;
    }
    warn("window", fmt::format("is {}, never within the flow's window {}: it can never run",
                               formatDayWindow(*node_.window), formatDayWindow(*whole)));
  }
  static bool contains(const DayWindow& window, int minute) {
    const bool behind = minute >= window.from_minute;
    const bool before = minute < window.to_minute;
    return window.from_minute < window.to_minute ? behind && before : behind || before;
  }

  // At the key, or at the task if the flow's defaults say it.
  void warn(std::string_view key, const std::string& text) {
    const YamlEntry* entry = reader_.take(key);
    reading_.issues.warning(entry == nullptr ? entry_.mark : entry->mark, reader_.pathOf(key),
                            text);
  }

  void keep(std::string_view key, const std::string& text) { keepAt(reader_, key, text); }
  void keepAt(MapReader& reader, std::string_view key, const std::string& text) {
    const YamlEntry* entry = reader.take(key);
    if (entry != nullptr) reading_.keepText(index_, entry->value.mark, reader.pathOf(key), text);
  }
  void keepTexts(std::string_view key, const std::map<std::string, std::string>& texts) {
    const YamlEntry* entry = reader_.take(key);
    for (const auto& [name, text] : texts) {
      const YamlEntry* own = entry == nullptr ? nullptr : entry->value.find(name);
      reading_.keepText(index_, own == nullptr ? entry_.mark : own->value.mark,
                        fmt::format("{}.{}", reader_.pathOf(key), truncateUtf8(name, 80)), text);
    }
  }

  Reading& reading_;
  const size_t index_;
  const YamlEntry& entry_;
  const std::string path_;
  MapReader reader_;
  const TaskNode& defaults_;
  TaskNode node_;
  TaskPlace place_;
  bool kind_known_ = false;
};

}  // namespace

void readTasks(Reading& reading, const YamlEntry* tasks, const YamlEntry* defaults) {
  const TaskNode node = readDefaults(reading, defaults);
  if (tasks == nullptr) {
    reading.issues.error({1, 1}, "tasks", "is missing; a flow has at least one task");
    return;
  }
  const YamlNode& value = tasks->value;
  if (value.kind != YamlNode::Kind::Map || value.entries.empty()) {
    reading.issues.error(
        value.mark, "tasks",
        fmt::format("is {}, expected a map of names to tasks, at least one", shownNode(value)));
    return;
  }
  if (value.entries.size() > kTasksMax) {
    reading.issues.error(
        value.mark, "tasks",
        fmt::format("has {} tasks, at most {} are accepted", value.entries.size(), kTasksMax));
    return;
  }
  for (const YamlEntry& entry : value.entries) TaskReader(reading, entry, node).read();
  for (const auto& [group, at] : reading.unset_groups) {
    reading.issues.warning(
        at.mark, at.path,
        fmt::format("group {0} is not set: nothing limits {1} until somebody does (baton group "
                    "set {0} --limit N)",
                    group, tasksText(at.tasks)));
  }
  for (const auto& [group, at] : reading.shut_groups) {
    reading.issues.warning(at.mark, at.path,
                           fmt::format("group {} has a limit of 0: {} can never run while that "
                                       "holds",
                                       group, tasksText(at.tasks)));
  }
}

}  // namespace baton::flow
