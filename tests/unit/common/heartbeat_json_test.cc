#include <gtest/gtest.h>

#include <functional>

#include "common/protocol/heartbeat.h"

namespace baton {
namespace {

HeartbeatRequest fullRequest() {
  HeartbeatRequest request;
  request.runner_id = "w:0";
  request.worker_id = "w";
  request.host = "host-a";
  request.boot_id = "boot";
  request.version = "0.1.0";
  request.worker_address = "h:8081";
  request.cluster_guid = "guid";
  request.journal_id = "journal";
  request.incarnation = 7;
  request.seq = 9'007'199'254'740'993;  // Above what a double holds.
  request.has_last_order = true;
  request.last_order = {4, 2, "n1"};
  request.epoch = 12;
  request.status = RunnerStatus::Failed;
  request.current = {5, 3, "n2"};
  request.result.return_code = -7;
  request.result.signal = 9;
  request.result.reason = FailureReason::Signal;
  request.result.reason_text = "killed";
  request.result.run_ms = 1'500;
  request.result.ended_ms = 20;
  request.result.stdout_bytes = 10;
  request.result.stderr_bytes = 11;
  request.result.outputs = {{"k", "v"}};
  request.leaving_ms = 5'000;
  request.labels = {{"zone", "a"}};
  request.wait_ms = 500;
  request.figures = HostFigures{0.5, 8, 1'000, 500, 200};
  return request;
}

TEST(HeartbeatJsonTest, AFullReportReadsBackAsItWas) {
  // Aim: no member of a report is lost on the way.
  const HeartbeatRequest sent = fullRequest();
  const auto read = parseHeartbeatRequest(heartbeatRequestToJson(sent), "w:0");
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(heartbeatRequestToJson(*read), heartbeatRequestToJson(sent));
  EXPECT_EQ(read->seq, sent.seq);
  EXPECT_EQ(read->last_order, sent.last_order);
  EXPECT_EQ(read->current, sent.current);
  EXPECT_EQ(read->result.return_code, -7);
  EXPECT_EQ(read->result.outputs, sent.result.outputs);
  EXPECT_EQ(read->figures->cpu_count, 8);
}

TEST(HeartbeatJsonTest, WhatNoColumnHoldsIsRefusedByName) {
  // Aim: a report that could not be stored is a bad request and not a fault of the master.
  const auto refused = [](const std::function<void(HeartbeatRequest&)>& spoil) {
    HeartbeatRequest request = fullRequest();
    spoil(request);
    const auto read = parseHeartbeatRequest(heartbeatRequestToJson(request), "w:0");
    EXPECT_FALSE(read.ok());
    EXPECT_EQ(read.status().error().code(), ErrorCode::InvalidArgument);
    return read.status().error().field();
  };
  EXPECT_EQ(refused([](auto& r) { r.worker_address = std::string(256, 'a'); }), "worker_address");
  EXPECT_EQ(refused([](auto& r) { r.labels["zone"] = std::string(70'000, 'a'); }),
            "runner_config.labels");
  EXPECT_EQ(refused([](auto& r) { r.labels["zone"] = std::string(11'000, '\x01'); }),
            "runner_config.labels");
  EXPECT_EQ(refused([](auto& r) { r.result.outputs["k"] = std::string(kOutputsBytesMax, 'a'); }),
            "outputs");
  EXPECT_EQ(refused([](auto& r) {
              for (size_t i = 0; i <= kOutputsCountMax; ++i) {
                r.result.outputs[std::to_string(i)] = "";
              }
            }),
            "outputs");
}

TEST(HeartbeatJsonTest, ALongReasonIsCut) {
  // Aim: it goes into rows and callbacks as often as there are, but is for people only.
  HeartbeatRequest request = fullRequest();
  request.result.reason_text = std::string(900'000, '"');
  const auto read = parseHeartbeatRequest(heartbeatRequestToJson(request), "w:0");
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_LE(read->result.reason_text.size(), kReasonTextBytesMax);
  EXPECT_TRUE(read->result.reason_text.ends_with("…"));
}

TEST(HeartbeatJsonTest, ARunningReportCarriesNoResultAndAnIdleOneMayCloseAnAttempt) {
  // Aim: a result is said once it is one, also by the closing IDLE of a stopped attempt.
  HeartbeatRequest running = fullRequest();
  running.status = RunnerStatus::Running;
  EXPECT_FALSE(parseHeartbeatRequest(heartbeatRequestToJson(running), "w:0")->result.return_code);
  HeartbeatRequest closing = fullRequest();
  closing.status = RunnerStatus::Idle;
  const auto read = parseHeartbeatRequest(heartbeatRequestToJson(closing), "w:0");
  EXPECT_EQ(read->current, closing.current);
  EXPECT_EQ(read->result.signal, 9);
}

TEST(HeartbeatJsonTest, APlainClientMaySendAStatusAlone) {
  // Aim: a shell script with curl is a runner; what it leaves out stays absent.
  const auto idle = parseHeartbeatRequest(*parseJson(R"({"status":"IDLE"})"), "sh");
  ASSERT_TRUE(idle.ok());
  EXPECT_FALSE(idle->incarnation.has_value());
  EXPECT_FALSE(idle->seq.has_value());
  EXPECT_FALSE(idle->has_last_order);
  EXPECT_TRUE(
      parseHeartbeatRequest(
          *parseJson(R"({"status":"FINISHED","current_task":"4","attempt":1,"later":1})"), "sh")
          .ok());
}

TEST(HeartbeatJsonTest, WrongReportsAreRefusedByField) {
  // Aim: a report that can't be understood changes nothing and says why.
  const std::vector<std::pair<const char*, const char*>> kRefusals{
      {R"({})", "status"},
      {R"({"status":"BUSY"})", "status"},
      {R"({"status":"RUNNING"})", "current_task"},
      {R"({"status":"RUNNING","current_task":"4"})", "attempt"},
      {R"({"status":"RUNNING","current_task":"x","attempt":1})", "current_task"},
      {R"({"status":"RUNNING","current_task":4,"attempt":1})", "current_task"},
      {R"({"status":"IDLE","runner_id":"other"})", "runner_id"},
      {R"({"status":"IDLE","host":".."})", "host"},
      {R"({"status":"IDLE","host":"a/b"})", "host"},
      {R"({"status":"IDLE","worker_id":"."})", "worker_id"},
      {R"({"status":"IDLE","seq":-1})", "seq"},
      {R"({"status":"IDLE","seq":"1"})", "seq"},
      {R"({"status":"IDLE","incarnation":1.5})", "incarnation"},
      {R"({"status":"IDLE","last_order":{"task":"0x1"}})", "last_order.task"},
      {R"({"status":"IDLE","reason":"bad luck"})", "reason"},
      {R"({"status":"IDLE","signal":65})", "signal"},
      {R"({"status":"IDLE","run_ms":-1})", "run_ms"},
      {R"({"status":"IDLE","wait_ms":600001})", "wait_ms"},
      {R"({"status":"IDLE","figures":{"cpu_count":-1}})", "figures.cpu_count"},
      {R"({"status":"IDLE","runner_config":{"labels":{"a":1}}})", "runner_config.labels.a"},
      {R"({"status":"IDLE","return_code":4294967296})", "return_code"},
  };
  for (const auto& [text, field] : kRefusals) {
    const auto read = parseHeartbeatRequest(*parseJson(text), "w:0");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().field(), field) << text;
  }
}

TEST(HeartbeatJsonTest, AReplyWithAnOrderReadsBackAsItWas) {
  // Aim: the runner starts exactly what the master wrote.
  HeartbeatReply reply;
  reply.cluster_guid = "guid";
  reply.epoch = 9;
  reply.incarnation = 7;
  reply.seq = 12;
  reply.command = Command::RunNew;
  reply.order = Order{
      {5, 3, "n"}, R"({"kind":"command","command":["a","ä\"\n"]})", Millis(1'500), Millis(700)};
  reply.interval_ms = 30'000;
  const auto read = parseHeartbeatReply(*parseJson(heartbeatReplyToText(reply)));
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->epoch, 9U);
  EXPECT_EQ(read->incarnation, 7U);
  EXPECT_EQ(read->seq, 12U);
  EXPECT_EQ(read->interval_ms, 30'000);
  ASSERT_TRUE(read->order.has_value());
  EXPECT_EQ(read->order->key, reply.order->key);
  EXPECT_EQ(*parseJson(read->order->run_part), *parseJson(reply.order->run_part));
  EXPECT_EQ(read->order->timeout, Millis(1'500));
  EXPECT_EQ(read->order->kill_grace, Millis(700));
}

TEST(HeartbeatJsonTest, AReplyThatIsNoOrderIsRefused) {
  // Aim: a runner never starts half an order.
  for (const char* text : {R"({})", R"({"command":"STOP"})", R"({"command":"RUN_NEW"})",
                           R"({"command":"RUN_NEW","task":{}})",
                           R"({"command":"RUN_NEW","task":{"task":"5","attempt":1}})",
                           R"({"command":"RUN_NEW","task":{"task":"5","run":{}}})",
                           R"({"command":"GO_ON","epoch":-1})"}) {
    EXPECT_FALSE(parseHeartbeatReply(*parseJson(text)).ok()) << text;
  }
  EXPECT_TRUE(parseHeartbeatReply(*parseJson(R"({"command":"GO_ON","new":1})")).ok());
}

}  // namespace
}  // namespace baton
