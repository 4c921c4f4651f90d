#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>

#include "net/http_server.h"
#include "tests/unit/webapi/web_fixture.h"
#include "webapi/worker_log_reader.h"

namespace baton::webapi::test {
namespace {

// A worker that serves one text as the output of every attempt and notes what it was asked.
class FakeWorker {
 public:
  FakeWorker()
      : server_(
            net::HttpServer::Options(),
            [](std::string_view, std::string_view) { return net::HttpServer::RunOn::Io; },
            [this](const net::HttpRequest& request, const net::Responder& responder) {
              serve(request, responder);
            }) {
    EXPECT_TRUE(server_.start().ok());
  }
  ~FakeWorker() { server_.stop(Micros(0)); }

  std::string address() const { return fmt::format("127.0.0.1:{}", server_.port()); }
  std::vector<net::HttpRequest> asked() {
    std::lock_guard lock(mutex_);
    return asked_;
  }

  void waitAsked(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return asked_.size() >= count; });
  }

  // Set before a request.
  std::string text;
  std::atomic<int> status{200};
  std::atomic<bool> hang{false};

 private:
  void serve(const net::HttpRequest& request, const net::Responder& responder) {
    std::lock_guard lock(mutex_);
    asked_.push_back(request);
    changed_.notify_all();
    if (hang) {
      hung_.push_back(responder);
      return;
    }
    const size_t offset = std::stoull(*request.findQuery("offset"));
    const size_t limit = std::stoull(*request.findQuery("limit"));
    net::HttpResponse response = net::HttpResponse::text(status, "");
    if (status == 200 && offset < text.size()) response.body = text.substr(offset, limit);
    response.headers.add("X-Baton-Log-Size", std::to_string(text.size()));
    response.headers.add("X-Baton-Log-Truncated", "false");
    response.headers.add("X-Baton-Log-Complete", "true");
    responder.reply(std::move(response));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<net::HttpRequest> asked_;
  std::vector<net::Responder> hung_;
  net::HttpServer server_;
};

class LogProxyTest : public WebTest {
 protected:
  void SetUp() override {
    WebServer::Options options;
    options.worker_timeout = Micros(300'000);
    startServer(options);
    worker_.text = "one\ntwo\nthree\n";
    tasks_.tries[7] = {attempt(1), attempt(2)};
    tasks_.tries[8] = {};
  }
  AttemptRecord attempt(int32_t number) const {
    AttemptRecord record;
    record.task_id = 7;
    record.number = number;
    record.runner_id = "h1:0";
    record.worker_address = worker_.address();
    return record;
  }

  FakeWorker worker_;
};

// The newest attempt's stdout is the default, asked with the worker's token.
TEST_F(LogProxyTest, TheNewestAttemptIsShown) {
  const auto response = get("/api/v1/tasks/7/logs");
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.body, "one\ntwo\nthree\n");
  EXPECT_EQ(response.headers.get("X-Baton-Log-Size"), "14");
  EXPECT_EQ(response.headers.get("X-Baton-Log-Truncated"), "false");
  EXPECT_EQ(response.headers.get("X-Baton-Log-Complete"), "true");
  EXPECT_EQ(response.headers.get("X-Baton-Attempt"), "2");
  EXPECT_EQ(response.headers.get("X-Content-Type-Options"), "nosniff");
  const auto asked = worker_.asked();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].target, "/api/v1/attempts/7/2/logs?stream=stdout&offset=0&limit=262144");
  EXPECT_EQ(asked[0].headers.get("Authorization"), std::string("Bearer ").append(kWorkerToken));
}

// Attempt, stream and range are handed on.
TEST_F(LogProxyTest, APieceOfAnAttemptIsShown) {
  const auto response = get("/api/v1/tasks/7/logs?attempt=1&stream=stderr&offset=4&limit=3");
  EXPECT_EQ(response.body, "two");
  EXPECT_EQ(response.headers.get("X-Baton-Log-Offset"), "4");
  EXPECT_EQ(worker_.asked().at(0).target,
            "/api/v1/attempts/7/1/logs?stream=stderr&offset=4&limit=3");
  EXPECT_EQ(get("/api/v1/tasks/7/logs?offset=999").body, "");
}

// The last lines are found from the end, also over several steps.
TEST_F(LogProxyTest, TheTailIsFoundFromTheEnd) {
  EXPECT_EQ(get("/api/v1/tasks/7/logs?tail=2").body, "two\nthree\n");
  EXPECT_EQ(get("/api/v1/tasks/7/logs?tail=99").body, worker_.text);
  worker_.text = "first\n" + std::string(400'000, 'x') + "\nlast";
  const auto response = get("/api/v1/tasks/7/logs?tail=2");
  EXPECT_EQ(response.body.size(), 400'005u);
  EXPECT_EQ(response.headers.get("X-Baton-Log-Offset"), "6");
  worker_.text = std::string(5'000'000, 'x');
  EXPECT_EQ(get("/api/v1/tasks/7/logs?tail=1").body.size(), 1'048'576u);
}

// A whole output of many steps arrives byte for byte.
TEST_F(LogProxyTest, ADownloadIsWhole) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += fmt::format("line {}\n", i);
  worker_.text = text;
  const auto response = get("/api/v1/tasks/7/logs/download");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body.size(), text.size());
  EXPECT_TRUE(response.body == text);
  EXPECT_EQ(response.headers.get("Content-Disposition"),
            "attachment; filename=\"task-7-attempt-2-stdout.log\"");
  for (const auto& asked : worker_.asked()) EXPECT_EQ(*asked.findQuery("limit"), "262144");
  worker_.text.clear();
  EXPECT_EQ(get("/api/v1/tasks/7/logs/download").body, "");
}

