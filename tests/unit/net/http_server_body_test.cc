#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "tests/unit/net/net_fixture.h"

namespace baton::net {
namespace {

size_t residentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t pages = 0;
  statm >> pages >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// What strangers and friends may make the server keep of their bodies.
class HttpServerBodyTest : public ServerFixture {
 protected:
  HttpServerBodyTest() {
    admit_ = [](const HttpRequest& head) -> Admission {
      if (head.headers.get("Authorization") != "Bearer good") {
        return {.refusal = HttpResponse::problem(401, "unauthenticated", "no token")};
      }
      if (head.path == "/small") return {.body_bytes_max = 1000};
      return {};
    };
  }
  static std::string upload(std::string_view path, size_t bytes, bool token) {
    return fmt::format("POST {} HTTP/1.1\r\nHost: t\r\n{}Content-Length: {}\r\n\r\n", path,
                       token ? "Authorization: Bearer good\r\n" : "", bytes);
  }
};

// A stranger is answered by the head, and what it sends behind that is kept nowhere.
TEST_F(HttpServerBodyTest, NothingOfAStrangersBodyIsKept) {
  constexpr size_t kClients = 200;
  HttpServer::Options options;
  options.limits.linger_timeout = Micros(300'000);
  startServer(options);
  const size_t before = residentBytes();
  const std::string piece(512 * 1024, 'x');
  std::vector<std::unique_ptr<RawClient>> clients;
  for (size_t i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<RawClient>(server_->port()));
    ASSERT_TRUE(clients.back()->send(upload("/pool", 15'900'000, false)));
    clients.back()->send(piece);  // The server reads and drops, or has closed already.
  }
  EXPECT_EQ(server_->bodiesBytes(), 0u);
  EXPECT_LT(residentBytes(), before + 32 * 1024 * 1024);
  for (const auto& client : clients) {
    EXPECT_EQ(statusOf(client->readResponse()), "HTTP/1.1 401");
    EXPECT_EQ(client->readAll(), "");  // It is closed, though the body never came.
  }
  EXPECT_EQ(server_->counters().requests.load(), 0u);
}

// The cap of an address counts from the announcement on.
TEST_F(HttpServerBodyTest, AnAddressHasItsOwnCap) {
  startServer();
  RawClient announced(server_->port());
  announced.send(upload("/small", 1001, true));
  EXPECT_EQ(statusOf(announced.readResponse()), "HTTP/1.1 413");
  RawClient within(server_->port());
  within.send(upload("/small", 1000, true) + std::string(1000, 'x'));
  EXPECT_EQ(statusOf(within.readResponse()), "HTTP/1.1 200");
}

// All bodies together stay within the budget, those too that wait for their handler; what goes
// makes room again.
TEST_F(HttpServerBodyTest, BodiesTogetherHaveABudget) {
  HttpServer::Options options;
  options.bodies_bytes_max = 1'000'000;
  startServer(options);
  const std::string half(400'000, 'x');
  RawClient parked(server_->port());
  parked.send(upload("/park", half.size(), true) + half);
  std::optional<Parked> waiting = takeParked();
  RawClient slow(server_->port());
  slow.send(upload("/pool", half.size() + 1, true) + half);
  while (server_->bodiesBytes() < 2 * half.size()) slow.readable(1);
  RawClient third(server_->port());
  third.send(upload("/pool", half.size(), true) + half);
  const std::string refused = third.readResponse();
  EXPECT_EQ(statusOf(refused), "HTTP/1.1 503");
  EXPECT_NE(refused.find("Retry-After: 1"), std::string::npos);
  EXPECT_EQ(server_->counters().shed.load(), 1u);
  slow.close();
  waiting->responder.reply(HttpResponse::empty(204));
  waiting.reset();
  EXPECT_EQ(statusOf(parked.readResponse()), "HTTP/1.1 204");
  while (server_->bodiesBytes() > 0) parked.readable(1);
  RawClient again(server_->port());
  again.send(upload("/pool", half.size(), true) + half);
  EXPECT_EQ(statusOf(again.readResponse()), "HTTP/1.1 200");
}

// Many bytes buy no long silence.
TEST_F(HttpServerBodyTest, ABodyThatStopsIsEndedSoon) {
  HttpServer::Options options;
  options.limits.body_idle_timeout = Micros(100'000);
  options.limits.linger_timeout = Micros(50'000);
  startServer(options);
  RawClient client(server_->port());
  client.send(upload("/pool", 8'000'000, true) + std::string(4'000'000, 'x'));
  EXPECT_EQ(statusOf(client.readAll()), "HTTP/1.1 408");
  EXPECT_EQ(server_->bodiesBytes(), 0u);
}

}  // namespace
}  // namespace baton::net
