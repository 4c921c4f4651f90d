#include "worker/http_task.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

#include "net/http_server.h"
#include "net/socket.h"
#include "worker/output_values.h"

namespace baton::worker {
namespace {

using net::HttpRequest;
using net::HttpResponse;

// A real server, and the request as the child of a task would send it.
class HttpTaskTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/baton-http-task-XXXXXX";
    dir_ = mkdtemp(pattern.data());
    setenv("BATON_OUTPUT", (dir_ + "/out").c_str(), 1);
    net::HttpServer::Options options;
    options.host = "127.0.0.1";
    server_ = std::make_unique<net::HttpServer>(
        options, [](std::string_view, std::string_view) { return net::HttpServer::RunOn::Io; },
        [this](const HttpRequest& request, const net::Responder& responder) {
          std::lock_guard lock(mutex_);
          seen_ = request;
          responder.reply(answer_);
        });
    ASSERT_TRUE(server_->start().ok());
  }
  void TearDown() override {
    server_->stop(Micros(0));
    unsetenv("BATON_OUTPUT");
    std::filesystem::remove_all(dir_);
  }
  HttpJob job(const std::string& path = "/x") const {
    HttpJob job{.http = {}, .wait = Millis(10'000)};
    job.http.url = fmt::format("http://127.0.0.1:{}{}", server_->port(), path);
    return job;
  }
  void answer(HttpResponse response) {
    std::lock_guard lock(mutex_);
    answer_ = std::move(response);
  }
  HttpRequest seen() {
    std::lock_guard lock(mutex_);
    return seen_;
  }
  // Standard output of the request; how it ended is in end_.
  std::string run(const HttpJob& job) {
    testing::internal::CaptureStdout();
    end_ = runHttpJob(job);
    return testing::internal::GetCapturedStdout();
  }
  std::map<std::string, std::string> outputs() const {
    std::ifstream in(dir_ + "/out", std::ios::binary);
    return parseOutputValues(std::string(std::istreambuf_iterator<char>(in), {})).values;
  }

  std::string dir_;
  std::mutex mutex_;
  HttpRequest seen_;                                          // Guarded by mutex_.
  HttpResponse answer_ = HttpResponse::text(200, "hello\n");  // Guarded by mutex_.
  std::unique_ptr<net::HttpServer> server_;
  HttpEnd end_;
};

// All of the request arrives; status and body are the output.
TEST_F(HttpTaskTest, SendsTheRequestAndShowsTheAnswer) {
  HttpJob post = job("/a?b=c");
  post.http.method = "POST";
  post.http.body = "{}";
  post.http.headers = {{"Content-Type", "application/json"}, {"user-agent", "mine"}};
  EXPECT_EQ(run(post), "200 OK\n\nhello\n");
  EXPECT_EQ(end_.code, HttpTaskExit::Expected) << end_.text;
  EXPECT_EQ(end_.text, "");
  const HttpRequest got = seen();
  EXPECT_EQ(got.method + got.target + got.body, "POST/a?b=c{}");
  EXPECT_EQ(got.headers.get("Content-Type"), "application/json");
  EXPECT_EQ(got.headers.get("User-Agent"), "mine");
  EXPECT_EQ(got.headers.count("User-Agent"), 1U);
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/out"));
}

// Another status is an error that names both, its body is shown all the same; a redirect is one.
TEST_F(HttpTaskTest, JudgesTheStatus) {
  answer(HttpResponse::text(404, "nothing here"));
  HttpJob get = job();
  EXPECT_EQ(run(get), "404 Not Found\n\nnothing here");
  EXPECT_EQ(end_.code, HttpTaskExit::Unexpected);
  EXPECT_EQ(end_.text,
            fmt::format("GET {} was answered with 404 Not Found, expected 2xx", get.http.url));
  get.http.expect = {"404"};
  run(get);
  EXPECT_EQ(end_.code, HttpTaskExit::Expected);
  HttpResponse redirect = HttpResponse::empty(302);
  redirect.headers.add("Location", "http://127.0.0.1:1/");
  answer(redirect);
  run(job());
  EXPECT_EQ(end_.code, HttpTaskExit::Unexpected);
}

TEST_F(HttpTaskTest, KeepsTheBodyAsAnOutput) {
  HttpJob get = job();
  get.http.capture = "answer";
  run(get);
  EXPECT_EQ(outputs().at("answer"), "hello");
  answer(HttpResponse::text(200, "one=1\n\ntwo\r\n"));
  run(get);
  EXPECT_EQ(outputs().at("answer"), "one=1\n\ntwo");
  EXPECT_EQ(end_.code, HttpTaskExit::Expected) << end_.text;
}

// What could not be kept whole is an error and no half value.
TEST_F(HttpTaskTest, ABodyThatCanNotBeKeptIsAnError) {
  HttpJob get = job();
  get.http.capture = "answer";
  answer(HttpResponse::text(200, std::string(70'000, 'x')));
  EXPECT_EQ(run(get).size(), 70'000U + 8);
  EXPECT_EQ(end_.code, HttpTaskExit::NotKept);
  EXPECT_EQ(end_.text,
            "the body can't be kept as the output answer: it has 70000 bytes, and 65536 are "
            "accepted with the name");
  answer(HttpResponse::text(200, "\xff\xfe"));
  run(get);
  EXPECT_EQ(end_.code, HttpTaskExit::NotKept);
  EXPECT_NE(end_.text.find("not text in UTF-8"), std::string::npos) << end_.text;
  EXPECT_EQ(outputs().size(), 0U);
}

// Nobody listens; somebody listens and says nothing; the address is none.
TEST_F(HttpTaskTest, SaysWhyThereIsNoAnswer) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = net::parseIpLiteral("127.0.0.1", 0);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address->storage), address->length), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address->storage), &address->length),
            0);
  const int port = ntohs(reinterpret_cast<const sockaddr_in*>(&address->storage)->sin_port);
  HttpJob get = job();
  get.http.url = fmt::format("http://127.0.0.1:{}/", port);
  EXPECT_EQ(run(get), "");
  EXPECT_EQ(end_.code, HttpTaskExit::NoAnswer);
  EXPECT_NE(end_.text.find(fmt::format("127.0.0.1:{}", port)), std::string::npos) << end_.text;
  EXPECT_NE(end_.text.find("refused"), std::string::npos) << end_.text;
  ASSERT_EQ(listen(listener, 5), 0);
  get.wait = Millis(50);
  run(get);
  EXPECT_EQ(end_.code, HttpTaskExit::TimeOver);
  EXPECT_EQ(end_.text, fmt::format("127.0.0.1:{} gave no answer within 50ms", port));
  close(listener);
  for (const char* url : {"http://", "http://a b/", "http://u:p@h/", "http://h:99999/"}) {
    get.http.url = url;
    run(get);
    EXPECT_EQ(end_.code, HttpTaskExit::BadRequest) << url;
    EXPECT_NE(end_.text.find(url), std::string::npos) << end_.text;
  }
}

}  // namespace
}  // namespace baton::worker
