#include <array>

#include "common/model/task_rules.h"
#include "common/yaml/plain_scalar.h"
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

void readLimits(MapReader& reader, TaskLimits& limits) {
  const YamlEntry* entry = reader.take("limits");
  if (entry == nullptr) return;
  MapReader keys(entry->value, reader.pathOf("limits"), reader.issues());
  std::string text;
  if (keys.text("memory", text, 40)) {
    const auto bytes = plainBytes(text);
    if (bytes && *bytes >= 1024 * 1024) {
      limits.memory_bytes = *bytes;
    } else {
      keys.wrong(*keys.take("memory"), "a size such as 512M or 2G, at least 1M");
    }
  }
  if (keys.text("cpu", text, 40)) {
    const auto percent = text.ends_with('%')
                             ? plainInteger(std::string_view(text).substr(0, text.size() - 1))
                             : std::nullopt;
    if (percent && *percent >= 1 && *percent <= 100'000) {
      limits.cpu_percent = *percent;
    } else {
      keys.wrong(*keys.take("cpu"), "a share of processors from 1% (100%: one) to 100000%");
    }
  }
  keys.finish();
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
  reader.name("run_as", node.run_as);
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
  readLimits(reader, node.limits);
  readDayWindow(reader, node.window);
  reader.choice("on_disconnect", node.stop_on_disconnect, kDisconnectWords);
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
