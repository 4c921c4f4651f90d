#include "cli/task_logs.h"

#include <array>
#include <charconv>

#include "cli/exit_code.h"
#include "cli/task_wait.h"

namespace baton::cli {
namespace {

constexpr uint64_t kPieceBytes = 1024 * 1024;

uint64_t numberIn(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Reads the output streams of one attempt on and on.
class LogCopier {
 public:
  LogCopier(Session& session, std::string id) : session_(session), id_(std::move(id)) {}

  void setStreams(bool out, bool err) {
    streams_[0].wanted = out;
    streams_[1].wanted = err;
  }
  // Empty: the newest when asked.
  void setAttempt(std::string attempt) {
    attempt_ = std::move(attempt);
    for (Stream& stream : streams_) stream.offset = 0;
  }
  const std::string& attempt() const { return attempt_; }

  // Copies what is there and was not copied yet. A stream that was never written to has no file:
  // that is an error (NotFound) only when no other stream is there.
  Status copyNew() {
    return forWanted([this](Stream& stream) { return copyStream(stream); });
  }
  Status copyTail(const std::string& lines) {
    return forWanted([&](Stream& stream) -> Status {
      ASSIGN_OR_RETURN(const webapi::ApiReply reply, fetch(stream, {{"tail", lines}}));
      write(stream, reply.body);
      stream.offset = numberIn(reply.headers.get("X-Baton-Log-Size"));
      return {};
    });
  }

 private:
  struct Stream {
    std::string_view name;
    uint64_t offset = 0;
    bool wanted = true;
  };
  using Fields = std::vector<std::pair<std::string, std::string>>;

  template <typename Copy>
  Status forWanted(Copy copy) {
    Status missing;
    bool found = false;
    for (Stream& stream : streams_) {
      if (!stream.wanted) continue;
      const Status copied = copy(stream);
      if (!copied.ok() && copied.error().code() != ErrorCode::NotFound) return copied;
      if (copied.ok()) found = true;
      if (!copied.ok()) missing = copied;
    }
    return found ? Status() : missing;
  }

  Result<webapi::ApiReply> fetch(const Stream& stream, Fields fields) {
    fields.emplace_back("stream", stream.name);
    fields.emplace_back("attempt", attempt_);
    webapi::ApiRequest request;
    request.target = fmt::format("{}/logs?{}", taskPath(id_), webapi::queryString(fields));
    return session_.api().call(request);
  }

  Status copyStream(Stream& stream) {
    while (true) {
      ASSIGN_OR_RETURN(const webapi::ApiReply reply,
                       fetch(stream, {{"offset", std::to_string(stream.offset)},
                                      {"limit", std::to_string(kPieceBytes)}}));
      write(stream, reply.body);
      stream.offset += reply.body.size();
      if (reply.body.empty() || stream.offset >= numberIn(reply.headers.get("X-Baton-Log-Size"))) {
        return {};
      }
    }
  }

  void write(const Stream& stream, const std::string& bytes) {
    std::ostream& to = stream.name == "stdout" ? session_.out() : session_.err();
    to.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    to.flush();
  }

  Session& session_;
  const std::string id_;
  std::string attempt_;
  std::array<Stream, 2> streams_{Stream{"stdout", 0, true}, Stream{"stderr", 0, true}};
};

// An attempt that was only just handed out, or could not be started, has no files.
Status copyIfThere(LogCopier& copier) {
  const Status copied = copier.copyNew();
  if (!copied.ok() && copied.error().code() == ErrorCode::NotFound) return {};
  return copied;
}

// Copies until the task has ended; `last` is the task as it then is. A worker that does not answer
// is waited for as long as the task lives: its daemon may be on its way back.
Status followToEnd(Session& session, LogCopier& copier, const std::string& id, Json& last) {
  WaitPace pace;
  bool said = false;
  const auto copyOrWait = [&]() -> Status {
    const Status copied = copyIfThere(copier);
    if (copied.ok()) said = false;
    if (copied.ok() || copied.error().code() != ErrorCode::Unavailable || hasEnded(last)) {
      return copied;
    }
    if (!said) session.err() << fmt::format("baton: {}; trying again\n", copied.error().message());
    said = true;
    return {};
  };
  while (true) {
    // The task is read before its output: what it wrote before it ended is then not missed.
    ASSIGN_OR_RETURN(last, session.api().get(taskPath(id)));
    const std::string attempt = memberText(last, "attempt");
    if (attempt != "0" && !attempt.empty()) {
      if (copier.attempt() != attempt) {
        if (!copier.attempt().empty()) {
          RETURN_IF_ERROR(copyOrWait());
          session.err() << fmt::format("baton: attempt {} of task {}\n", attempt, id);
        }
        copier.setAttempt(attempt);
      }
      RETURN_IF_ERROR(copyOrWait());
    }
    if (hasEnded(last)) return {};
    session.sleep(pace.next());
  }
}

Status copyAsAsked(Session& session, LogCopier& copier, const LogsOptions& options) {
  if (!options.follow) {
    return options.tail.empty() ? copier.copyNew() : copier.copyTail(options.tail);
  }
  Json task;
  if (!options.tail.empty()) {
    ASSIGN_OR_RETURN(task, session.api().get(taskPath(options.id)));
    if (memberText(task, "attempt") != "0") {
      copier.setAttempt(memberText(task, "attempt"));
      RETURN_IF_ERROR(copier.copyTail(options.tail));
    }
  }
  return followToEnd(session, copier, options.id, task);
}

Status checkNumber(const char* option, const std::string& text) {
  if (text.empty()) return {};
  const bool digits = text.find_first_not_of("0123456789") == text.npos;
  if (!digits || text.size() > 9 || numberIn(text) == 0) {
    return Error::invalidArgument("{} is \"{}\", expected a number from 1", option,
                                  truncateUtf8(text, 40));
  }
  return {};
}

}  // namespace

int taskLogs(Session& session, const LogsOptions& options) {
  const std::string& stream = options.stream;
  if (!stream.empty() && stream != "stdout" && stream != "stderr" && stream != "both") {
    return session.fail(Error::invalidArgument(
        "--stream is \"{}\", expected stdout, stderr or both", truncateUtf8(stream, 40)));
  }
  for (const Status& checked :
       {checkNumber("--attempt", options.attempt), checkNumber("--tail", options.tail)}) {
    if (!checked.ok()) return session.fail(checked.error());
  }
  if (options.follow && !options.attempt.empty()) {
    return session.fail(Error::invalidArgument("--follow goes with the newest attempt alone"));
  }
  LogCopier copier(session, options.id);
  copier.setStreams(stream != "stderr", stream != "stdout");
  copier.setAttempt(options.attempt);
  const Status copied = copyAsAsked(session, copier, options);
  return copied.ok() ? kExitOk : session.fail(copied.error());
}

int followTask(Session& session, const std::string& id) {
  LogCopier copier(session, id);
  Json last;
  const Status followed = followToEnd(session, copier, id, last);
  if (!followed.ok()) return session.fail(followed.error());
  session.err() << endText(last) << "\n";
  return exitCodeOfTask(last);
}

}  // namespace baton::cli
