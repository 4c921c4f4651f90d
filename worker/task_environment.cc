#include "worker/task_environment.h"

#include <pwd.h>
#include <unistd.h>

#include <array>

#include "worker/attempt_files.h"
#include "worker/plug_ins.h"

namespace baton::worker {
namespace {

std::string outputPath(const EnvironmentInput& input) {
  return input.data_dir + "/" + workFolder(input.key) + "/" + kOutputName;
}

}  // namespace

TaskIdentity TaskIdentity::ofThisProcess() {
  TaskIdentity identity{
      .user = std::to_string(geteuid()), .home = "/", .shell = "/bin/sh", .zone = {}};
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 16384> buffer;
  if (getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 &&
      found != nullptr) {
    identity.user = entry.pw_name;
    if (entry.pw_dir != nullptr && *entry.pw_dir != '\0') identity.home = entry.pw_dir;
    if (entry.pw_shell != nullptr && *entry.pw_shell != '\0') identity.shell = entry.pw_shell;
  }
  return identity;
}

std::vector<std::string> taskEnvironment(const EnvironmentInput& input, const TaskSpec& spec) {
  std::map<std::string, std::string> variables{
      {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
      {"HOME", input.identity.home},
      {"USER", input.identity.user},
      {"LOGNAME", input.identity.user},
      {"SHELL", input.identity.shell},
      {"LANG", "C.UTF-8"}};
  if (!input.identity.zone.empty()) variables["TZ"] = input.identity.zone;
  for (const auto& [name, value] : spec.params) variables[name] = value;
  for (const auto& [name, value] : spec.env) variables[name] = value;
  variables["BATON_TASK_ID"] = std::to_string(input.key.task_id);
  variables["BATON_ATTEMPT"] = std::to_string(input.key.attempt);
  variables["BATON_EPOCH"] = std::to_string(input.epoch);
  variables["BATON_OUTPUT"] = outputPath(input);
  variables["BATON_WORKER"] = input.worker_id;
  variables["BATON_RUNNER"] = input.runner_id;
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) {
    // Such a name or value can't be handed to a process at all.
    if (name.empty() || name.find('=') != std::string::npos ||
        name.find('\0') != std::string::npos || value.find('\0') != std::string::npos) {
      continue;
    }
    environment.push_back(name + "=" + value);
  }
  return environment;
}

std::string taskInput(const EnvironmentInput& input, const TaskSpec& spec, Millis timeout) {
  Json json = {{"id", std::to_string(input.key.task_id)},
               {"attempt", input.key.attempt},
               {"epoch", input.epoch},
               {"name", spec.name},
               {"kind", spec.kind},
               {"worker", input.worker_id},
               {"runner", input.runner_id},
               {"output", outputPath(input)},
               {"timeout_ms", timeout.count()},
               {"params", spec.params},
               {"env", spec.env}};
  if (spec.kind == "http") {
    json["http"] = httpToJson(spec.http);
  } else {
    json["with"] = spec.with.is_null() ? Json::object() : spec.with;
  }
  return dumpJson(json);
}

std::vector<std::string> taskArguments(const TaskSpec& spec) {
  if (spec.kind == "command") return spec.command;
  if (spec.kind == "http") return {spec.http.method, spec.http.url};
  if (spec.kind != "script") return {std::string(kPlugInPrefix) + spec.kind};
  if (spec.interpreter.empty()) return {"/bin/sh", "-e"};
  return spec.interpreter;
}

std::vector<std::string> shownArguments(std::vector<std::string> arguments) {
  constexpr size_t kShownBytesMax = 64 * 1024;
  size_t left = kShownBytesMax;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string& argument = arguments[i];
    constexpr size_t kQuotes = 3;
    if (argument.size() + kQuotes <= left) {
      left -= argument.size() + kQuotes;
      continue;
    }
    argument = truncateUtf8(argument, std::min(left, argument.size() - 1));
    if (!argument.ends_with("…")) argument = "…";
    arguments.resize(i + 1);
  }
  return arguments;
}

}  // namespace baton::worker
