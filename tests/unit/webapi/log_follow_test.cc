#include "webapi/log_follow.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <map>

#include "net/http_server.h"

namespace baton::webapi::test {
namespace {

constexpr std::chrono::seconds kFollowPatience{10};

// A worker whose attempts write while they are read.
class WritingWorker {
 public:
  WritingWorker()
      : server_(
            net::HttpServer::Options(),
            [](std::string_view, std::string_view) { return net::HttpServer::RunOn::Io; },
            [this](const net::HttpRequest& request, const net::Responder& responder) {
              serve(request, responder);
            }) {
    EXPECT_TRUE(server_.start().ok());
  }
  ~WritingWorker() { server_.stop(Micros(0)); }

  std::string address() const { return fmt::format("127.0.0.1:{}", server_.port()); }
  void write(int32_t attempt, const std::string& text) {
    std::lock_guard lock(mutex_);
    texts_[std::to_string(attempt)] += text;
  }
  void setBroken(bool broken) {
    std::lock_guard lock(mutex_);
    broken_ = broken;
  }
  // Waits for so many more questions.
  bool waitAsked(size_t more) {
    std::unique_lock lock(mutex_);
    const size_t wanted = asked_ + more;
    return changed_.wait_for(lock, kFollowPatience, [&] { return asked_ >= wanted; });
  }

 private:
  void serve(const net::HttpRequest& request, const net::Responder& responder) {
    std::lock_guard lock(mutex_);
    ++asked_;
    changed_.notify_all();
    if (broken_) return responder.reply(net::HttpResponse::text(500, ""));
    // /api/v1/attempts/TASK/ATTEMPT/logs
    const std::string& path = request.path;
    const size_t end = path.rfind('/');
    const size_t begin = path.rfind('/', end - 1) + 1;
    const auto text = texts_.find(path.substr(begin, end - begin));
    if (text == texts_.end()) return responder.reply(net::HttpResponse::text(404, ""));
    const size_t offset = std::stoull(*request.findQuery("offset"));
    const size_t limit = std::stoull(*request.findQuery("limit"));
    net::HttpResponse response = net::HttpResponse::text(200, "");
    if (offset < text->second.size()) response.body = text->second.substr(offset, limit);
    response.headers.add("X-Baton-Log-Size", std::to_string(text->second.size()));
    responder.reply(std::move(response));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> texts_;
  size_t asked_ = 0;
  bool broken_ = false;
  net::HttpServer server_;
};

// One task that goes on while others look at it.
class LiveTask final : public master::api::TaskPort {
 public:
  void submit(master::api::Submission, master::api::Callback<master::api::SubmitAnswer>) override {}
  void command(TaskId, master::api::TaskCommand, bool, master::api::Request,
               master::api::Callback<master::api::TaskView>) override {}
  Result<master::api::TaskListView> tasks(const master::api::TaskListQuery&) override {
    return master::api::TaskListView{};
  }
  Result<master::api::TaskView> task(TaskId) override {
    std::lock_guard lock(mutex_);
    if (failure_) return *failure_;
    master::api::TaskView view;
    view.record.state.status = status_;
    return view;
  }
  Result<std::vector<AttemptRecord>> attempts(TaskId) override {
    std::lock_guard lock(mutex_);
    if (failure_) return *failure_;
    return attempts_;
  }

  void begin(int32_t number, const std::string& address) {
    std::lock_guard lock(mutex_);
    AttemptRecord attempt;
    attempt.task_id = 7;
    attempt.number = number;
    attempt.status = AttemptStatus::Running;
    attempt.worker_address = address;
    attempts_.push_back(attempt);
    status_ = TaskStatus::Running;
  }
  void end(TaskStatus status) {
    std::lock_guard lock(mutex_);
    if (!attempts_.empty()) attempts_.back().status = AttemptStatus::Failed;
    status_ = status;
  }
  void fail(ErrorCode code) {
    std::lock_guard lock(mutex_);
    failure_ = Error(code, "");
  }

 private:
  std::mutex mutex_;
  TaskStatus status_ = TaskStatus::Queued;
  std::vector<AttemptRecord> attempts_;
  std::optional<Error> failure_;
};

class LogFollowTest : public testing::Test {
 protected:
  void TearDown() override { follower_.stop(); }

  static LogFollower::Options options() {
    LogFollower::Options options;
    options.worker_timeout = Micros(2'000'000);
    options.followers_max = 2;
    options.pause_min = Millis(1);
    options.pause_max = Millis(5);
    return options;
  }
  void follow(FollowStart start = {}) {
    start.task = 7;
    start.stream = "stdout";
    auto source = follower_.follow(start);
    ASSERT_TRUE(source.ok()) << source.status().text();
    source_ = std::move(*source);
  }
  // Asks for the next piece; the future is broken if the body was cut.
  std::future<std::string> ask() {
    const auto piece = std::make_shared<std::promise<std::string>>();
    auto future = piece->get_future();
    source_(64 * 1024,
            [piece](Result<std::string> got) { piece->set_value(got.ok() ? *got : "!"); });
    return future;
  }
  static std::string wait(std::future<std::string> piece) {
    if (piece.wait_for(kFollowPatience) != std::future_status::ready) return "(nothing came)";
    try {
      return piece.get();
    } catch (const std::future_error&) {
      return "(cut)";
    }
  }
  std::string pull() { return wait(ask()); }

