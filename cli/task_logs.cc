#include "cli/task_logs.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "cli/exit_code.h"
#include "cli/task_verbs.h"
#include "cli/task_wait.h"

namespace baton::cli {
namespace {

constexpr uint64_t kPieceBytes = 1024 * 1024;
constexpr Millis kSilence{15'000};
constexpr Millis kPieceWait{1'000};
constexpr int kLooksInSilence = 10;  // Two seconds or so, after which one wants to know why.

uint64_t numberIn(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Copies the output streams of one attempt.
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
    for (Stream& stream : streams_) {
      stream.offset = 0;
      stream.ended = false;
      stream.body.reset();
    }
  }
  const std::string& attempt() const { return attempt_; }

  // Copies what is there. A stream that was never written to has no file: that is an error
  // (NotFound) only when no other stream is there.
  Status copyAll() {
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
  // Copies what the attempt writes until it has ended, from where the streams are; goes on there
  // when it is called again after an error. Errors: as ApiClient::call; Unavailable also means
  // that an answer was cut.
  Status follow() {
    while (true) {
      cut_ = false;
      for (Stream& stream : streams_) {
        if (stream.wanted && !stream.ended && !stream.body) RETURN_IF_ERROR(open(stream));
      }
      std::vector<Stream*> live;
      for (Stream& stream : streams_) {
        if (stream.body) live.push_back(&stream);
      }
      if (live.empty()) return {};
      const Status copied = copyNew(live);
      cut_ = !copied.ok();
      if (!cut_) continue;
      // All come from one master, and each would tell of its end again.
      for (Stream& stream : streams_) stream.body.reset();
      return copied;
    }
  }
  bool wrote() const { return wrote_; }
  // The last error was an answer that was cut, which says nothing of who gives the rest.
  bool wasCut() const { return cut_; }

 private:
  struct Stream {
    std::string_view name;
    uint64_t offset = 0;
    bool wanted = true;
    // While it is followed:
    bool ended = false;
    std::shared_ptr<net::HttpClient::Stream> body = {};  // Null: to be asked for.
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

  Result<webapi::ApiReply> fetch(const Stream& stream, Fields fields, bool streamed = false) {
    fields.emplace_back("stream", stream.name);
    fields.emplace_back("attempt", attempt_);
    webapi::ApiRequest request;
    request.streamed = streamed;
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

  Status open(Stream& stream) {
    const auto reply =
        fetch(stream, {{"offset", std::to_string(stream.offset)}, {"follow", "true"}}, true);
    if (reply.ok()) {
      stream.body = reply->stream;
      return {};
    }
    // An attempt that could not be started has no files.
    if (reply.error().code() != ErrorCode::NotFound) return reply.error();
    stream.ended = true;
    return {};
  }

  // Copies what comes on any of them. Where nothing does, all are asked for anew: the master may
  // be gone without a word.
  Status copyNew(const std::vector<Stream*>& live) {
    std::vector<pollfd> polled;
    for (const Stream* stream : live) polled.push_back({stream->body->fd(), POLLIN, 0});
    const bool ready = std::any_of(live.begin(), live.end(),
                                   [](const Stream* stream) { return stream->body->ready(); });
    const int found =
        ::poll(polled.data(), polled.size(), ready ? 0 : static_cast<int>(kSilence.count()));
    if (found == 0 && !ready) {
      for (Stream* stream : live) stream->body.reset();
      return {};
    }
    for (size_t i = 0; i < live.size(); ++i) {
      if (!live[i]->body->ready() && polled[i].revents == 0) continue;
      RETURN_IF_ERROR(copyPiece(*live[i]));
    }
    return {};
  }

  Status copyPiece(Stream& stream) {
    auto piece = stream.body->read(kPieceWait);
    if (!piece.ok()) {
      // A part of a chunk's frame came: the rest is on its way.
      if (piece.error().code() == ErrorCode::DeadlineExceeded) return {};
      return piece.error();
    }
    if (!*piece) {
      stream.ended = true;
      stream.body.reset();
      return {};
    }
    write(stream, **piece);
    stream.offset += (*piece)->size();
    return {};
  }

  void write(const Stream& stream, const std::string& bytes) {
    std::ostream& to = stream.name == "stdout" ? session_.out() : session_.err();
    to.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    to.flush();
    wrote_ = wrote_ || !bytes.empty();
  }

  Session& session_;
  const std::string id_;
  std::string attempt_;
  bool cut_ = false;
  bool wrote_ = false;
  std::array<Stream, 2> streams_{Stream{"stdout"}, Stream{"stderr"}};
};

// Why a task has no output.
std::string standingLine(const Json& task) {
  if (hasEnded(task)) return "baton: " + endText(task);
  std::string why = waitingText(task, ": ");
  if (why.empty() && !whyText(task).empty()) why = ": " + whyText(task);
  return printable(fmt::format("baton: task {} is {}{}", memberText(task, "id"),
                               memberText(task, "status"), why));
}

// Copies until the task has ended; `last` is the task as it then is. What is cut is asked for again
// from where it was: the master may have been taken over from. A worker that does not answer is
// waited for as long as the task lives: its daemon may be on its way back.
Status followToEnd(Session& session, LogCopier& copier, const std::string& id, Json& last) {
  WaitPace pace;
  bool said = false;
  int looks = 0;
  while (true) {
    ASSIGN_OR_RETURN(last, session.api().get(taskPath(id)));
    const std::string attempt = memberText(last, "attempt");
    const bool tried = attempt != "0" && !attempt.empty();
    if (tried && copier.attempt() != attempt) {
      if (!copier.attempt().empty()) {
        session.err() << fmt::format("baton: attempt {} of task {}\n", attempt, id);
      }
      copier.setAttempt(attempt);
      pace = {};
    }
    if (tried) {
      const Status followed = copier.follow();
      if (followed.ok()) said = false;
      if (!followed.ok()) {
        const bool passes = followed.error().code() == ErrorCode::Unavailable;
        if (!passes || (hasEnded(last) && !copier.wasCut())) return followed;
        // A cut is mended without anybody's help, and standard error may be the task's in a file.
        if (!said && copier.wasCut() && session.terminal()) {
          session.err() << "baton: the connection to the master was lost, looking for the active "
                           "one\n";
        } else if (!said && !copier.wasCut()) {
          session.err() << fmt::format("baton: {}; trying again\n", followed.error().told());
        }
        said = true;
        session.sleep(pace.next());
        continue;
      }
    }
    if (!tried && ++looks == kLooksInSilence) {
      session.err() << standingLine(last) << "\n";
    }
    // The output of an attempt that had ended before it was asked for is whole.
    if (hasEnded(last)) return {};
    session.sleep(pace.next());
  }
}

Status copyAsAsked(Session& session, LogCopier& copier, const LogsOptions& options) {
  if (!options.follow) {
    return options.tail.empty() ? copier.copyAll() : copier.copyTail(options.tail);
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
    return Error::invalidArgument("{}: is \"{}\", expected a number from 1", option,
                                  truncateUtf8(text, 40));
  }
  return {};
}

}  // namespace

int taskLogs(Session& session, const LogsOptions& options) {
  const std::string& stream = options.stream;
  if (!stream.empty() && stream != "stdout" && stream != "stderr" && stream != "both") {
    return session.fail(Error::invalidArgument(
        "--stream: is \"{}\", expected stdout, stderr or both", truncateUtf8(stream, 40)));
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
  if (!copied.ok()) return session.fail(copied.error());
  if (!options.follow && options.attempt.empty() && !copier.wrote()) {
    // Nothing was written where nothing ran: that is worth a word.
    const auto task = session.api().get(taskPath(options.id));
    if (task.ok() && (memberText(*task, "started_at").empty() ||
                      memberText(*task, "reason") == "start_failed")) {
      session.err() << standingLine(*task) << "\n";
    }
  }
  return kExitOk;
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