// Where there is nothing to show the answer says why.
TEST_F(LogProxyTest, WhatIsNotThereIsNotFound) {
  expectProblem(get("/api/v1/tasks/9/logs"), 404, "not_found");
  expectProblem(get("/api/v1/tasks/8/logs"), 404, "not_found");
  expectProblem(get("/api/v1/tasks/7/logs?attempt=3"), 404, "not_found");
  worker_.status = 404;
  expectProblem(get("/api/v1/tasks/7/logs"), 404, "not_found");
  tasks_.tries[7][1].worker_address.clear();
  expectProblem(get("/api/v1/tasks/7/logs"), 404, "not_found");
}

// When the host is gone the answer says when it was last seen.
TEST_F(LogProxyTest, AGoneHostIsToldWithTheTimeItWasSeen) {
  master::api::RunnerView runner;
  runner.record.runner_id = "h1:0";
  runner.record.last_seen = wallFromMicros(1'700'000'000'000'000);
  hosts_.runner_list = {runner};
  tasks_.tries[7][1].worker_address = "127.0.0.1:1";
  const auto response = get("/api/v1/tasks/7/logs");
  expectProblem(response, 503, "worker_unreachable");
  EXPECT_NE(response.body.find("last seen at 2023-11-14T22:13:20Z"), std::string::npos);
  expectProblem(get("/api/v1/tasks/7/logs/download"), 503, "worker_unreachable");
  worker_.status = 401;
  tasks_.tries[7][1].worker_address = worker_.address();
  expectProblem(get("/api/v1/tasks/7/logs"), 503, "worker_unreachable");
}

// A worker that takes requests and never answers costs its deadline and nobody else anything.
TEST_F(LogProxyTest, AHangingWorkerHoldsUpNobodyElse) {
  worker_.hang = true;
  std::vector<std::future<int>> waiting;
  const uint16_t port = server_->port();
  for (int i = 0; i < 6; ++i) {
    waiting.push_back(std::async(std::launch::async, [port] {
      net::HttpClient client;
      net::HttpRequest request;
      request.target = "/api/v1/tasks/7/logs";
      request.headers.add("Authorization", std::string("Bearer ").append(kClientToken));
      const auto response =
          client.send({.host = "127.0.0.1", .port = port}, request, Micros(10'000'000));
      return response.ok() ? response->status : 0;
    }));
  }
  EXPECT_EQ(get("/api/v1/tasks/7/attempts").status, 200);
  for (auto& status : waiting) EXPECT_EQ(status.get(), 503);
}

// A stop does not wait for a worker that hangs longer than for one deadline; nobody is left without
// an answer.
TEST_F(LogProxyTest, AStopIsNotHeldUpByAHangingWorker) {
  worker_.hang = true;
  std::vector<std::future<bool>> waiting;
  const uint16_t port = server_->port();
  for (int i = 0; i < 40; ++i) {
    waiting.push_back(std::async(std::launch::async, [port] {
      net::HttpClient client;
      net::HttpRequest request;
      request.target = "/api/v1/tasks/7/logs?tail=5";
      request.headers.add("Authorization", std::string("Bearer ").append(kClientToken));
      const auto response =
          client.send({.host = "127.0.0.1", .port = port}, request, Micros(10'000'000));
      return !response.ok() || response->status == 503;
    }));
  }
  worker_.waitAsked(1);
  const SystemClock clock;
  const BootTime begun = clock.bootNow();
  server_->stop();
  // 40 requests on 4 threads would take 10 deadlines of 0.3 s one after the other.
  EXPECT_LT((clock.bootNow() - begun).count(), 2'500'000);
  for (auto& refused : waiting) EXPECT_TRUE(refused.get());
}

// No spelling of a path or parameter reaches a worker as anything but numbers and two words.
TEST_F(LogProxyTest, PathsCanNotBeSmuggledToTheWorker) {
  for (const char* target :
       {"/api/v1/tasks/../../etc/passwd/logs", "/api/v1/tasks/%2e%2e%2f%2e%2e/logs",
        "/api/v1/tasks/..%5c..%5c7/logs", "/api/v1/tasks/7%2f..%2f8/logs",
        "/api/v1/tasks/%2fetc%2fpasswd/logs", "/api/v1/tasks/../logs",
        "/api/v1/tasks/7/logs?attempt=../1", "/api/v1/tasks/7/logs?attempt=1%2f..",
        "/api/v1/tasks/7/logs?stream=../../etc/passwd", "/api/v1/tasks/7/logs?stream=stdout%26x",
        "/api/v1/tasks/7/logs?stream=%2e%2e%2f", "/api/v1/tasks/7/logs?offset=0%26limit%3d9",
        "/api/v1/tasks/7/logs?path=/etc/passwd", "/api/v1/tasks/7%00/logs",
        "/api/v1/tasks/7/logs/../download", "/api/v1/tasks/7/logs/download?attempt=-1"}) {
    const int status = get(target).status;
    EXPECT_TRUE(status == 400 || status == 404) << target << " gave " << status;
  }
  EXPECT_TRUE(worker_.asked().empty());
}

// Ranges that make no sense, and what this version can't do, are refused by name.
TEST_F(LogProxyTest, BadRangesAreRefused) {
  const std::vector<std::pair<const char*, const char*>> bad = {
      {"offset=-1", "offset"},
      {"offset=x", "offset"},
      {"limit=0", "limit"},
      {"limit=1048577", "limit"},
      {"tail=0", "tail"},
      {"tail=10001", "tail"},
      {"tail=1&offset=0", "tail"},
      {"attempt=0", "attempt"},
      {"attempt=99999999999", "attempt"},
      {"stream=both", "stream"},
      {"follow=maybe", "follow"},
      {"follow=true&limit=5", "limit"},
      {"follow=true&tail=2&offset=1", "tail"}};
  for (const auto& [query, field] : bad) {
    SCOPED_TRACE(query);
    expectProblem(get(std::string("/api/v1/tasks/7/logs?").append(query)), 400, "invalid_argument",
                  field);
  }
  EXPECT_TRUE(worker_.asked().empty());
}

// What has ended is given whole, from a byte on or its last lines, and the answer ends.
TEST_F(LogProxyTest, AnEndedTaskIsFollowedToItsEnd) {
  for (AttemptRecord& record : tasks_.tries[7]) record.status = AttemptStatus::Finished;
  tasks_.known[7].record.state.status = TaskStatus::Finished;
  const auto whole = get("/api/v1/tasks/7/logs?follow=true");
  EXPECT_EQ(whole.status, 200) << whole.body;
  EXPECT_EQ(whole.body, "one\ntwo\nthree\n");
  EXPECT_EQ(whole.headers.get("X-Baton-Attempt"), "2");
  EXPECT_EQ(whole.headers.get("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(get("/api/v1/tasks/7/logs?follow=true&offset=8").body, "three\n");
  const auto tail = get("/api/v1/tasks/7/logs?follow=true&tail=2");
  EXPECT_EQ(tail.body, "two\nthree\n");
  EXPECT_EQ(tail.headers.get("X-Baton-Log-Offset"), "4");
  EXPECT_EQ(get("/api/v1/tasks/7/logs?follow=true&attempt=1").body, "one\ntwo\nthree\n");
  expectProblem(get("/api/v1/tasks/7/logs?follow=true&attempt=3"), 404, "not_found");
  expectProblem(get("/api/v1/tasks/9/logs?follow=true"), 404, "not_found");
  // Nothing has been tried yet, and nothing will be.
  tasks_.known[8].record.state.status = TaskStatus::Terminated;
  const auto none = get("/api/v1/tasks/8/logs?follow=true");
  EXPECT_EQ(none.status, 200);
  EXPECT_EQ(none.body, "");
  expectProblem(get("/api/v1/tasks/8/logs?follow=true&offset=5"), 400, "invalid_argument",
                "offset");
  worker_.status = 404;
  tasks_.tries[7][1].stdout_bytes = 14;
  expectProblem(get("/api/v1/tasks/7/logs?follow=true"), 404, "not_found");
}

// A row with an address that is none is our fault; nothing is called.
TEST_F(LogProxyTest, AnAddressThatIsNoneIsNotCalled) {
  for (const char* address : {"host:80/x", "user@host:80", "host:80?x", "host:99999", "a b:80"}) {
    tasks_.tries[7][1].worker_address = address;
    expectProblem(get("/api/v1/tasks/7/logs"), 500, "internal");
  }
}

// The end of the text may or may not have a line break.
TEST(TailBeginTest, LinesAreCountedFromTheEnd) {
  EXPECT_EQ(tailBegin("a\nb\nc", 1), 4u);
  EXPECT_EQ(tailBegin("a\nb\nc\n", 1), 4u);
  EXPECT_EQ(tailBegin("a\nb\nc\n", 3), 0u);
  EXPECT_EQ(tailBegin("a\nb\nc\n", 2), 2u);
  EXPECT_EQ(tailBegin("a\n\n", 1), 2u);
  EXPECT_EQ(tailBegin("", 1), 0u);
  EXPECT_EQ(tailBegin("\n", 1), 0u);
}

}  // namespace
}  // namespace baton::webapi::test
