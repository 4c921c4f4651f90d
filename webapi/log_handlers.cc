#include "webapi/log_handlers.h"

#include <algorithm>

#include "webapi/query_reader.h"
#include "webapi/task_handlers.h"

namespace baton::webapi {
namespace {

constexpr int64_t kLimitDefault = 256 * 1024;
constexpr int64_t kLimitMax = 1024 * 1024;
constexpr uint64_t kDownloadStepBytes = 256 * 1024;

struct LogQuery {
  int64_t offset = 0;
  int64_t limit = kLimitDefault;
  int64_t tail = 0;  // 0: offset and limit count.
  bool follow = false;
};

Result<LogQuery> readLogQuery(const net::HttpRequest& request) {
  LogQuery query;
  QueryReader reader(request);
  reader.integer("offset", query.offset, 0, INT64_MAX)
      .integer("limit", query.limit, 1, kLimitMax)
      .integer("tail", query.tail, 1, 10'000)
      .boolean("follow", query.follow);
  if (reader.has("tail") && (reader.has("offset") || reader.has("limit"))) {
    reader.fail("tail", "can't be combined with offset or limit");
  }
  if (query.follow && reader.has("limit")) {
    reader.fail("limit", "can't be combined with follow");
  }
  RETURN_IF_ERROR(reader.finish());
  return query;
}

void addLogFields(net::HttpResponse& response, uint64_t offset, int32_t attempt) {
  response.headers.add("X-Baton-Log-Offset", std::to_string(offset));
  response.headers.add("X-Baton-Attempt", std::to_string(attempt));
  // A task decides what stands in its output: no browser shall take it for a page.
  response.headers.add("X-Content-Type-Options", "nosniff");
  response.headers.add("Cache-Control", "no-store");
}

net::HttpResponse logResponse(LogPiece piece, uint64_t offset, int32_t attempt) {
  net::HttpResponse response = net::HttpResponse::text(200, std::move(piece.bytes));
  response.headers = std::move(piece.facts);
  addLogFields(response, offset, attempt);
  return response;
}

// Outputs are made with their first byte: where the attempt wrote none, the worker has no file.
bool wroteNothing(const AttemptRecord& attempt, const std::string& stream) {
  return !isOpen(attempt.status) &&
         (stream == "stderr" ? attempt.stderr_bytes : attempt.stdout_bytes) == 0;
}

Result<LogPiece> emptyWhereNothingWasWritten(Result<LogPiece> piece, const AttemptRecord& attempt,
                                             const std::string& stream) {
  if (piece.ok() || piece.error().code() != ErrorCode::NotFound || !wroteNothing(attempt, stream)) {
    return piece;
  }
  LogPiece empty;
  empty.size = 0;
  empty.facts.add("X-Baton-Log-Size", "0");
  empty.facts.add("X-Baton-Log-Truncated", "false");
  empty.facts.add("X-Baton-Log-Complete", "true");
  return empty;
}

// The output as it was when the download began, read from the worker step by step.
struct LogDownload {
  std::shared_ptr<WorkerLogReader> reader;
  std::string buffer;
  size_t taken = 0;     // Of the buffer.
  uint64_t offset = 0;  // Behind the buffer.

  bool buffered() const { return taken < buffer.size(); }
  std::string take(size_t max) {
    std::string bytes = buffer.substr(taken, max);
    taken += bytes.size();
    return bytes;
  }
  Result<std::string> next(size_t max) {
    if (buffered()) return take(max);
    ASSIGN_OR_RETURN(LogPiece piece, reader->read(offset, kDownloadStepBytes));
    buffer = std::move(piece.bytes);
    taken = 0;
    offset += buffer.size();
    return take(max);
  }
};

}  // namespace

LogHandlers::LogHandlers(master::api::TaskPort& tasks, master::api::HostPort& hosts,
                         Options options)
    : tasks_(tasks),
      hosts_(hosts),
      options_(std::move(options)),
      pool_("web-log", options_.threads, options_.queue_max),
      follower_(tasks, {.worker_token = options_.worker_token,
                        .worker_timeout = options_.worker_timeout,
                        .followers_max = options_.followers_max}) {}

void LogHandlers::bindTo(Router& router) {
  router.bind("getLogs", [this](const Call& call) { get(call); });
  router.bind("downloadLogs", [this](const Call& call) { download(call); });
}

Result<AttemptRecord> LogHandlers::findAttempt(const Call& call, int64_t number) {
  ASSIGN_OR_RETURN(const TaskId id, taskIdOf(call));
  ASSIGN_OR_RETURN(std::vector<AttemptRecord> attempts, tasks_.attempts(id));
  const auto found = number > 0
                         ? std::find_if(attempts.begin(), attempts.end(),
                                        [&](const AttemptRecord& a) { return a.number == number; })
                         : std::max_element(attempts.begin(), attempts.end(),
                                            [](const AttemptRecord& a, const AttemptRecord& b) {
                                              return a.number < b.number;
                                            });
  if (found == attempts.end()) {
    return number > 0 ? Error::notFound("task {} has no attempt {}", id, number)
                      : Error::notFound("task {} has not been tried yet: there is no output", id);
  }
  if (found->worker_address.empty()) {
    return Error::notFound("the runner {} of attempt {} serves no output", found->runner_id,
                           found->number);
  }
  return std::move(*found);
}

Result<std::shared_ptr<WorkerLogReader>> LogHandlers::readerFor(const Call& call,
                                                                AttemptRecord& attempt) {
  int64_t number = 0;
  std::string stream = "stdout";
  QueryReader query(call.request());
  query.integer("attempt", number, 1, INT32_MAX).text("stream", stream);
  if (stream != "stdout" && stream != "stderr") query.fail("stream", "expected stdout or stderr");
  RETURN_IF_ERROR(query.finish());
  ASSIGN_OR_RETURN(attempt, findAttempt(call, number));
  return std::make_shared<WorkerLogReader>(LogLocation{.worker_address = attempt.worker_address,
                                                       .task_id = attempt.task_id,
                                                       .attempt = attempt.number,
                                                       .stream = std::move(stream)},
                                           options_.worker_token, options_.worker_timeout);
}

void LogHandlers::ask(const Call& call, std::function<void()> work) {
  const bool posted = pool_.tryPost([this, call, work = std::move(work)] {
    if (!stopping_) return work();
    call.fail(Error(ErrorCode::Cancelled, "this master is stopping"));
  });
  if (posted) return;
  call.fail(Error::make(ErrorCode::Overloaded, "too many requests for outputs wait already"));
}

void LogHandlers::get(const Call& call) {
  const auto query = readLogQuery(call.request());
  if (!query.ok()) return call.fail(query.error());
  if (query->follow) return follow(call, query->offset, query->tail);
  AttemptRecord attempt;
  const auto reader = readerFor(call, attempt);
  if (!reader.ok()) return call.fail(reader.error());
  ask(call, [this, call, reader = *reader, attempt, query = *query] {
    uint64_t offset = static_cast<uint64_t>(query.offset);
    auto piece = query.tail > 0 ? reader->readTail(query.tail, kLimitMax, offset)
                                : reader->read(offset, static_cast<uint64_t>(query.limit));
    piece = emptyWhereNothingWasWritten(std::move(piece), attempt, reader->location().stream);
    if (!piece.ok()) return failRead(call, piece.error(), attempt.runner_id);
    call.reply(logResponse(std::move(*piece), offset, attempt.number));
  });
}

void LogHandlers::download(const Call& call) {
  AttemptRecord attempt;
  const auto reader = readerFor(call, attempt);
  if (!reader.ok()) return call.fail(reader.error());
  ask(call, [this, call, reader = *reader, attempt] { startDownload(call, reader, attempt); });
}

void LogHandlers::startDownload(const Call& call, const std::shared_ptr<WorkerLogReader>& reader,
                                const AttemptRecord& attempt) {
  auto first = emptyWhereNothingWasWritten(reader->read(0, kDownloadStepBytes), attempt,
                                           reader->location().stream);
  if (!first.ok()) return failRead(call, first.error(), attempt.runner_id);
  const auto state = std::make_shared<LogDownload>();
  state->reader = reader;
  state->buffer = std::move(first->bytes);
  state->offset = state->buffer.size();
  const std::optional<uint64_t> size = first->size;
  first->bytes.clear();
  net::HttpResponse response = logResponse(std::move(*first), 0, attempt.number);
  response.content_type = "application/octet-stream";
  response.headers.add("Content-Disposition",
                       fmt::format("attachment; filename=\"task-{}-attempt-{}-{}.log\"",
                                   attempt.task_id, attempt.number, reader->location().stream));
  response.source_length = size;
  response.source = [this, state](size_t max, net::BodyDone done) {
    if (state->buffered()) return done(state->take(max));
    // Where `done` goes uncalled the connection is cut, so that nobody takes a part for the whole.
    if (stopping_) return;
    pool_.tryPost([state, max, done = std::move(done)] { done(state->next(max)); });
  };
  call.reply(std::move(response));
}

void LogHandlers::replyFollowing(const Call& call, const FollowStart& start) {
  auto source = follower_.follow(start);
  if (!source.ok()) return call.fail(source.error());
  net::HttpResponse response = net::HttpResponse::text(200, {});
  addLogFields(response, start.offset, start.attempt);
  response.source = std::move(*source);
  call.reply(std::move(response));
}

void LogHandlers::follow(const Call& call, int64_t offset, int64_t tail) {
  const auto id = taskIdOf(call);
  if (!id.ok()) return call.fail(id.error());
  AttemptRecord attempt;
  auto reader = readerFor(call, attempt);
  FollowStart start{.task = *id, .only = call.request().findQuery("attempt") != nullptr};
  if (const std::string* stream = call.request().findQuery("stream")) start.stream = *stream;
  if (start.stream.empty()) start.stream = "stdout";
  if (!reader.ok()) {
    // Before the first attempt there is nothing to read, but something to wait for.
    const auto attempts = tasks_.attempts(*id);
    const bool early = attempts.ok() && attempts->empty() && !start.only;
    if (!early || reader.error().code() != ErrorCode::NotFound) return call.fail(reader.error());
    if (offset > 0) {
      return call.fail(Error(ErrorCode::InvalidArgument,
                             "lies behind the end: the task has not been tried yet", "offset"));
    }
    return replyFollowing(call, start);
  }
  start.attempt = attempt.number;
  start.offset = static_cast<uint64_t>(offset);
  if (isOpen(attempt.status) && tail == 0) return replyFollowing(call, start);
  ask(call, [this, call, reader = *reader, attempt, start, tail]() mutable {
    auto piece =
        tail > 0 ? reader->readTail(tail, kLimitMax, start.offset) : reader->read(start.offset, 1);
    piece = emptyWhereNothingWasWritten(std::move(piece), attempt, start.stream);
    const bool may_come = isOpen(attempt.status);  // It has written nothing yet.
    if (!piece.ok() && !(may_come && piece.error().code() == ErrorCode::NotFound)) {
      return failRead(call, piece.error(), attempt.runner_id);
    }
    replyFollowing(call, start);
  });
}

void LogHandlers::failRead(const Call& call, const Error& error, const std::string& runner_id) {
  if (error.code() != ErrorCode::Unavailable && error.code() != ErrorCode::DeadlineExceeded) {
    return call.fail(error);
  }
  call.reply(problem(503, "worker_unreachable",
                     fmt::format("{}; {}", error.message(), lastSeen(runner_id))));
}

std::string LogHandlers::lastSeen(const std::string& runner_id) {
  const auto runners = hosts_.runners();
  if (runners.ok()) {
    for (const master::api::RunnerView& runner : *runners) {
      if (runner.record.runner_id != runner_id) continue;
      return fmt::format("runner {} was last seen at {}", runner_id,
                         formatRfc3339(runner.record.last_seen));
    }
  }
  return fmt::format("runner {} is not known any more", runner_id);
}

}  // namespace baton::webapi
