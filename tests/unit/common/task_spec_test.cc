#include "common/model/task_spec.h"

#include <gtest/gtest.h>

namespace baton {
namespace {

Result<TaskSpec> parse(const std::string& text) { return parseTaskSpec(*parseJson(text)); }

TEST(TaskSpecTest, TheShortestTaskGetsTheDocumentedDefaults) {
  // Aim: what is left out means what the manual says.
  const TaskSpec spec = *parse(R"({"command":["/bin/echo","hi"]})");
  EXPECT_EQ(spec.name, "echo");
  EXPECT_EQ(spec.kind, "command");
  EXPECT_EQ(spec.priority, Priority::Normal);
  EXPECT_EQ(spec.policy.kill_grace, Millis(10'000));
  EXPECT_EQ(spec.policy.retry.max, 0);
  EXPECT_EQ(spec.policy.timeout, Millis(0));
  EXPECT_TRUE(spec.policy.callback.url.empty());
  EXPECT_FALSE(spec.hold);
}

TEST(TaskSpecTest, EveryFieldArrives) {
  // Aim: no field of the contract is read and dropped.
  const TaskSpec spec = *parse(R"({"name":"n","script":"exit 0","interpreter":["/bin/bash"],
      "env":{"A":"1"},"params":{"P":"2"},"dir":"/srv","priority":"critical","hold":true,
      "not_before":"2030-01-01T00:00:00Z","tags":["nightly","team:a"],"labels":{"zone":"a"},
      "group":"warehouse","weight":1000,
      "retry":{"max":3,"delay":"2s","backoff":1.5,"max_delay":"1m"},"timeout":"1h",
      "dispatch_timeout":"5m","kill_grace":"3s","on_disconnect":"keep",
      "callback":{"url":"http://h/x","on":["skipped","failed"],"wait":true,"on_failure":"fail"}})");
  EXPECT_EQ(spec.kind, "script");
  EXPECT_EQ(spec.script, "exit 0");
  EXPECT_EQ(spec.interpreter, std::vector<std::string>{"/bin/bash"});
  EXPECT_EQ(spec.env.at("A"), "1");
  EXPECT_EQ(spec.params.at("P"), "2");
  EXPECT_EQ(spec.dir, "/srv");
  EXPECT_EQ(spec.priority, Priority::Critical);
  EXPECT_TRUE(spec.hold);
  EXPECT_EQ(spec.not_before, *parseRfc3339("2030-01-01T00:00:00Z"));
  EXPECT_EQ(spec.tags.size(), 2U);
  EXPECT_EQ(spec.policy.labels.at("zone"), "a");
  EXPECT_EQ(spec.policy.scope.group, "warehouse");
  EXPECT_EQ(spec.policy.scope.weight, 1'000);
  EXPECT_EQ(spec.policy.retry.max, 3);
  EXPECT_EQ(spec.policy.retry.delay, Millis(2'000));
  EXPECT_EQ(spec.policy.retry.backoff, 1.5);
  EXPECT_EQ(spec.policy.retry.max_delay, Millis(60'000));
  EXPECT_EQ(spec.policy.timeout, Millis(3'600'000));
  EXPECT_EQ(spec.policy.dispatch_timeout, Millis(300'000));
  EXPECT_EQ(spec.policy.kill_grace, Millis(3'000));
  EXPECT_EQ(spec.policy.callback.on, (std::vector<std::string>{"failed", "skipped"}));
  EXPECT_TRUE(spec.policy.callback.wait);
  EXPECT_EQ(spec.policy.callback.on_failure, CallbackSpec::OnFailure::Fail);
}

struct Refusal {
  const char* with;  // Members beside the command.
  const char* field;
  ErrorCode code = ErrorCode::InvalidArgument;
};

TEST(TaskSpecTest, EveryWrongFieldIsRefusedByItsName) {
  // Aim: a submission that can't be right is refused before it is accepted, and says why.
  const std::vector<Refusal> kRefusals{
      {R"("name":"")", "name"},
      {R"("name":"a\u0000b")", "name"},
      {R"("name":7)", "name"},
      {R"("priority":"urgent")", "priority"},
      {R"("hold":"yes")", "hold"},
      {R"("not_before":"tomorrow")", "not_before"},
      {R"("tags":["a b"])", "tags"},
      {R"("tags":"a")", "tags"},
      {R"("labels":{"a b":"c"})", "labels.a b"},
      {R"("labels":{"a":""})", "labels.a"},
      {R"("dir":"relative")", "dir"},
      {R"("env":{"1A":"x"})", "env.1A"},
      {R"("env":{"A B":"x"})", "env.A B"},
      {R"("env":{"BATON_TASK_ID":"1"})", "env.BATON_TASK_ID"},
      {R"("env":{"A":"x\u0000"})", "env.A"},
      {R"("env":{"A":1})", "env.A"},
      {R"("params":{"":"x"})", "params."},
      {R"("retry":{"max":-1})", "retry.max"},
      {R"("retry":{"max":1001})", "retry.max"},
      {R"("retry":{"delay":5})", "retry.delay"},
      {R"("retry":{"backoff":0.5})", "retry.backoff"},
      {R"("retry":{"delay":"9000h"})", "retry.delay"},
      {R"("retry":{"tries":2})", "retry.tries"},
      {R"("retry":{"on_lost":"yes"})", "retry.on_lost"},
      {R"("timeout":"-1s")", "timeout"},
      {R"("timeout":60)", "timeout"},
      {R"("dispatch_timeout":"soon")", "dispatch_timeout"},
      {R"("kill_grace":"25h")", "kill_grace"},
      {R"("callback":{"url":"ftp://x"})", "callback.url"},
      {R"("callback":{})", "callback.url"},
      {R"("callback":{"url":"http://x","on":["started"]})", "callback.on"},
      {R"("callback":{"url":"http://x","on_failure":"retry"})", "callback.on_failure"},
      {R"("script":"x")", "script"},
      {R"("kind":"container")", "command"},
      {R"("labels":{"kind.x":"true"})", "labels.kind.x"},
      {R"("http":{"url":"http://x"})", "http"},
      {R"("with":{})", "with"},
      {R"("on_disconnect":"stop")", "on_disconnect", ErrorCode::Unsupported},
      {R"("on_disconnect":"maybe")", "on_disconnect"},
      {R"("callback":{"url":"https://h/x"})", "callback.url", ErrorCode::Unsupported},
      {R"("callback":{"url":"HTTPS://h/x"})", "callback.url", ErrorCode::Unsupported},
      {R"("callback":{"url":"http://h:99999/"})", "callback.url"},
      {R"("callback":{"url":"http:///x"})", "callback.url"},
      {R"("callback":{"url":"http://[::1"})", "callback.url"},
      {R"("callback":{"url":"http://h/a b"})", "callback.url"},
      {R"("callback":{"url":"http://h/\r\nX: y"})", "callback.url"},
      {R"("callback":{"url":"http://h/\u0000"})", "callback.url"},
      {R"("group":"")", "group"},
      {R"("group":"a b")", "group"},
      {R"("group":7)", "group"},
      {R"("weight":0)", "weight"},
      {R"("weight":1001)", "weight"},
      {R"("weight":1.5)", "weight"},
      {R"("flow":"f")", "flow"},
      {R"("user":"u")", "user"},
      {R"("run_as":"root")", "run_as", ErrorCode::Unsupported},
      {R"("limits":{})", "limits", ErrorCode::Unsupported},
      {R"("comand":["x"])", "comand"},
  };
  for (const Refusal& refusal : kRefusals) {
    const auto spec = parse(std::string(R"({"command":["x"],)") + refusal.with + "}");
    ASSERT_FALSE(spec.ok()) << refusal.with;
    EXPECT_EQ(spec.error().field(), refusal.field) << refusal.with;
    EXPECT_EQ(spec.error().code(), refusal.code) << refusal.with;
  }
}

TEST(TaskSpecTest, ARequestArrivesWholeAndGoesToTheRunner) {
  // Aim: every key of docs/plugins.md is read, and the runner reads what was read.
  const TaskSpec spec = *parse(R"({"name":"r","http":{"url":"http://h/x?y=1","method":"POST",
      "headers":{"A":"b"},"body":"{}","expect":[200,"3xx","400-404"],"capture":"answer"}})");
  EXPECT_EQ(spec.kind, "http");
  EXPECT_EQ(spec.http.expect, (std::vector<std::string>{"200", "3xx", "400-404"}));
  TaskSpec back;
  ASSERT_TRUE(readRunPart(runPartToJson(spec), back).ok());
  EXPECT_EQ(dumpJson(runPartToJson(back)), dumpJson(runPartToJson(spec)));
  EXPECT_EQ(back.name + back.http.url + back.http.method + back.http.body + back.http.capture,
            "rhttp://h/x?y=1POST{}answer");
  const TaskSpec least = *parse(R"({"http":{"url":"http://h","expect":204}})");
  EXPECT_EQ(least.name, "http");
  EXPECT_EQ(least.http.method, "GET");
  EXPECT_EQ(least.http.expect, std::vector<std::string>{"204"});
}

TEST(TaskSpecTest, APlugInsKeysArriveAsTheyAre) {
  // Aim: what a plug-in is given is what was submitted, types included.
  const TaskSpec spec =
      *parse(R"({"kind":"copy-table","with":{"from":"a","rows":[1,true,null,{"x":"1.10"}]}})");
  EXPECT_EQ(spec.name, "copy-table");
  TaskSpec back;
  ASSERT_TRUE(readRunPart(runPartToJson(spec), back).ok());
  EXPECT_EQ(back.kind, "copy-table");
  EXPECT_EQ(dumpJson(back.with), R"({"from":"a","rows":[1,true,null,{"x":"1.10"}]})");
  EXPECT_TRUE(parse(R"({"kind":"copy-table"})")->with.is_null());
}

TEST(TaskSpecTest, WrongRequestsAndPlugInsAreRefusedByTheirField) {
  // Aim: no request is accepted that could never be sent, and the error says which key it is.
  std::string nested = "1";
  for (int i = 0; i < 17; ++i) nested = R"({"a":)" + nested + "}";
  const std::string large(kParamsBytesMax, 'x');
  const std::vector<std::pair<std::string, std::string>> kRefusals{
      {R"({"kind":"http"})", "http"},
      {R"({"http":{}})", "http.url"},
      {R"({"http":"http://x"})", "http"},
      {R"({"http":{"url":"ftp://x"}})", "http.url"},
      {R"({"http":{"url":"http://x\n"}})", "http.url"},
      {R"({"http":{"url":"https://x"}})", "http.url"},
      {R"({"http":{"url":"http://x","method":"get"}})", "http.method"},
      {R"({"http":{"url":"http://x","headers":{"a b":"c"}}})", "http.headers"},
      {R"({"http":{"url":"http://x","headers":{"Host":"c"}}})", "http.headers"},
      {R"({"http":{"url":"http://x","headers":{"A":"b\r\nC: d"}}})", "http.headers"},
      {R"({"http":{"url":"http://x","headers":{"A":1}}})", "http.headers.A"},
      {R"({"http":{"url":"http://x","expect":"600"}})", "http.expect"},
      {R"({"http":{"url":"http://x","expect":"300-200"}})", "http.expect"},
      {R"({"http":{"url":"http://x","expect":true}})", "http.expect"},
      {R"({"http":{"url":"http://x","expect":[-200]}})", "http.expect"},
      {R"({"http":{"url":"http://x","capture":"a b"}})", "http.capture"},
      {R"({"http":{"url":"http://x","capture":"BATON_X"}})", "http.capture"},
      {R"({"http":{"url":"http://x","follow":true}})", "http.follow"},
      {R"({"http":{"url":"http://x","headers":{"A":")" + large + R"("}}})", "http.body"},
      {R"({"http":{"url":"http://x"},"interpreter":["sh"]})", "interpreter"},
      {R"({"http":{"url":"http://x"},"with":{}})", "with"},
      {R"({"kind":"x","http":{"url":"http://x"}})", "http"},
      {R"({"kind":"flow"})", "kind"},
      {R"({"kind":"a b"})", "kind"},
      {R"({"kind":"012345678901234567890123456789012"})", "kind"},
      {R"({"kind":"x","with":[]})", "with"},
      {R"({"kind":"x","with":)" + nested + "}", "with"},
      {R"({"kind":"x","with":{"a":")" + large + R"("}})", "with"},
  };
  for (const auto& [text, where] : kRefusals) {
    const auto spec = parse(text);
    ASSERT_FALSE(spec.ok()) << truncateUtf8(text, 100);
    EXPECT_EQ(spec.error().field(), where) << truncateUtf8(text, 100);
  }
  EXPECT_EQ(parse(R"({"http":{"url":"https://x"}})").error().code(), ErrorCode::Unsupported);
}

TEST(TaskSpecTest, StatusesAreJudgedByTheirPatterns) {
  // Aim: 2xx unless something else is expected; ranges include their ends.
  HttpSpec http;
  EXPECT_TRUE(isExpectedStatus(http, 204));
  EXPECT_FALSE(isExpectedStatus(http, 301));
  EXPECT_EQ(expectedText(http), "2xx");
  http.expect = {"200", "3xx", "400-404"};
  for (const int status : {200, 300, 399, 400, 404}) EXPECT_TRUE(isExpectedStatus(http, status));
  for (const int status : {201, 405, 500}) EXPECT_FALSE(isExpectedStatus(http, status));
  EXPECT_EQ(expectedText(http), "200, 3xx or 400-404");
}

TEST(TaskSpecTest, ATaskWithNothingToRunIsRefused) {
  // Aim: no task is accepted that could only fail.
  for (const char* text : {"{}", R"({"command":[]})", R"({"command":[""]})", R"({"command":"ls"})",
                           R"({"script":""})", R"({"kind":"script","command":["x"]})",
                           R"({"kind":"command","script":"x"})", R"({"command":["a\u0000"]})"}) {
    EXPECT_FALSE(parse(text).ok()) << text;
  }
}

TEST(TaskSpecTest, ParametersAboveTheCapAreTooLargeAndAtTheCapAccepted) {
  // Aim: the documented cap is the real one, to the byte.
  const auto sized = [](size_t bytes) {
    return parse(R"({"command":["x"],"params":{"P":")" + std::string(bytes - 1, 'v') + "\"}}");
  };
  EXPECT_TRUE(sized(kParamsBytesMax).ok());
  const auto refused = sized(kParamsBytesMax + 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::TooLarge);
  EXPECT_EQ(refused.error().field(), "params");
}

TEST(TaskSpecTest, LongNamesCountInCharacters) {
  // Aim: 128 characters of any script.
  std::string name;
  for (size_t i = 0; i < kNameCharsMax; ++i) name += "待";
  EXPECT_TRUE(parse(R"({"command":["x"],"name":")" + name + "\"}").ok());
  EXPECT_FALSE(parse(R"({"command":["x"],"name":")" + name + "x\"}").ok());
}

TEST(TaskSpecTest, ADefaultNameIsNeverLongerThanTheCapNorBrokenText) {
  // Aim: a program with an odd path does not make a task that the database refuses.
  std::string program = "/";
  for (size_t i = 0; i < 200; ++i) program += "ä";
  const TaskSpec spec = *parse(R"({"command":[")" + program + "\"]}");
  EXPECT_LE(utf8Length(spec.name), kNameCharsMax);
  EXPECT_TRUE(isValidUtf8(spec.name));
  EXPECT_EQ(parse(R"({"command":["/bin/"]})")->name, "command");
}

TEST(TaskSpecTest, TheRunPartReadsBackAsItWas) {
  // Aim: what the runner gets is what was submitted.
  const TaskSpec spec = *parse(R"({"command":["a","ä \"b\"\n"],"env":{"A":""},"dir":"/x"})");
  TaskSpec back;
  ASSERT_TRUE(readRunPart(runPartToJson(spec), back).ok());
  EXPECT_EQ(back.command, spec.command);
  EXPECT_EQ(back.env, spec.env);
  EXPECT_EQ(back.dir, spec.dir);
}

TEST(TaskPolicyTest, APolicyThatWasStoredIsReadThoughItWouldBeRefusedNow) {
  // Aim: what an older or newer version accepted never keeps a master from starting.
  TaskPolicy policy;
  policy.callback.url = "https://h/x";
  EXPECT_EQ(policyFromText(policyToText(policy))->callback.url, "https://h/x");
}

TEST(TaskPolicyTest, ThePolicyTextReadsBackAndIsEmptyForTheDefault) {
  // Aim: equal policies have one text, so that a million tasks share a few.
  EXPECT_EQ(policyToText(TaskPolicy{}), "");
  TaskPolicy policy;
  policy.labels = {{"zone", "a"}};
  policy.scope = {.group = "g",
                  .weight = 7,
                  .flow = "f",
                  .user = "u",
                  .window = "22:00-06:00",
                  .flow_window = "20:00-08:00",
                  .time_zone = "Europe/Berlin"};
  policy.retry = {5, Millis(250), 3.25, Millis(90'000)};
  policy.timeout = Millis(61'001);
  policy.dispatch_timeout = Millis(5);
  policy.kill_grace = Millis(0);
  policy.callback = {
      "https://h/x?y=z", {"failed", "terminated"}, true, CallbackSpec::OnFailure::Fail};
  const std::string text = policyToText(policy);
  const auto back = policyFromText(text);
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(*back, policy);
  EXPECT_EQ(policyToText(*back), text);
  EXPECT_EQ(*policyFromText(""), TaskPolicy{});
}

TEST(TaskPolicyTest, APoolKeepsOneCopyAndNamesATextThatNobodyWrote) {
  // Aim: live tasks share their policy; a damaged row is not silently a default.
  PolicyPool pool;
  TaskPolicy policy;
  policy.timeout = Millis(5);
  const auto one = pool.intern(policyToText(policy));
  const auto two = pool.intern(policyToText(policy));
  EXPECT_EQ(one->get(), two->get());
  EXPECT_EQ(pool.intern("{\"timeout\":7}").error().code(), ErrorCode::Corrupt);
  EXPECT_EQ(pool.intern("not json").error().code(), ErrorCode::Corrupt);
}

TEST(RetryPolicyTest, DelaysGrowByTheFactorUpToTheCap) {
  // Aim: no delay is above the cap, however many tries there were.
  const RetryPolicy retry{10, Millis(1'000), 2.0, Millis(5'000)};
  EXPECT_EQ(retry.delayBefore(1), Millis(1'000));
  EXPECT_EQ(retry.delayBefore(2), Millis(2'000));
  EXPECT_EQ(retry.delayBefore(3), Millis(4'000));
  EXPECT_EQ(retry.delayBefore(4), Millis(5'000));
  EXPECT_EQ(retry.delayBefore(1'000), Millis(5'000));
  const RetryPolicy wild{1'000, Millis(86'400'000), 100.0, Millis(86'400'000)};
  EXPECT_EQ(wild.delayBefore(1'000), Millis(86'400'000));
  EXPECT_EQ((RetryPolicy{1, Millis(0), 2.0, Millis(0)}).delayBefore(3), Millis(0));
}

TEST(CallbackSpecTest, ACallbackWantsWhatItNamesAndNothingElse) {
  // Aim: only terminal statuses are told, and only those that were asked for.
  CallbackSpec callback{"http://x", {"failed", "skipped"}, false, CallbackSpec::OnFailure::Finish};
  EXPECT_TRUE(callback.wants(TaskStatus::Failed));
  EXPECT_TRUE(callback.wants(TaskStatus::Skipped));
  EXPECT_FALSE(callback.wants(TaskStatus::Finished));
  EXPECT_FALSE(callback.wants(TaskStatus::Terminated));
  EXPECT_FALSE(callback.wants(TaskStatus::Running));
  callback.url.clear();
  EXPECT_FALSE(callback.wants(TaskStatus::Failed));
}

}  // namespace
}  // namespace baton
