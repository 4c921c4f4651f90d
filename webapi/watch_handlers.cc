#include "webapi/watch_handlers.h"

#include <algorithm>

#include "webapi/query_reader.h"
#include "webapi/watch_json.h"
#include "webapi/watch_standing.h"

namespace baton::webapi {
namespace {

using master::api::WatchEvent;
using master::api::WatchFilter;
using master::api::WatchPort;
using master::api::WatchPosition;

constexpr size_t kPieceBytesMax = 32 * 1024;
constexpr size_t kEventsOfPiece = 64;
constexpr Millis kIdleRound{1'000};

Result<WatchFilter> readWatchFilter(const net::HttpRequest& request) {
  constexpr std::pair<std::string_view, WatchEvent::Kind> kKinds[] = {
      {"task", WatchEvent::Kind::Task},
      {"run", WatchEvent::Kind::Run},
      {"flow", WatchEvent::Kind::Flow}};
  WatchFilter filter;
  std::vector<std::string> kinds;
  std::string task;
  std::string run;
  QueryReader reader(request);
  reader.words("kind", kinds).text("task", task).text("run", run).text("flow", filter.flow);
  for (const std::string& word : kinds) {
    const auto* known = std::find_if(std::begin(kKinds), std::end(kKinds),
                                     [&](const auto& kind) { return kind.first == word; });
    if (known == std::end(kKinds)) {
      reader.fail("kind",
                  fmt::format("\"{}\" is not one of task, run, flow", truncateUtf8(word, 40)));
      break;
    }
    filter.kinds.push_back(known->second);
  }
  const auto id = [&](std::string_view name, const std::string& text, uint64_t& out) {
    if (text.empty()) return;
    const auto number = parseTaskId(text);
    if (!number) {
      reader.fail(name, fmt::format("is \"{}\", expected an id", truncateUtf8(text, 40)));
    }
    out = number.value_or(0);
  };
  id("task", task, filter.task);
  id("run", run, filter.run);
  filter.flow = nameKey(filter.flow);
  RETURN_IF_ERROR(reader.finish());
  return filter;
}

// Where the watcher was when it lost the stream: the field, or a parameter for who can't set one.
Result<std::optional<WatchPosition>> readLastEvent(const net::HttpRequest& request) {
  std::string text(request.headers.get("Last-Event-ID"));
  std::string field = "Last-Event-ID";
  if (const std::string* param = request.findQuery("last_event_id"); param != nullptr) {
    text = *param;
    field = "last_event_id";
  }
  if (text.empty()) return std::optional<WatchPosition>();
  const auto at = parseWatchId(text);
  if (!at.ok()) return Error(ErrorCode::InvalidArgument, at.error().message(), field);
  return std::optional(*at);
}

// What ends or resets a stream, in words that clients compare.
std::string_view reasonOf(WatchPort::Look::End end) {
  switch (end) {
    case WatchPort::Look::End::Left:
      return "not_active";
    case WatchPort::Look::End::Lost:
      return "too_far_behind";
    case WatchPort::Look::End::Takeover:
      return "takeover";
    case WatchPort::Look::End::Open:
      break;
  }
  return "";
}

}  // namespace

// Belongs to one thread at a time: that which runs the connection's source, then, while `done` is
// set and it stands among the waiting, the one of the handlers.
struct WatchHandlers::Watcher {
  WatchFilter filter;
  WatchPosition at;
  std::string first;    // To be sent before anything else.
  bool ended = false;   // Its last words have been given.
  BootTime heard_at{};  // When it got something.
  net::BodyDone done;   // Set: it waits.
  std::atomic<bool> gone{false};
};

WatchHandlers::WatchHandlers(WatchPort& watch, master::api::TaskPort& tasks,
                             master::api::RunPort& runs, Options options)
    : watch_(watch), tasks_(tasks), runs_(runs), options_(options) {
  watch_.setNews([this] { onNews(); });
  thread_ = NamedThread("web-watch", [this](const std::stop_token&) { run(); });
}

WatchHandlers::~WatchHandlers() {
  watch_.setNews({});
  beginStop();
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.requestStopAndJoin();
}

void WatchHandlers::bindTo(Router& router) {
  router.bind("watch", [this](const Call& call) { open(call); });
}

void WatchHandlers::open(const Call& call) {
  auto filter = readWatchFilter(call.request());
  if (!filter.ok()) return call.fail(filter.error());
  const auto last = readLastEvent(call.request());
  if (!last.ok()) return call.fail(last.error());
  const auto newest = watch_.newest();
  if (!newest.ok()) return call.fail(newest.error());
  const auto watcher = std::make_shared<Watcher>();
  watcher->filter = std::move(*filter);
  watcher->at = last->value_or(*newest);
  watcher->heard_at = clock_.bootNow();
  // Counts for as long as the connection keeps the source.
  if (open_->fetch_add(1) >= options_.watchers_max) {
    open_->fetch_sub(1);
    return call.fail(Error::make(ErrorCode::Overloaded,
                                 "{} watchers are here already, which is "
                                 "the most that are served",
                                 options_.watchers_max));
  }
  const std::shared_ptr<void> registered(nullptr, [count = open_, watcher](void*) {
    watcher->gone = true;
    count->fetch_sub(1);
  });
  // Behind the count: it may have to read from the database.
  watcher->first = beginning(*watcher, last->has_value(), *newest);
  net::HttpResponse response;
  response.content_type = "text/event-stream";
  response.headers.add("Cache-Control", "no-store");
  response.headers.add("X-Accel-Buffering", "no");  // Proxies shall not gather it.
  response.source = [this, watcher, registered](size_t, net::BodyDone done) {
    next(watcher, std::move(done));
  };
  call.reply(std::move(response));
}

std::string WatchHandlers::beginning(Watcher& watcher, bool resumes, const WatchPosition& newest) {
  // A look that wants nothing tells whether the stream can go on from there.
  WatchPosition probe = watcher.at;
  const auto end = watch_.look(watcher.filter, probe, 0).end;
  const Json ready = {{"resumed", resumes}};
  std::string text = "retry: 1000\n";
  if (end != WatchPort::Look::End::Lost && end != WatchPort::Look::End::Takeover) {
    return text + watchBlock(watcher.at, "ready", ready);
  }
  // `newest` was read before: what changes meanwhile is told again behind it. The id comes last,
  // so that who loses the stream in between gets all of it once more.
  watcher.at = newest;
  if (const auto standing = standingText(watcher.filter, tasks_, runs_)) {
    return text + unplacedBlock("ready", ready) + *standing +
           fmt::format("id: {}\n: as it stands now\n\n", watchId(newest));
  }
  return text + watchBlock(newest, "reset", {{"reason", reasonOf(end)}});
}

void WatchHandlers::next(const WatcherRef& watcher, net::BodyDone done) {
  std::string piece = fetch(*watcher);
  if (!piece.empty() || watcher->ended) return done(std::move(piece));
  std::unique_lock lock(mutex_);
  if (stopping_) {
    lock.unlock();
    watcher->done = std::move(done);
    return sayGoodbye({watcher});
  }
  watcher->done = std::move(done);
  waiting_.push_back(watcher);
  waited_for_ = true;
  // Something may have come since it looked.
  news_ = true;
  changed_.notify_all();
}

std::string WatchHandlers::fetch(Watcher& watcher) {
  std::string piece;
  if (watcher.ended) return piece;
  piece.swap(watcher.first);
  while (piece.size() < kPieceBytesMax) {
    const auto look = watch_.look(watcher.filter, watcher.at, kEventsOfPiece);
    for (const auto& event : look.events) piece += event->text(watchText);
    if (look.end == WatchPort::Look::End::Open && look.more) continue;
    if (look.end == WatchPort::Look::End::Open) break;
    watcher.ended = true;
    if (look.end == WatchPort::Look::End::Left) {
      piece += watchBlock(watcher.at, "end", {{"reason", reasonOf(look.end)}});
    } else if (const auto newest = watch_.newest(); newest.ok()) {
      // Too slow, or another term has begun: it comes back behind what is new by now.
      piece += watchBlock(*newest, "reset", {{"reason", reasonOf(look.end)}});
    }
    break;
  }
  if (!piece.empty()) watcher.heard_at = clock_.bootNow();
  return piece;
}

void WatchHandlers::onNews() {
  if (!waited_for_.load(std::memory_order_relaxed)) return;
  {
    std::lock_guard lock(mutex_);
    news_ = true;
  }
  changed_.notify_all();
}

void WatchHandlers::run() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      const auto awake = [&] { return news_ || ending_; };
      if (waiting_.empty()) {
        changed_.wait(lock, awake);
      } else {
        changed_.wait_for(lock, kIdleRound, awake);
      }
      if (ending_) return;
      news_ = false;
    }
    serveRound();
    // What comes in a burst is sent in one piece.
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, options_.round_min, [this] { return ending_; });
  }
}

