#include "common/protocol/heartbeat.h"

namespace baton {
namespace {

constexpr int64_t kLongestMs = 366LL * 86'400'000 * 10;

void readKey(JsonReader& reader, std::string_view task_field, AttemptKey& key) {
  std::string task_id;
  int64_t attempt = 0;
  reader.string(task_field, task_id, 32)
      .integer("attempt", attempt, 0, INT32_MAX)
      .string("nonce", key.nonce, 64);
  if (!task_id.empty()) {
    const auto parsed = parseTaskId(task_id);
    if (!parsed) {
      reader.fail(task_field, fmt::format("\"{}\" is not a task id", truncateUtf8(task_id, 40)));
    } else {
      key.task_id = *parsed;
    }
  }
  key.attempt = static_cast<int32_t>(attempt);
}

void readStatus(JsonReader& reader, HeartbeatRequest& request) {
  std::string status;
  reader.string("status", status, 32);
  if (status == "IDLE") {
    request.status = RunnerStatus::Idle;
  } else if (status == "RUNNING") {
    request.status = RunnerStatus::Running;
  } else if (status == "FINISHED") {
    request.status = RunnerStatus::Finished;
  } else if (status == "FAILED") {
    request.status = RunnerStatus::Failed;
  } else if (status.empty()) {
    reader.fail("status", "is missing; expected IDLE, RUNNING, FINISHED or FAILED");
  } else {
    reader.fail("status", fmt::format("is \"{}\", expected IDLE, RUNNING, FINISHED or FAILED",
                                      truncateUtf8(status, 40)));
  }
}

void readStream(JsonReader& reader, std::string_view name, int64_t& bytes) {
  const Json* json = reader.object(name);
  if (json == nullptr) return;
  JsonReader stream(*json, reader.pathOf(name));
  stream.integer("bytes", bytes, 0, INT64_MAX);
  if (const Status read = stream.finishTolerant(); !read.ok()) reader.fail(read.error());
}

void readResult(JsonReader& reader, AttemptResult& result) {
  int64_t code = 0;
  int64_t signal = 0;
  std::string reason;
  reader.integer("return_code", code, INT32_MIN, INT32_MAX)
      .integer("signal", signal, 0, 64)
      .string("reason", reason, 64)
      .string("reason_text", result.reason_text)
      .integer("run_ms", result.run_ms, 0, kLongestMs)
      .integer("ended_ms", result.ended_ms, 0, kLongestMs)
      .stringMap("outputs", result.outputs, kOutputsCountMax);
  // For people: what would be cut in the database is not carried along until then.
  result.reason_text = truncateUtf8(result.reason_text, kReasonTextBytesMax);
  size_t bytes = 0;
  for (const auto& [key, value] : result.outputs) bytes += key.size() + value.size();
  if (bytes > kOutputsBytesMax) {
    reader.fail("outputs", fmt::format("have {} bytes of keys and values, at most {} are accepted",
                                       bytes, kOutputsBytesMax));
  }
  if (reader.has("return_code")) result.return_code = static_cast<int32_t>(code);
  result.signal = static_cast<int32_t>(signal);
  if (!reason.empty()) {
    const auto parsed = parseFailureReason(reason);
    if (parsed) {
      result.reason = *parsed;
    } else {
      reader.fail("reason",
                  fmt::format("\"{}\" is not a failure reason", truncateUtf8(reason, 40)));
    }
  }
  readStream(reader, "stdout", result.stdout_bytes);
  readStream(reader, "stderr", result.stderr_bytes);
}

void readIdentity(JsonReader& reader, HeartbeatRequest& request) {
  int64_t incarnation = 0;
  int64_t seq = 0;
  int64_t epoch = 0;
  reader.string("worker_id", request.worker_id, 64)
      .string("host", request.host, 255)
      .string("boot_id", request.boot_id, 64)
      .string("version", request.version, 64)
      .string("worker_address", request.worker_address, 255)
      .string("cluster_guid", request.cluster_guid, 64)
      .string("journal_id", request.journal_id, 64)
      .integer("incarnation", incarnation, 0, INT64_MAX)
      .integer("seq", seq, 0, INT64_MAX)
      .integer("epoch", epoch, 0, INT64_MAX);
  for (const auto& [field, name] :
       {std::pair("worker_id", request.worker_id), std::pair("host", request.host)}) {
    if (name.empty() || isPathPart(name)) continue;
    reader.fail(field, fmt::format("is \"{}\", expected a name without /, and not . or ..",
                                   truncateUtf8(name, 40)));
  }
  if (reader.has("incarnation")) request.incarnation = static_cast<uint64_t>(incarnation);
  if (reader.has("seq")) request.seq = static_cast<uint64_t>(seq);
  request.epoch = static_cast<Epoch>(epoch);
  if (const Json* order = reader.object("last_order")) {
    JsonReader last(*order, "last_order");
    readKey(last, "task", request.last_order);
    request.has_last_order = true;
    if (const Status read = last.finishTolerant(); !read.ok()) reader.fail(read.error());
  }
}

void readFigures(JsonReader& reader, HeartbeatRequest& request) {
  const Json* json = reader.object("figures");
  if (json == nullptr) return;
  HostFigures figures;
  JsonReader inner(*json, "figures");
  inner.number("load1", figures.load1, 0, 1e9)
      .integer("cpu_count", figures.cpu_count, 0, 1'000'000)
      .integer("memory_total_bytes", figures.memory_total_bytes, 0, INT64_MAX)
      .integer("memory_free_bytes", figures.memory_free_bytes, 0, INT64_MAX)
      .integer("disk_free_bytes", figures.disk_free_bytes, 0, INT64_MAX);
  if (const Status read = inner.finishTolerant(); !read.ok()) reader.fail(read.error());
  request.figures = figures;
}

void readRunnerConfig(JsonReader& reader, HeartbeatRequest& request) {
  const Json* json = reader.object("runner_config");
  if (json == nullptr) return;
  JsonReader inner(*json, "runner_config");
  inner.stringMap("labels", request.labels, 100);
  if (const size_t bytes = dumpJson(Json(request.labels)).size(); bytes > kLabelsJsonBytesMax) {
    inner.fail("labels", fmt::format("have {} bytes as JSON, at most {} are accepted", bytes,
                                     kLabelsJsonBytesMax));
  }
  if (const Status read = inner.finishTolerant(); !read.ok()) reader.fail(read.error());
}

Json keyToJson(const AttemptKey& key) {
  return {{"task", std::to_string(key.task_id)}, {"attempt", key.attempt}, {"nonce", key.nonce}};
}

void addResult(const AttemptResult& result, Json& json) {
  if (result.return_code) json["return_code"] = *result.return_code;
  if (result.signal != 0) json["signal"] = result.signal;
  if (result.reason != FailureReason::None) json["reason"] = toString(result.reason);
  if (!result.reason_text.empty()) json["reason_text"] = result.reason_text;
  json["run_ms"] = result.run_ms;
  json["ended_ms"] = result.ended_ms;
  json["stdout"] = {{"bytes", result.stdout_bytes}};
  json["stderr"] = {{"bytes", result.stderr_bytes}};
  if (!result.outputs.empty()) json["outputs"] = result.outputs;
}

}  // namespace

std::string_view toString(RunnerStatus status) {
  switch (status) {
    case RunnerStatus::Idle:
      return "IDLE";
    case RunnerStatus::Running:
      return "RUNNING";
    case RunnerStatus::Finished:
      return "FINISHED";
    case RunnerStatus::Failed:
      return "FAILED";
  }
  return "";
}

std::string_view toString(Command command) {
  switch (command) {
    case Command::GoOn:
      return "GO_ON";
    case Command::Reset:
      return "RESET";
    case Command::RunNew:
      return "RUN_NEW";
  }
  return "";
}

Result<HeartbeatRequest> parseHeartbeatRequest(const Json& json, std::string_view runner_id) {
  HeartbeatRequest request;
  request.runner_id = runner_id;
  JsonReader reader(json);
  std::string stated;
  reader.string("runner_id", stated, 64);
  if (!stated.empty() && stated != runner_id) {
    reader.fail("runner_id",
                fmt::format("is \"{}\", but the path names \"{}\"", stated, runner_id));
  }
  readStatus(reader, request);
  readIdentity(reader, request);
  readKey(reader, "current_task", request.current);
  readResult(reader, request.result);
  readFigures(reader, request);
  reader.integer("leaving_ms", request.leaving_ms, 0, kLongestMs)
      .integer("wait_ms", request.wait_ms, 0, 600'000)
      .string("final_args", request.final_args);
  readRunnerConfig(reader, request);
  if (request.status != RunnerStatus::Idle) {
    if (request.current.task_id == 0) {
      reader.fail("current_task", fmt::format("is missing; a {} report names its task and attempt",
                                              toString(request.status)));
    } else if (request.current.attempt == 0) {
      reader.fail("attempt", fmt::format("is missing; a {} report names its task and attempt",
                                         toString(request.status)));
    }
  }
  RETURN_IF_ERROR(reader.finishTolerant());
  return request;
}

Json heartbeatRequestToJson(const HeartbeatRequest& request) {
  Json json = {{"runner_id", request.runner_id}, {"status", toString(request.status)}};
  const auto text = [&](const char* name, const std::string& value) {
    if (!value.empty()) json[name] = value;
  };
  text("worker_id", request.worker_id);
  text("host", request.host);
  text("boot_id", request.boot_id);
  text("version", request.version);
  text("worker_address", request.worker_address);
  text("cluster_guid", request.cluster_guid);
  text("journal_id", request.journal_id);
  text("final_args", request.final_args);
  if (request.incarnation) json["incarnation"] = *request.incarnation;
  if (request.seq) json["seq"] = *request.seq;
  if (request.has_last_order) json["last_order"] = keyToJson(request.last_order);
  json["epoch"] = request.epoch;
  if (request.current.task_id != 0) {
    json["current_task"] = std::to_string(request.current.task_id);
    json["attempt"] = request.current.attempt;
    json["nonce"] = request.current.nonce;
    if (request.status != RunnerStatus::Running) addResult(request.result, json);
  }
  if (request.leaving_ms > 0) json["leaving_ms"] = request.leaving_ms;
  if (request.wait_ms > 0) json["wait_ms"] = request.wait_ms;
  json["runner_config"] = {{"labels", request.labels}};
  if (request.figures) {
    json["figures"] = {{"load1", request.figures->load1},
                       {"cpu_count", request.figures->cpu_count},
                       {"memory_total_bytes", request.figures->memory_total_bytes},
                       {"memory_free_bytes", request.figures->memory_free_bytes},
                       {"disk_free_bytes", request.figures->disk_free_bytes}};
  }
  return json;
}

Result<HeartbeatReply> parseHeartbeatReply(const Json& json) {
  HeartbeatReply reply;
  JsonReader reader(json);
  int64_t epoch = 0;
  int64_t incarnation = 0;
  int64_t seq = 0;
  std::string command;
  reader.string("cluster_guid", reply.cluster_guid, 64)
      .integer("epoch", epoch, 0, INT64_MAX)
      .integer("incarnation", incarnation, 0, INT64_MAX)
      .integer("seq", seq, 0, INT64_MAX)
      .string("command", command, 32)
      .integer("interval_ms", reply.interval_ms, 0, kLongestMs)
      .integer("heartbeat_ms", reply.heartbeat_ms, 0, kLongestMs);
  reply.epoch = static_cast<Epoch>(epoch);
  reply.incarnation = static_cast<uint64_t>(incarnation);
  reply.seq = static_cast<uint64_t>(seq);
  if (command == "GO_ON") {
    reply.command = Command::GoOn;
  } else if (command == "RESET") {
    reply.command = Command::Reset;
  } else if (command == "RUN_NEW") {
    reply.command = Command::RunNew;
    const Json* task = reader.object("task");
    if (task == nullptr) {
      reader.fail("task", "is missing in a RUN_NEW");
    } else {
      Order order;
      JsonReader inner(*task, "task");
      readKey(inner, "task", order.key);
      int64_t timeout_ms = 0;
      int64_t grace_ms = order.kill_grace.count();
      inner.integer("timeout_ms", timeout_ms, 0, kLongestMs)
          .integer("kill_grace_ms", grace_ms, 0, kLongestMs);
      if (const Json* run = inner.object("run")) order.run_part = dumpJson(*run);
      if (order.key.task_id == 0 || order.key.attempt == 0 || order.run_part.empty()) {
        reader.fail("task", "lacks task, attempt or run");
      }
      order.timeout = Millis(timeout_ms);
      order.kill_grace = Millis(grace_ms);
      if (const Status read = inner.finishTolerant(); !read.ok()) reader.fail(read.error());
      reply.order = std::move(order);
    }
  } else {
    reader.fail("command", fmt::format("is \"{}\", expected GO_ON, RESET or RUN_NEW",
                                       truncateUtf8(command, 40)));
  }
  RETURN_IF_ERROR(reader.finishTolerant());
  return reply;
}

std::string heartbeatReplyToText(const HeartbeatReply& reply) {
  std::string text = fmt::format(
      R"({{"cluster_guid":"{}","epoch":{},"incarnation":{},"seq":{},"command":"{}","interval_ms":{})",
      reply.cluster_guid, reply.epoch, reply.incarnation, reply.seq, toString(reply.command),
      reply.interval_ms);
  if (reply.heartbeat_ms > 0) text += fmt::format(R"(,"heartbeat_ms":{})", reply.heartbeat_ms);
  if (reply.order) {
    text += fmt::format(
        R"(,"task":{{"task":"{}","attempt":{},"nonce":"{}","timeout_ms":{},"kill_grace_ms":{},"run":{}}})",
        reply.order->key.task_id, reply.order->key.attempt, reply.order->key.nonce,
        reply.order->timeout.count(), reply.order->kill_grace.count(), reply.order->run_part);
  }
  return text + "}";
}

}  // namespace baton
