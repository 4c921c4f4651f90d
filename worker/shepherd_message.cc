#include "worker/shepherd_message.h"

namespace baton::worker {
namespace {

constexpr size_t kArgsCountMax = 100'000;

Json messageOf(std::string_view op) { return {{"op", op}}; }

Json messageOf(std::string_view op, const AttemptKey& key) {
  return {{"op", op}, {"task", key.task_id}, {"attempt", key.attempt}, {"nonce", key.nonce}};
}

void readAttemptKey(JsonReader& reader, AttemptKey& key) {
  int64_t task = 0;
  int64_t attempt = 0;
  reader.integer("task", task, 1, INT64_MAX)
      .integer("attempt", attempt, 1, INT32_MAX)
      .string("nonce", key.nonce);
  key.task_id = static_cast<TaskId>(task);
  key.attempt = static_cast<int32_t>(attempt);
}

void readStopReason(JsonReader& reader, StopReason& why) {
  std::string text;
  reader.string("why", text);
  why = text == "reset"     ? StopReason::Reset
        : text == "timeout" ? StopReason::Timeout
                            : StopReason::None;
}

Json startedToJson(const StartedNote& note) {
  Json json = messageOf("started", note.key);
  json["pid"] = note.pid;
  json["started_us"] = note.started_us;
  json["why"] = toString(note.why);
  return json;
}

Json endedToJson(const EndedNote& note) {
  Json json = messageOf("ended", note.key);
  if (note.result.return_code) json["return_code"] = *note.result.return_code;
  json["signal"] = note.result.signal;
  json["reason"] = toString(note.result.reason);
  json["text"] = note.result.reason_text;
  json["run_ms"] = note.result.run_ms;
  json["stdout_bytes"] = note.result.stdout_bytes;
  json["stderr_bytes"] = note.result.stderr_bytes;
  json["outputs"] = note.result.outputs;
  json["ended_us"] = note.ended_us;
  json["why"] = toString(note.why);
  json["stdout_cut"] = note.stdout_cut;
  json["stderr_cut"] = note.stderr_cut;
  return json;
}

Result<StartedNote> readStarted(const Json& json) {
  StartedNote note;
  JsonReader reader(json);
  readAttemptKey(reader, note.key);
  readStopReason(reader, note.why);
  reader.integer("pid", note.pid, 0, INT32_MAX)
      .integer("started_us", note.started_us, 0, INT64_MAX);
  RETURN_IF_ERROR(reader.finishTolerant());
  return note;
}

Result<EndedNote> readEnded(const Json& json) {
  EndedNote note;
  JsonReader reader(json);
  int64_t code = 0;
  int64_t signal = 0;
  std::string reason;
  readAttemptKey(reader, note.key);
  readStopReason(reader, note.why);
  reader.integer("return_code", code, INT32_MIN, INT32_MAX)
      .integer("signal", signal, 0, 128)
      .string("reason", reason)
      .string("text", note.result.reason_text)
      .integer("run_ms", note.result.run_ms, 0, INT64_MAX)
      .integer("stdout_bytes", note.result.stdout_bytes, 0, INT64_MAX)
      .integer("stderr_bytes", note.result.stderr_bytes, 0, INT64_MAX)
      .stringMap("outputs", note.result.outputs, kArgsCountMax)
      .integer("ended_us", note.ended_us, 0, INT64_MAX)
      .boolean("stdout_cut", note.stdout_cut)
      .boolean("stderr_cut", note.stderr_cut);
  if (reader.has("return_code")) note.result.return_code = static_cast<int32_t>(code);
  note.result.signal = static_cast<int32_t>(signal);
  if (!reason.empty()) {
    if (const auto parsed = parseFailureReason(reason)) note.result.reason = *parsed;
  }
  RETURN_IF_ERROR(reader.finishTolerant());
  return note;
}

Result<HelloNote> readHello(const Json& json) {
  HelloNote note;
  JsonReader reader(json);
  reader.integer("pid", note.pid, 0, INT32_MAX)
      .string("version", note.version)
      .boolean("takes_input", note.takes_input);
  const Json* running = reader.array("running");
  const Json* ended = reader.array("ended");
  RETURN_IF_ERROR(reader.finishTolerant());
  if (running != nullptr) {
    for (const Json& item : *running) {
      ASSIGN_OR_RETURN(StartedNote started, readStarted(item));
      note.running.push_back(std::move(started));
    }
  }
  if (ended != nullptr) {
    for (const Json& item : *ended) {
      ASSIGN_OR_RETURN(EndedNote one, readEnded(item));
      note.ended.push_back(std::move(one));
    }
  }
  return note;
}

Json toJson(const HelloRequest& request) {
  Json json = messageOf("hello");
  json["version"] = request.version;
  return json;
}
Json toJson(const StartRequest& request) {
  Json json = messageOf("start", request.key);
  json["argv"] = request.argv;
  json["env"] = request.env;
  json["dir"] = request.dir;
  if (request.has_script) json["script"] = request.script;
  if (!request.input.empty()) json["input"] = request.input;
  return json;
}
Json toJson(const StopRequest& request) {
  Json json = messageOf("stop", request.key);
  json["why"] = toString(request.why);
  json["grace_ms"] = request.grace_ms;
  return json;
}
Json toJson(const AckRequest& request) { return messageOf("ack", request.key); }
Json toJson(const StartedNote& note) { return startedToJson(note); }
Json toJson(const EndedNote& note) { return endedToJson(note); }
Json toJson(const RefusedNote& note) {
  Json json = messageOf("refused", note.key);
  json["text"] = note.text;
  return json;
}
Json toJson(const HelloNote& note) {
  Json json = messageOf("hello");
  json["pid"] = note.pid;
  json["version"] = note.version;
  json["takes_input"] = note.takes_input;
  json["running"] = Json::array();
  json["ended"] = Json::array();
  for (const StartedNote& started : note.running) json["running"].push_back(startedToJson(started));
  for (const EndedNote& ended : note.ended) json["ended"].push_back(endedToJson(ended));
  return json;
}

Result<Json> parseMessage(std::string_view line, std::string& op) {
  ASSIGN_OR_RETURN(Json json, parseJson(line, {.bytes_max = 64 * 1024 * 1024}));
  if (!json.is_object()) return Error::invalidArgument("a message is an object");
  JsonReader reader(json);
  reader.string("op", op);
  RETURN_IF_ERROR(reader.finishTolerant());
  return json;
}

Result<ShepherdRequest> readStart(const Json& json) {
  StartRequest request;
  JsonReader reader(json);
  readAttemptKey(reader, request.key);
  reader.strings("argv", request.argv, kArgsCountMax)
      .strings("env", request.env, kArgsCountMax)
      .string("dir", request.dir)
      .string("script", request.script)
      .string("input", request.input);
  request.has_script = reader.has("script");
  RETURN_IF_ERROR(reader.finishTolerant());
  if (request.argv.empty()) return Error::invalidArgument("argv is empty");
  return ShepherdRequest(std::move(request));
}

}  // namespace

std::string_view toString(StopReason reason) {
  switch (reason) {
    case StopReason::None:
      return "";
    case StopReason::Reset:
      return "reset";
    case StopReason::Timeout:
      return "timeout";
  }
  return "";
}

std::string toLine(const ShepherdRequest& request) {
  return dumpJson(std::visit([](const auto& one) { return toJson(one); }, request)) + "\n";
}

std::string toLine(const ShepherdNote& note) {
  return dumpJson(std::visit([](const auto& one) { return toJson(one); }, note)) + "\n";
}

Result<ShepherdRequest> parseShepherdRequest(std::string_view line) {
  std::string op;
  ASSIGN_OR_RETURN(const Json json, parseMessage(line, op));
  if (op == "start") return readStart(json);
  JsonReader reader(json);
  if (op == "hello") {
    HelloRequest request;
    reader.string("version", request.version);
    RETURN_IF_ERROR(reader.finishTolerant());
    return ShepherdRequest(std::move(request));
  }
  if (op == "stop") {
    StopRequest request;
    readAttemptKey(reader, request.key);
    readStopReason(reader, request.why);
    reader.integer("grace_ms", request.grace_ms, 0, INT64_MAX / 1'000'000);
    RETURN_IF_ERROR(reader.finishTolerant());
    return ShepherdRequest(std::move(request));
  }
  if (op == "ack") {
    AckRequest request;
    readAttemptKey(reader, request.key);
    RETURN_IF_ERROR(reader.finishTolerant());
    return ShepherdRequest(std::move(request));
  }
  return Error::invalidArgument("op is \"{}\", expected hello, start, stop or ack", op);
}

Result<ShepherdNote> parseShepherdNote(std::string_view line) {
  std::string op;
  ASSIGN_OR_RETURN(const Json json, parseMessage(line, op));
  if (op == "hello") {
    ASSIGN_OR_RETURN(HelloNote note, readHello(json));
    return ShepherdNote(std::move(note));
  }
  if (op == "started") {
    ASSIGN_OR_RETURN(StartedNote note, readStarted(json));
    return ShepherdNote(std::move(note));
  }
  if (op == "ended") {
    ASSIGN_OR_RETURN(EndedNote note, readEnded(json));
    return ShepherdNote(std::move(note));
  }
  if (op == "refused") {
    RefusedNote note;
    JsonReader reader(json);
    readAttemptKey(reader, note.key);
    reader.string("text", note.text);
    RETURN_IF_ERROR(reader.finishTolerant());
    return ShepherdNote(std::move(note));
  }
  return Error::invalidArgument("op is \"{}\", expected hello, started, ended or refused", op);
}

bool LineSplitter::next(std::string& line) {
  const size_t end = buffer_.find('\n', std::max(begin_, searched_));
  if (end == std::string::npos) {
    buffer_.erase(0, begin_);
    begin_ = 0;
    searched_ = buffer_.size();
    return false;
  }
  line.assign(buffer_, begin_, end - begin_);
  begin_ = end + 1;
  searched_ = begin_;
  return true;
}

}  // namespace baton::worker