  WritingWorker worker_;
  LiveTask task_;
  LogFollower follower_{task_, options()};
  net::BodySource source_;
};

// From before the first attempt, over a retry, to the end of the task: every byte once.
TEST_F(LogFollowTest, ATaskIsFollowedOverItsAttempts) {
  follow();
  auto waits = ask();
  task_.begin(1, worker_.address());
  ASSERT_TRUE(worker_.waitAsked(2));  // It has no output yet, and is asked again.
  worker_.write(1, "ab");
  EXPECT_EQ(wait(std::move(waits)), "ab");
  waits = ask();
  worker_.write(1, "cd");
  EXPECT_EQ(wait(std::move(waits)), "cd");
  worker_.write(1, "last");
  task_.end(TaskStatus::Retrying);
  EXPECT_EQ(pull(), "last");
  waits = ask();
  worker_.write(2, "xy");
  task_.begin(2, worker_.address());
  EXPECT_EQ(wait(std::move(waits)), "xy");
  waits = ask();
  worker_.write(2, "z");
  EXPECT_EQ(wait(std::move(waits)), "z");
  task_.end(TaskStatus::Finished);
  EXPECT_EQ(pull(), "");
}

// A named attempt is followed alone, from a byte on: what a client does that lost the stream.
TEST_F(LogFollowTest, OneAttemptIsFollowedFromAByteOn) {
  worker_.write(1, "abcdef");
  task_.begin(1, worker_.address());
  follow({.attempt = 1, .only = true, .offset = 4});
  EXPECT_EQ(pull(), "ef");
  auto waits = ask();
  worker_.write(1, "g");
  EXPECT_EQ(wait(std::move(waits)), "g");
  task_.end(TaskStatus::Retrying);
  EXPECT_EQ(pull(), "");
}

// A task without any attempt ends the stream too, and so does one whose outputs are gone.
TEST_F(LogFollowTest, TheEndComesWithoutOutput) {
  follow();
  auto waits = ask();
  task_.end(TaskStatus::Terminated);
  EXPECT_EQ(wait(std::move(waits)), "");
  task_.begin(1, worker_.address());
  task_.end(TaskStatus::Failed);
  follow({.attempt = 1});
  EXPECT_EQ(pull(), "");
}

// While the task lives, a worker that is away is waited for; afterwards the stream is cut, so that
// nobody takes a part for the whole.
TEST_F(LogFollowTest, AWorkerThatIsAwayIsWaitedForOnlyWhileTheTaskLives) {
  worker_.write(1, "ab");
  task_.begin(1, worker_.address());
  worker_.setBroken(true);
  follow({.attempt = 1});
  auto waits = ask();
  ASSERT_TRUE(worker_.waitAsked(2));
  worker_.setBroken(false);
  EXPECT_EQ(wait(std::move(waits)), "ab");
  worker_.setBroken(true);
  waits = ask();
  ASSERT_TRUE(worker_.waitAsked(2));
  task_.end(TaskStatus::Failed);
  EXPECT_EQ(wait(std::move(waits)), "(cut)");
}

// A master that leads no more, or stops, cuts: the client goes on with another one.
TEST_F(LogFollowTest, AMasterThatLeavesCutsTheStream) {
  worker_.write(1, "ab");
  task_.begin(1, worker_.address());
  follow({.attempt = 1});
  EXPECT_EQ(pull(), "ab");
  auto waits = ask();
  task_.fail(ErrorCode::NotActive);
  EXPECT_EQ(wait(std::move(waits)), "(cut)");
}

TEST_F(LogFollowTest, StoppingCutsAllAtOnce) {
  task_.begin(1, worker_.address());
  follow({.attempt = 1});
  auto waits = ask();
  follower_.stop();
  EXPECT_EQ(wait(std::move(waits)), "(cut)");
  EXPECT_EQ(pull(), "(cut)");
}

// There is a bound, and who has gone counts no more.
TEST_F(LogFollowTest, FollowersAreBounded) {
  follow();
  net::BodySource first = std::move(source_);
  follow();
  const auto third = follower_.follow({.task = 7});
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().code(), ErrorCode::Overloaded);
  first = {};
  EXPECT_TRUE(follower_.follow({.task = 7}).ok());
}

}  // namespace
}  // namespace baton::webapi::test
