#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "common/base/file_descriptor.h"
#include "tests/unit/webapi/web_fixture.h"
#include "webapi/watch_json.h"

namespace baton::webapi::test {
namespace {

using master::api::WatchedRun;
using master::api::WatchedTask;
using master::api::WatchEvent;

// A client that reads a stream block by block.
class StreamClient {
 public:
  StreamClient(uint16_t port, const std::string& target, const std::string& more_fields = {})
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    const std::string request = fmt::format("GET {} HTTP/1.0\r\nAuthorization: Bearer {}\r\n{}\r\n",
                                            target, kClientToken, more_fields);
    EXPECT_EQ(send(fd_.get(), request.data(), request.size(), 0),
              static_cast<ssize_t>(request.size()));
    head_ = until("\r\n\r\n");
  }

  const std::string& head() const { return head_; }
  // The next block without its empty line; "(end)" when the stream has ended, "(nothing)" when
  // none came.
  std::string next() { return until("\n\n"); }

 private:
  std::string until(const std::string& mark) {
    while (true) {
      const size_t at = buffer_.find(mark);
      if (at != buffer_.npos) {
        const std::string found = buffer_.substr(0, at);
        buffer_.erase(0, at + mark.size());
        return found;
      }
      pollfd item{fd_.get(), POLLIN, 0};
      if (poll(&item, 1, 10'000) != 1) return "(nothing)";
      char bytes[4096];
      const ssize_t got = recv(fd_.get(), bytes, sizeof(bytes), 0);
      if (got <= 0) return "(end)";
      buffer_.append(bytes, static_cast<size_t>(got));
    }
  }

  FileDescriptor fd_;
  std::string buffer_;
  std::string head_;
};

WatchedTask runningTask(TaskId id) {
  WatchedTask task;
  task.state.id = id;
  task.state.status = TaskStatus::Running;
  task.state.attempt = 1;
  task.state.runner_id = "w:0";
  task.state.started_at = *parseRfc3339("2026-11-29T06:00:00Z");
  return task;
}

class WatchApiTest : public WebTest {
 protected:
  StreamClient open(const std::string& query = {}, const std::string& fields = {}) {
    return StreamClient(server_->port(), "/api/v1/watch" + query, fields);
  }
  // What a block says: event, data, and the id if it is wanted.
  static Json dataOf(const std::string& block) {
    const size_t at = block.find("data: ");
    return at == block.npos ? Json() : *parseJson(block.substr(at + 6));
  }
};

// A stream begins with its place and goes on with what changes, as it changes.
TEST_F(WatchApiTest, ChangesAreTold) {
  StreamClient client = open();
  EXPECT_NE(client.head().find("200 OK"), std::string::npos) << client.head();
  EXPECT_NE(client.head().find("Content-Type: text/event-stream"), std::string::npos);
  EXPECT_NE(client.head().find("Cache-Control: no-store"), std::string::npos);
  EXPECT_EQ(client.next(), "retry: 1000\nid: 3-0-0\nevent: ready\ndata: {\"resumed\":false}");
  watch_.add(4, 9, "Big", runningTask(42));
  const std::string task = client.next();
  EXPECT_EQ(task.rfind("id: 3-4-1\nevent: task\ndata: ", 0), 0U) << task;
  EXPECT_EQ(dataOf(task), (Json{{"id", "42"},
                                {"run_id", "9"},
                                {"flow", "Big"},
                                {"status", "RUNNING"},
                                {"reason", nullptr},
                                {"attempt", 1},
                                {"runner_id", "w:0"},
                                {"return_code", nullptr},
                                {"signal", nullptr},
                                {"priority", "normal"},
                                {"hold", false},
                                {"started_at", "2026-11-29T06:00:00Z"},
                                {"finished_at", nullptr}}));
  WatchedRun run;
  run.state.id = 9;
  run.state.status = RunStatus::Running;
  run.made = true;
  run.trigger = RunTrigger::Manual;
  run.plan_time = *parseRfc3339("2026-11-29T05:00:00Z");
  watch_.add(5, 9, "Big", run);
  const std::string told = client.next();
  EXPECT_NE(told.find("event: run\n"), std::string::npos) << told;
  EXPECT_EQ(dataOf(told)["trigger"], "manual");
  EXPECT_EQ(dataOf(told)["plan_time"], "2026-11-29T05:00:00Z");
  EXPECT_EQ(dataOf(told)["flow"], "Big");
  FlowRecord flow;
  flow.name = "Big";
  flow.version = 3;
  flow.online = true;
  watch_.add(6, 0, "Big", flow);
  EXPECT_EQ(dataOf(client.next()), (Json{{"name", "Big"},
                                         {"version", 3},
                                         {"online", true},
                                         {"deleted", false},
                                         {"next_at", nullptr}}));
}

// The filters reach the log as they were meant; wrong ones are refused by name.
TEST_F(WatchApiTest, FiltersAreReadStrictly) {
  StreamClient client = open("?kind=task,run&task=42&run=9&flow=Big");
  client.next();
  const auto filter = watch_.lastFilter();
  EXPECT_EQ(filter.kinds,
            (std::vector<WatchEvent::Kind>{WatchEvent::Kind::Task, WatchEvent::Kind::Run}));
  EXPECT_EQ(filter.task, 42U);
  EXPECT_EQ(filter.run, 9U);
  EXPECT_EQ(filter.flow, "big");
  for (const auto& [query, field] : std::vector<std::pair<std::string, std::string>>{
           {"kind=host", "kind"},
           {"task=x", "task"},
           {"run=0", "run"},
           {"follow=1", "follow"},
           {"last_event_id=7", "last_event_id"},
           {"last_event_id=1-2-x", "last_event_id"},
           {"last_event_id=1-2-3-4", "last_event_id"}}) {
    SCOPED_TRACE(query);
    expectProblem(get("/api/v1/watch?" + query), 400, "invalid_argument", field);
  }
  expectProblem(send("GET", "/api/v1/watch", {}, {{"Last-Event-ID", "x"}}), 400, "invalid_argument",
                "Last-Event-ID");
}

// Who comes back gets what it missed, by the field or the parameter.
TEST_F(WatchApiTest, AWatcherGoesOnWhereItWas) {
  watch_.add(4, 0, "", runningTask(1));
  watch_.add(5, 0, "", runningTask(2));
  const auto expectSecond = [](StreamClient client) {
    EXPECT_NE(client.next().find(R"({"resumed":true})"), std::string::npos);
    EXPECT_EQ(dataOf(client.next())["id"], "2");
  };
  expectSecond(open("", "Last-Event-ID: 3-4-1\r\n"));
  expectSecond(open("?last_event_id=3-4-1"));
}

// A place that is not kept any more, or of an earlier term, is answered with a reset, and the
// stream goes on from now.
TEST_F(WatchApiTest, AGapIsSaidPlainly) {
  watch_.add(4, 0, "", runningTask(1));
  watch_.forgetUntil({3, 4, 1});
  uint64_t batch = 4;
  for (const auto& [last, reason] : std::vector<std::pair<std::string, std::string>>{
           {"3-2-1", "too_far_behind"}, {"2-99-1", "takeover"}}) {
    StreamClient client = open("?last_event_id=" + last);
    const std::string reset = client.next();
    EXPECT_NE(reset.find(fmt::format("id: 3-{}-1\nevent: reset\n", batch)), std::string::npos)
        << reset;
    EXPECT_EQ(dataOf(reset)["reason"], reason);
    watch_.add(++batch, 0, "", runningTask(2));
    EXPECT_EQ(dataOf(client.next())["id"], "2");
  }
}

// A watcher of one task or one run need not read lists: it is told how they stand, first without
// ids, so that one cut off in between gets all of it again, and then goes on from now.
TEST_F(WatchApiTest, WatchersOfOneTaskOrRunGoOnOverATakeover) {
  runs_.view.record.flow = "Big";
  runs_.view.record.state.id = 9;
  runs_.view.record.state.status = RunStatus::Finished;
  master::api::NodeView node;
  node.task.record.name = "load";
  node.task.record.run_id = 9;
  node.task.record.flow = "Big";
  node.task.record.state = runningTask(42).state;
  runs_.node_list = {node};
  tasks_.known[42] = node.task;
  const std::string ready = "retry: 1000\nevent: ready\ndata: {\"resumed\":true}";
  for (const char* last : {"2-99-1", "3-0-0"}) {
    SCOPED_TRACE(last);
    watch_.forgetUntil({3, 4, 1});
    watch_.add(4, 0, "", runningTask(1));
    StreamClient client = open(fmt::format("?run=9&last_event_id={}", last));
    EXPECT_EQ(client.next(), ready);
    const std::string task = client.next();
    EXPECT_EQ(task.rfind("event: task\n", 0), 0U) << task;
    EXPECT_EQ(dataOf(task)["id"], "42");
    EXPECT_EQ(dataOf(task)["name"], "load");
    const std::string run = client.next();
    EXPECT_EQ(run.rfind("event: run\n", 0), 0U) << run;
    EXPECT_EQ(dataOf(run)["status"], "FINISHED");
    EXPECT_EQ(client.next(), "id: 3-4-1\n: as it stands now");
  }
  const auto blocks = [&](const std::string& query) {
    StreamClient client = open(query + "&last_event_id=2-99-1");
    std::vector<std::string> events;
    for (std::string block = client.next(); block != "(nothing)" && block != "(end)";
         block = client.next()) {
      if (block.rfind("id: ", 0) == 0 && block.find("event: ") == block.npos) return events;
      const size_t at = block.find("event: ");
      events.push_back(block.substr(at + 7, block.find('\n', at) - at - 7));
      if (events.back() == "reset") return events;
    }
    events.emplace_back("cut");
    return events;
  };
  using Events = std::vector<std::string>;
  EXPECT_EQ(blocks("?task=42"), (Events{"ready", "task"}));
  EXPECT_EQ(blocks("?task=42&run=8"), Events{"ready"}) << "it is of another run";
  EXPECT_EQ(blocks("?run=9&kind=run"), (Events{"ready", "run"}));
  EXPECT_EQ(blocks("?run=9&flow=other"), Events{"ready"});
  EXPECT_EQ(blocks("?run=10"), Events{"reset"}) << "there is no such run";
  EXPECT_EQ(blocks("?task=43"), Events{"reset"});
  EXPECT_EQ(blocks("?flow=big"), Events{"reset"}) << "what ended meanwhile is not known";
  runs_.node_list.assign(2'001, node);
  EXPECT_EQ(blocks("?run=9"), Events{"reset"}) << "too many to hold for a slow reader";
}

// One that is left behind while it is connected is told so, and cut behind that.
TEST_F(WatchApiTest, ASlowWatcherIsCutWithAReason) {
  StreamClient client = open();
  client.next();
  watch_.forgetUntil({3, 7, 1});
  const std::string reset = client.next();
  EXPECT_NE(reset.find("event: reset\n"), std::string::npos) << reset;
  EXPECT_EQ(dataOf(reset)["reason"], "too_far_behind");
  EXPECT_EQ(client.next(), "(end)");
}

// When the master leads no more, the stream ends behind what it knew.
TEST_F(WatchApiTest, TheEndOfATermEndsTheStream) {
  StreamClient client = open();
  client.next();
  watch_.add(4, 0, "", runningTask(1));
  EXPECT_EQ(dataOf(client.next())["id"], "1");
  watch_.leave();
  const std::string end = client.next();
  EXPECT_NE(end.find("id: 3-4-1\nevent: end\n"), std::string::npos) << end;
  EXPECT_EQ(dataOf(end)["reason"], "not_active");
  EXPECT_EQ(client.next(), "(end)");
  expectProblem(get("/api/v1/watch"), 503, "not_active");
}

// Silence is filled, so that both ends know that the other is there.
TEST_F(WatchApiTest, SilentStreamsGetHeartbeats) {
  server_->stop();
  WebServer::Options options;
  options.watch_heartbeat = Millis(1);
  startServer(options);
  StreamClient client = open();
  client.next();
  EXPECT_EQ(client.next(), "id: 3-0-0\n: heartbeat");
}

// There is a bound, and who has gone makes room.
TEST_F(WatchApiTest, WatchersAreBounded) {
  server_->stop();
  WebServer::Options options;
  options.watchers_max = 2;
  startServer(options);
  StreamClient first = open();
  first.next();
  EXPECT_EQ(jsonOf(get("/api/v1/internals"))["watchers"], (Json{{"open", 1}, {"most", 2}}));
  {
    StreamClient second = open();
    second.next();
    expectProblem(get("/api/v1/watch"), 503, "overloaded");
  }
  for (int i = 0; i < 1'000; ++i) {
    StreamClient again = open();
    if (again.head().find("200 OK") != std::string::npos) return;
    std::this_thread::yield();
  }
  ADD_FAILURE() << "a watcher that has gone still counts";
}

// A server that stops says goodbye at once and does not wait for its watchers.
TEST_F(WatchApiTest, StoppingEndsStreams) {
  StreamClient client = open();
  client.next();
  const BootTime began = SystemClock().bootNow();
  server_->stop();
  EXPECT_EQ(dataOf(client.next())["reason"], "stopping");
  EXPECT_EQ(client.next(), "(end)");
  EXPECT_LT(SystemClock().bootNow() - began, Seconds(5));
}

TEST(WatchIdTest, IdsAreReadBack) {
  const master::api::WatchPosition at{12, 345, 6};
  EXPECT_EQ(watchId(at), "12-345-6");
  EXPECT_EQ(*parseWatchId("12-345-6"), at);
  for (const char* bad : {"", "1", "1-2", "1-2-", "-1-2", "1--2", "1-2-3-", "1-2-4294967296"}) {
    EXPECT_FALSE(parseWatchId(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace baton::webapi::test
