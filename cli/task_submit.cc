#include "cli/task_submit.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>

#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/task_logs.h"
#include "cli/task_wait.h"
#include "common/base/duration_text.h"
#include "common/model/task_rules.h"

namespace baton::cli {
namespace {

constexpr size_t kInputBytesMax = 16 * 1024 * 1024;  // Cap of a request's body.

Result<std::string> readAll(const std::string& file, std::istream& in) {
  std::ifstream opened;
  if (file != "-") {
    opened.open(file, std::ios::binary);
    if (!opened) return Error::notFound("{}: {}", file, std::strerror(errno));
  }
  std::istream& source = file == "-" ? in : opened;
  std::string text;
  char buffer[64 * 1024];
  while (source.read(buffer, sizeof buffer) || source.gcount() > 0) {
    text.append(buffer, static_cast<size_t>(source.gcount()));
    if (text.size() > kInputBytesMax) {
      return Error::make(ErrorCode::TooLarge, "{}: over {} bytes", file, kInputBytesMax);
    }
  }
  if (source.bad()) return Error::invalidArgument("{}: can't be read", file);
  return text;
}

Status addDuration(Json& object, const char* field, const char* option, const std::string& text) {
  if (text.empty()) return {};
  const auto duration = parseDuration(text);
  if (!duration.ok()) return Error(duration.error()).withContext(option);
  object[field] = text;
  return {};
}

Status addRetry(const SubmitOptions& options, Json& task) {
  if (options.retry.empty()) {
    if (!options.retry_delay.empty()) {
      return Error::invalidArgument("--retry-delay has no meaning without --retry");
    }
    return {};
  }
  int64_t count = -1;
  const std::string& text = options.retry;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (failure != std::errc() || end != text.data() + text.size() || count < 0 || count > 1'000) {
    return Error::invalidArgument("--retry: is \"{}\", expected a number from 0 to 1000",
                                  truncateUtf8(text, 40));
  }
  task["retry"]["max"] = count;
  return addDuration(task["retry"], "delay", "--retry-delay", options.retry_delay);
}

Status addScript(const SubmitOptions& options, std::istream& in, Json& task) {
  ASSIGN_OR_RETURN(task["script"], readAll(options.script, in));
  for (size_t start = 0; start < options.interpreter.size();) {
    const size_t blank = std::min(options.interpreter.find(' ', start), options.interpreter.size());
    if (blank > start)
      task["interpreter"].push_back(options.interpreter.substr(start, blank - start));
    start = blank + 1;
  }
  if (options.name.empty() && options.script != "-") {
    task["name"] = options.script.substr(options.script.find_last_of('/') + 1);
  }
  return {};
}

Status addHttp(const SubmitOptions& options, std::istream& in, Json& task) {
  Json& http = task["http"];
  http["url"] = options.http;
  if (!options.method.empty()) http["method"] = options.method;
  for (const std::string& header : options.headers) {
    const size_t colon = header.find(':');
    if (colon == header.npos || colon == 0) {
      return Error::invalidArgument("--header: is \"{}\", expected \"NAME: VALUE\"",
                                    truncateUtf8(header, 60));
    }
    const size_t value = std::min(header.find_first_not_of(' ', colon + 1), header.size());
    http["headers"][header.substr(0, colon)] = header.substr(value);
  }
  if (options.body.starts_with('@')) {
    ASSIGN_OR_RETURN(http["body"], readAll(options.body.substr(1), in));
  } else if (!options.body.empty()) {
    http["body"] = options.body;
  }
  for (size_t start = 0; start < options.expect.size();) {
    const size_t comma = std::min(options.expect.find(',', start), options.expect.size());
    http["expect"].push_back(options.expect.substr(start, comma - start));
    start = comma + 1;
  }
  if (!options.capture.empty()) http["capture"] = options.capture;
  return {};
}

Status addPlugIn(const SubmitOptions& options, std::istream& in, Json& task) {
  task["kind"] = options.kind;
  if (options.with.empty()) return {};
  const bool literal = options.with.starts_with('{');
  std::string text = options.with;
  if (!literal) {
    ASSIGN_OR_RETURN(text, readAll(options.with, in));
  }
  auto with = parseJson(text);
  if (!with.ok()) return Error(with.error()).withContext(literal ? "--with" : options.with);
  task["with"] = std::move(with).value();
  return {};
}

Status addRun(const SubmitOptions& options, std::istream& in, Json& task) {
  std::vector<std::string_view> said;
  if (!options.command.empty()) said.push_back("a command");
  if (!options.script.empty()) said.push_back("--script");
  if (!options.http.empty()) said.push_back("--http");
  if (!options.kind.empty()) said.push_back("--kind");
  if (said.empty()) {
    return Error::invalidArgument(
        "nothing to run; expected -- PROGRAM ARGS..., --script FILE, --http URL, --kind KIND or "
        "--file FILE");
  }
  if (said.size() > 1) {
    return Error::invalidArgument("{} and {} contradict each other", said[1], said[0]);
  }
  if (!options.interpreter.empty() && options.script.empty()) {
    return Error::invalidArgument("--interpreter belongs to --script");
  }
  if (!options.with.empty() && options.kind.empty()) {
    return Error::invalidArgument("--with belongs to --kind");
  }
  const bool of_http = !options.method.empty() || !options.headers.empty() ||
                       !options.body.empty() || !options.expect.empty() || !options.capture.empty();
  if (of_http && options.http.empty()) {
    return Error::invalidArgument(
        "--method, --header, --body, --expect and --capture belong to --http");
  }
  if (!options.script.empty()) return addScript(options, in, task);
  if (!options.http.empty()) return addHttp(options, in, task);
  if (!options.kind.empty()) return addPlugIn(options, in, task);
  task["command"] = options.command;
  return {};
}

// A request body out of a file: one task, a list of tasks, or {"tasks": [...]}.
struct FileTasks {
  Json body;
  bool bulk = false;
};

Result<FileTasks> tasksFromFile(const SubmitOptions& options, std::istream& in) {
  ASSIGN_OR_RETURN(const std::string text, readAll(options.file, in));
  auto json = parseJson(text);
  if (!json.ok()) return Error(json.error()).withContext(options.file);
  if (json->is_array()) return FileTasks{{{"tasks", *json}}, true};
  if (!json->is_object()) {
    return Error::invalidArgument(
        "{}: is {}, expected a task, a list of tasks or {{\"tasks\": ...}}", options.file,
        jsonTypeName(*json));
  }
  const bool bulk = json->contains("tasks");
  return FileTasks{std::move(json).value(), bulk};
}

std::vector<std::string> idsOf(const Json& answer) {
  std::vector<std::string> ids;
  if (const auto id = answer.find("id"); id != answer.end() && id->is_string()) {
    ids.push_back(*id);
  }
  if (const auto list = answer.find("ids"); list != answer.end() && list->is_array()) {
    for (const Json& id : *list) {
      if (id.is_string()) ids.push_back(id);
    }
  }
  return ids;
}

Result<int64_t> readWeight(const std::string& text) {
  int64_t weight = 0;
  const char* const end = text.data() + text.size();
  const auto [read, failure] = std::from_chars(text.data(), end, weight);
  if (failure != std::errc() || read != end || weight < 1 || weight > kWeightMax) {
    return Error::invalidArgument("--weight: is \"{}\", expected a number from 1 to {}",
                                  truncateUtf8(text, 40), kWeightMax);
  }
  return weight;
}

Status checkFileOptions(const SubmitOptions& options) {
  const bool others = !options.command.empty() || !options.script.empty() ||
                      !options.name.empty() || !options.priority.empty() ||
                      !options.group.empty() || !options.weight.empty() ||
                      !options.labels.empty() || !options.env.empty() || !options.params.empty() ||
                      !options.tags.empty() || !options.timeout.empty() || !options.retry.empty() ||
                      !options.not_before.empty() || options.hold || !options.dir.empty() ||
                      !options.callback.empty() || !options.kill_grace.empty() ||
                      !options.dispatch_timeout.empty() || !options.interpreter.empty() ||
                      !options.kind.empty() || !options.with.empty() || !options.http.empty() ||
                      !options.method.empty() || !options.headers.empty() ||
                      !options.body.empty() || !options.expect.empty() || !options.capture.empty();
  if (others) {
    return Error::invalidArgument("--file holds whole tasks: leave the options of one task out");
  }
  return {};
}

int waitForAll(Session& session, const SubmitOptions& options,
               const std::vector<std::string>& ids) {
  int exit_code = kExitOk;
  for (const std::string& id : ids) {
    const WaitOptions wait{.id = id, .timeout = options.wait_timeout, .quiet = options.follow};
    const int code = options.follow ? followTask(session, id) : taskWait(session, wait);
    if (exit_code == kExitOk) exit_code = code;
  }
  return exit_code;
}

}  // namespace

Result<Json> taskFromOptions(const SubmitOptions& options, std::istream& in, WallTime now) {
  Json task = Json::object();
  RETURN_IF_ERROR(addRun(options, in, task));
  if (!options.name.empty()) task["name"] = options.name;
  if (!options.priority.empty()) task["priority"] = options.priority;
  if (!options.group.empty()) task["group"] = options.group;
  if (!options.weight.empty()) {
    ASSIGN_OR_RETURN(task["weight"], readWeight(options.weight));
  }
  if (!options.tags.empty()) task["tags"] = options.tags;
  if (!options.dir.empty()) task["dir"] = options.dir;
  if (options.hold) task["hold"] = true;
  if (!options.callback.empty()) task["callback"] = {{"url", options.callback}};
  RETURN_IF_ERROR(addPairs(task, "labels", "--label", options.labels));
  RETURN_IF_ERROR(addPairs(task, "env", "--env", options.env));
  RETURN_IF_ERROR(addPairs(task, "params", "--param", options.params));
  RETURN_IF_ERROR(addDuration(task, "timeout", "--timeout", options.timeout));
  RETURN_IF_ERROR(
      addDuration(task, "dispatch_timeout", "--dispatch-timeout", options.dispatch_timeout));
  RETURN_IF_ERROR(addDuration(task, "kill_grace", "--kill-grace", options.kill_grace));
  RETURN_IF_ERROR(addRetry(options, task));
  if (options.not_before.starts_with('+')) {
    auto from_now = parseDuration(options.not_before.substr(1));
    if (!from_now.ok()) return Error(from_now.error()).withContext("--not-before");
    task["not_before"] = formatRfc3339(now + *from_now);
  } else if (!options.not_before.empty()) {
    task["not_before"] = options.not_before;
  }
  return task;
}

int taskSubmit(Session& session, const SubmitOptions& options) {
  if (!options.wait_timeout.empty() && (options.follow || !options.wait)) {
    return session.fail(Error::invalidArgument("--wait-timeout belongs to --wait"));
  }
  FileTasks tasks;
  if (!options.file.empty()) {
    if (const Status fits = checkFileOptions(options); !fits.ok())
      return session.fail(fits.error());
    auto read = tasksFromFile(options, session.in());
    if (!read.ok()) return session.fail(read.error());
    tasks = std::move(read).value();
  } else {
    auto task = taskFromOptions(options, session.in(), session.clock().wallNow());
    if (!task.ok()) return session.fail(task.error());
    tasks.body = std::move(task).value();
  }
  const auto answer = session.api().create(tasks.bulk ? "/api/v1/tasks/bulk" : "/api/v1/tasks",
                                           tasks.body, options.idempotency_key);
  if (!answer.ok()) return session.fail(answer.error());
  const std::vector<std::string> ids = idsOf(*answer);
  if (ids.empty()) {
    return session.fail(Error::internal("the master's answer names no task: {}",
                                        truncateUtf8(dumpJson(*answer), 200)));
  }
  const bool waits = options.wait || options.follow;
  if (session.format() == Format::Table) {
    // With the task's own output on standard output, the id goes beside it.
    std::ostream& out = options.follow ? session.err() : session.out();
    for (const std::string& id : ids) out << id << "\n";
    out.flush();
  } else if (!waits) {
    session.printObject(*answer);
  }
  return waits ? waitForAll(session, options, ids) : kExitOk;
}

}  // namespace baton::cli
