#include <array>

#include "common/model/task_rules.h"
#include "flow/definition/reading.h"

namespace baton::flow {
namespace {

constexpr std::array<std::pair<std::string_view, bool>, 2> kDisconnectWords{
    {{"keep", false}, {"stop", true}}};

void readRetry(MapReader& reader, RetryPolicy& policy) {
  const YamlEntry* retry = reader.take("retry");
  if (retry == nullptr) return;
  MapReader keys(retry->value, reader.pathOf("retry"), reader.issues());
  keys.integer("max", policy.max, 0, kRetriesMax);
  keys.duration("delay", policy.delay, Millis(0), kTimeoutMax);
  keys.number("backoff", policy.backoff, 1.0, kBackoffMax);
  keys.duration("max_delay", policy.max_delay, Millis(0), kTimeoutMax);
  keys.boolean("on_lost", policy.on_lost);
  keys.finish();
}

// Keys of the contract that belong to later versions: refused by name, as in a submitted task. To
// pass over them would run a task as another user, or without the bounds, that its author wrote.
void refuseUnsupported(MapReader& reader, TaskNode& node) {
  for (const std::string_view key : {"run_as", "limits"}) {
    if (reader.take(key) == nullptr) continue;
    reader.refuseKey(key, "is not supported by this version of baton");
    node.unsupported = key;
  }
  bool stop = false;
  if (!reader.choice("on_disconnect", stop, kDisconnectWords)) return;
  if (stop) {
    reader.refuseKey("on_disconnect", "\"stop\" is not supported by this version of baton");
    node.unsupported = "on_disconnect";
  } else if (node.unsupported == "on_disconnect") {
    node.unsupported.clear();  // The flow's default, which the task does not follow.
  }
}

}  // namespace

void readWorkerKeys(MapReader& reader, TaskNode& node) {
  reader.textMap("env", node.env, kMembersMax);
  for (const auto& [name, value] : node.env) {
    if (const std::string_view wrong = wrongVariableName(name); !wrong.empty()) {
      reader.failKey("env", fmt::format("{} {}", truncateUtf8(name, 80), wrong));
    }
  }
  if (reader.text("dir", node.dir, kDirCharsMax) && !node.dir.starts_with('/') &&
      !node.dir.starts_with('$')) {
    reader.wrong(*reader.take("dir"), "an absolute path");
  }
  reader.name("group", node.group);
  reader.integer("weight", node.weight, 1, 1'000);
  if (const YamlEntry* labels = reader.take("labels")) {
    std::map<std::string, std::string> own;
    reader.textMap("labels", own, kLabelsMax);
    for (const auto& [name, value] : own) {
      if (!isValidName(name) || !isValidName(value)) {
        reader.fail(*labels, fmt::format("has {}: {}; {}", truncateUtf8(name, 80),
                                         truncateUtf8(value, 80), kLabelRule));
      } else if (name.starts_with(kKindLabelPrefix)) {
        reader.fail(*labels, fmt::format("has {}; {}", name, kKindLabelRule));
      }
      node.policy.labels[name] = value;
    }
  }
  readRetry(reader, node.policy.retry);
  reader.duration("dispatch_timeout", node.policy.dispatch_timeout, Millis(0), kTimeoutMax);
  reader.duration("kill_grace", node.policy.kill_grace, Millis(0), kKillGraceMax);
  readDayWindow(reader, node.window);
  refuseUnsupported(reader, node);
}

TaskNode readDefaults(Reading& reading, const YamlEntry* entry) {
  TaskNode node;
  if (entry == nullptr) return node;
  MapReader reader(entry->value, "defaults", reading.issues);
  readWorkerKeys(reader, node);
  readPriority(reader, node.priority);
  reader.duration("timeout", node.policy.timeout, Millis(0), kTimeoutMax);
  reader.finish();
  return node;
}

}  // namespace baton::flow
