#pragma once

#include <stdlib.h>

#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "common/base/json.h"
#include "net/http_server.h"
#include "tests/support/fake_clock.h"

namespace baton::cli {

// A master on a real socket that answers from a table of "METHOD path" to answers; of several
// answers each is given once, the last one for ever. And a command line that talks to it.
class FakeCluster {
 public:
  struct Answer {
    int status = 200;
    std::string body;
    std::string log_size{};  // X-Baton-Log-Size; empty: none.
    std::string problem{};   // Whole body of a refusal; empty: one with `body` as its code.
    std::string etag{};      // ETag; empty: none.
    bool cut = false;        // The connection is cut behind the body.
  };

  FakeCluster()
      : server_(
            net::HttpServer::Options(),
            [](std::string_view, std::string_view) { return net::HttpServer::RunOn::Io; },
            [this](net::HttpRequest request, net::Responder responder) {
              responder.reply(answerTo(std::move(request)));
            }) {
    const Status started = server_.start();
    CHECK(started.ok());
    for (const char* name : {"BATON_OUTPUT_FORMAT", "BATON_CLIENT_CONFIG"}) ::unsetenv(name);
    ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    ::setenv("XDG_STATE_HOME", "/nonexistent", 1);
    ::setenv("BATON_MASTERS", fmt::format("127.0.0.1:{}", server_.port()).c_str(), 1);
    ::setenv("BATON_TOKEN", "token-of-the-test", 1);
  }
  ~FakeCluster() { server_.stop(Micros(0)); }

  void on(const std::string& call, std::vector<Answer> answers) {
    const std::lock_guard lock(mutex_);
    answers_[call] = std::move(answers);
  }
  void on(const std::string& call, const std::string& body) { on(call, {Answer{200, body}}); }

  std::string address() const { return fmt::format("127.0.0.1:{}", server_.port()); }

  std::vector<net::HttpRequest> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  // Runs a command line; pauses move the clock instead of waiting.
  int run(const std::vector<std::string>& arguments, const std::string& input = {},
          const Programs& programs = {}) {
    std::istringstream in(input);
    out.str("");
    err.str("");
    Surroundings surroundings{
        in, out, err, clock, [this](Millis pause) { clock.advance(pause); }, terminal, reader_gone};
    return cli::run(arguments, programs, surroundings);
  }

  bool terminal = false;
  std::function<bool()> reader_gone;
  test::FakeClock clock;
  std::ostringstream out;
  std::ostringstream err;

 private:
  net::HttpResponse answerTo(net::HttpRequest request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    const auto it = answers_.find(request.method + " " + request.path);
    if (it == answers_.end()) return net::HttpResponse::problem(404, "not_found", "no such thing");
    Answer answer = it->second.front();
    if (it->second.size() > 1) it->second.erase(it->second.begin());
    if (!answer.problem.empty()) return net::HttpResponse::json(answer.status, answer.problem);
    if (answer.status >= 400) {
      return net::HttpResponse::problem(answer.status, answer.body, "refused: " + answer.body);
    }
    net::HttpResponse response = net::HttpResponse::json(answer.status, answer.body);
    if (!answer.log_size.empty()) response.headers.add("X-Baton-Log-Size", answer.log_size);
    if (!answer.etag.empty()) response.headers.add("ETag", answer.etag);
    if (answer.cut) {
      // Where nobody calls `done` the server gives up.
      response.source = [body = answer.body](size_t, net::BodyDone done) mutable {
        if (!body.empty()) done(std::exchange(body, {}));
      };
    }
    return response;
  }

  net::HttpServer server_;
  std::mutex mutex_;
  std::map<std::string, std::vector<Answer>> answers_;  // Guarded by mutex_.
  std::vector<net::HttpRequest> requests_;              // Guarded by mutex_.
};

}  // namespace baton::cli
