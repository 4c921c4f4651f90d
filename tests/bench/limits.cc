#include "tests/bench/limits.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "net/async_http_client.h"
#include "net/http_server.h"

namespace baton::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr auto kSpan = std::chrono::milliseconds(1'500);
constexpr int kHttpConnections = 16;

double secondsSince(SteadyClock::time_point began) {
  return std::chrono::duration<double>(SteadyClock::now() - began).count();
}

// A client that asks again as soon as it was answered.
struct Asker {
  Asker(net::EventLoop& loop, net::Resolver& resolver, uint16_t port, uint64_t& answers)
      : answered(answers), connection(loop, resolver, {.host = "127.0.0.1", .port = port}) {}
  void ask() {
    net::AsyncHttpConnection::Call call;
    call.request.target = "/";
    call.timeout = Seconds(5);
    connection.request(std::move(call), [this](const Result<net::HttpResponse>& answer) {
      if (!answer.ok()) return;
      ++answered;
      ask();
    });
  }
  uint64_t& answered;
  net::AsyncHttpConnection connection;
};

}  // namespace

double measureSpawnRate(int threads) {
  std::atomic<uint64_t> spawned{0};
  const auto began = SteadyClock::now();
  {
    std::vector<std::jthread> pool;
    for (int i = 0; i < threads; ++i) {
      pool.emplace_back([&spawned, began] {
        char path[] = "/bin/true";
        char* const argv[] = {path, nullptr};
        while (SteadyClock::now() - began < kSpan) {
          pid_t child = 0;
          if (posix_spawn(&child, path, nullptr, nullptr, argv, environ) != 0) return;
          waitpid(child, nullptr, 0);
          ++spawned;
        }
      });
    }
  }
  return static_cast<double>(spawned) / secondsSince(began);
}

Result<CommitLimit> measureCommits(dao::SqlSession& session) {
  RETURN_IF_ERROR(
      session
          .execute("CREATE TABLE IF NOT EXISTS bench_commit (id BIGINT UNSIGNED NOT "
                   "NULL PRIMARY KEY, value BIGINT NOT NULL, text VARCHAR(128) NOT NULL)")
          .status());
  CommitLimit limit;
  std::vector<double> times;
  const auto began = SteadyClock::now();
  for (uint64_t i = 1; SteadyClock::now() - began < kSpan; ++i) {
    const auto start = SteadyClock::now();
    RETURN_IF_ERROR(session
                        .execute("INSERT INTO bench_commit VALUES(?,?,'a commit') "
                                 "ON DUPLICATE KEY UPDATE value=VALUES(value)",
                                 {i, int64_t{1}})
                        .status());
    times.push_back(secondsSince(start) * 1e3);
  }
  limit.per_second = static_cast<double>(times.size()) / secondsSince(began);
  limit.p50_ms = quantile(times, 0.5);
  limit.p99_ms = quantile(times, 0.99);
  static const dao::BatchForm form{.kind = dao::BatchForm::Kind::Upsert,
                                   .noun = "row",
                                   .table = "bench_commit",
                                   .columns = {"id", "value", "text"}};
  uint64_t rows = 0;
  const auto rows_began = SteadyClock::now();
  while (SteadyClock::now() - rows_began < kSpan) {
    const auto batch = session.batch(form);
    for (int i = 0; i < 1'000; ++i) {
      batch->natural(1'000'000 + ++rows).integer(2).text("a row of a multi-row upsert");
      RETURN_IF_ERROR(batch->endRow({.id = rows}));
    }
    RETURN_IF_ERROR(batch->finish());
  }
  limit.rows_per_second = static_cast<double>(rows) / secondsSince(rows_began);
  RETURN_IF_ERROR(session.execute("DROP TABLE bench_commit").status());
  return limit;
}

Result<double> measureEmptyHandler() {
  net::HttpServer server(
      {}, [](std::string_view, std::string_view) { return net::HttpServer::RunOn::Io; },
      [](const net::HttpRequest&, const net::Responder& responder) {
        responder.reply(net::HttpResponse::text(200, "ok"));
      });
  RETURN_IF_ERROR(server.start());
  ASSIGN_OR_RETURN(const auto loop, net::EventLoop::create());
  net::Resolver resolver;
  uint64_t answered = 0;
  std::vector<std::unique_ptr<Asker>> askers;
  for (int i = 0; i < kHttpConnections; ++i) {
    askers.push_back(std::make_unique<Asker>(*loop, resolver, server.port(), answered));
    askers.back()->ask();
  }
  loop->callAfter(Micros(kSpan), [&loop] { loop->stop(); });
  const auto began = SteadyClock::now();
  loop->run({});
  const double rate = static_cast<double>(answered) / secondsSince(began);
  askers.clear();
  server.stop(Micros(0));
  return rate;
}

Status addLimits(dao::SqlSession* session, Report& report) {
  report.add({.name = "limit.spawn_1_thread", .value = measureSpawnRate(1), .unit = "1/s"});
  report.add({.name = "limit.spawn_2_threads", .value = measureSpawnRate(2), .unit = "1/s"});
  ASSIGN_OR_RETURN(const double http, measureEmptyHandler());
  report.add({.name = "limit.empty_handler",
              .value = http,
              .unit = "1/s",
              .note = "own front, 16 connections, client in the same process"});
  if (session == nullptr) return {};
  ASSIGN_OR_RETURN(const CommitLimit commits, measureCommits(*session));
  report.add({.name = "limit.commits", .value = commits.per_second, .unit = "1/s"});
  report.add({.name = "limit.commit_p50", .value = commits.p50_ms, .unit = "ms"});
  report.add({.name = "limit.commit_p99", .value = commits.p99_ms, .unit = "ms"});
  report.add({.name = "limit.upsert_rows",
              .value = commits.rows_per_second,
              .unit = "rows/s",
              .note = "1,000 a statement through baton's data layer"});
  return {};
}

}  // namespace baton::bench