void WatchHandlers::serveRound() {
  std::vector<WatcherRef> watchers;
  {
    std::lock_guard lock(mutex_);
    watchers.swap(waiting_);
  }
  std::vector<WatcherRef> still;
  for (WatcherRef& watcher : watchers) {
    if (watcher->gone) {
      watcher->done = {};
      continue;
    }
    std::string piece = fetch(*watcher);
    if (piece.empty() && !watcher->ended &&
        clock_.bootNow() - watcher->heard_at >= options_.heartbeat) {
      // With its place: who wants little can still go on from here after a long time.
      piece = fmt::format("id: {}\n: heartbeat\n\n", watchId(watcher->at));
      watcher->heard_at = clock_.bootNow();
    }
    if (piece.empty() && !watcher->ended) {
      still.push_back(std::move(watcher));
      continue;
    }
    // From the call on it may belong to another thread.
    const net::BodyDone done = std::exchange(watcher->done, {});
    done(std::move(piece));
  }
  {
    std::lock_guard lock(mutex_);
    if (!stopping_) {
      waiting_.insert(waiting_.end(), std::make_move_iterator(still.begin()),
                      std::make_move_iterator(still.end()));
      still.clear();
    }
    waited_for_ = !waiting_.empty();
  }
  sayGoodbye(still);
}

void WatchHandlers::beginStop() noexcept {
  std::vector<WatcherRef> watchers;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    watchers.swap(waiting_);
  }
  sayGoodbye(watchers);
}

void WatchHandlers::sayGoodbye(const std::vector<WatcherRef>& watchers) {
  for (const WatcherRef& watcher : watchers) {
    const net::BodyDone done = std::exchange(watcher->done, {});
    watcher->ended = true;
    done(watchBlock(watcher->at, "end", {{"reason", "stopping"}}));
  }
}

}  // namespace baton::webapi
