#include "conf/settings.h"

#include <gtest/gtest.h>

namespace baton::conf {
namespace {

std::string issuesOf(const std::string& text, Program program = Program::Worker,
                     const Environment& environment = {}) {
  std::vector<ConfigIssue> issues;
  Settings::read(program, "worker.yaml", text, environment, issues);
  const Status status = toStatus(issues);
  return status.ok() ? "" : status.error().message();
}

const std::string kMinimal =
    "worker:\n  masters: [10.0.0.1:7410]\nsecurity:\n  worker_token_file: /t\n";

std::string withLine(const std::string& section, const std::string& line) {
  if (section == "worker") return "worker:\n  " + line + "\n" + kMinimal.substr(8);
  return kMinimal + section + ":\n  " + line + "\n";
}

// A file with the required keys alone must be accepted and give the defaults of the table.
TEST(SettingsTest, MinimalFileGivesDefaults) {
  std::vector<ConfigIssue> issues;
  const Settings settings = Settings::read(Program::Worker, "worker.yaml", kMinimal, {}, issues);
  EXPECT_TRUE(issues.empty()) << toStatus(issues).text();
  EXPECT_EQ(settings.integer("worker.runners"), 4);
  EXPECT_EQ(settings.integer("log.max_bytes"), 64 * 1024 * 1024);
  EXPECT_EQ(settings.text("log.level"), "info");
  EXPECT_EQ(settings.list("worker.masters"), std::vector<std::string>{"10.0.0.1:7410"});
  EXPECT_FALSE(settings.isSet("worker.runners"));
}

// A required key that is not there must be named together with the file.
TEST(SettingsTest, MissingRequiredKeyIsNamed) {
  EXPECT_EQ(issuesOf("worker:\n  masters: [a:1]\n"),
            "worker.yaml: security.worker_token_file: is missing and has no default");
}

// An unknown key must be refused with file, line and the likely right name.
TEST(SettingsTest, UnknownKeyIsRefusedWithLineAndHint) {
  EXPECT_EQ(issuesOf(kMinimal + "http:\n  prot: 1\n"),
            "worker.yaml:6: http.prot: is no setting of worker.yaml; did you mean http.port?");
  EXPECT_NE(issuesOf(kMinimal + "nonsense: 1\n").find("worker.yaml:5: nonsense: is no setting"),
            std::string::npos);
}

// Numbers whose reading depends on the version of YAML must be refused, never guessed.
TEST(SettingsTest, AmbiguousNumbersAreRefused) {
  for (const std::string text : {"010", "1e2", "0x10", "yes", "1_000", "+5", "-1", "4.0", "\"4\"",
                                 "''", "~", "[4]", "{a: 4}", "99999999999999999999"}) {
    const std::string issues = issuesOf(withLine("worker", "runners: " + text));
    EXPECT_NE(issues.find("worker.yaml:2: worker.runners: is "), std::string::npos)
        << text << ": " << issues;
  }
  EXPECT_EQ(issuesOf(withLine("worker", "runners: 10")), "");
}

// The message must say what was found and what is expected.
TEST(SettingsTest, MessageHasValueAndBounds) {
  EXPECT_EQ(issuesOf(withLine("worker", "runners: 5000")),
            "worker.yaml:2: worker.runners: is \"5000\", expected a whole number from 1 to 1000");
}

// Durations need a unit and plain numbers, and keep to their bounds.
TEST(SettingsTest, DurationsNeedUnitsAndPlainNumbers) {
  const auto issues = [](const std::string& text) {
    std::vector<ConfigIssue> found;
    Settings::read(Program::Standalone, "f", "watchdog:\n  period: " + text + "\n", {}, found);
    return found.size();
  };
  for (const std::string text :
       {"10", "010s", "1e2s", "yes", "6m", "99ms", "1h010m", "-1s", "1.5s"}) {
    EXPECT_EQ(issues(text), 1U) << text;
  }
  for (const std::string text : {"10s", "100ms", "5m", "1m30s", "0h10s"}) {
    EXPECT_EQ(issues(text), 0U) << text;
  }
}

// Sizes may carry a unit; what overflows or is no plain number is refused.
TEST(SettingsTest, BytesTakeUnits) {
  std::vector<ConfigIssue> issues;
  const Settings settings =
      Settings::read(Program::Worker, "f", withLine("log", "max_bytes: 2MB"), {}, issues);
  EXPECT_TRUE(issues.empty());
  EXPECT_EQ(settings.integer("log.max_bytes"), 2 * 1024 * 1024);
  for (const std::string text : {"2 MB", "2mb", "0x10", "9999999999GB", "10"}) {
    EXPECT_NE(issuesOf(withLine("log", "max_bytes: " + text)), "") << text;
  }
}

// Only true and false are booleans: "no" is a country to some readers of YAML.
TEST(SettingsTest, BooleansAreTrueOrFalse) {
  for (const std::string text : {"yes", "no", "on", "True", "1", "\"true\""}) {
    std::vector<ConfigIssue> issues;
    Settings::read(Program::Standalone, "f", "heartbeat:\n  plain_clients: " + text + "\n", {},
                   issues);
    EXPECT_EQ(issues.size(), 1U) << text;
  }
}

// Every other type must refuse what it can't mean.
TEST(SettingsTest, OtherTypesRefuseWhatTheyCannotMean) {
  const std::pair<std::string, std::string> lines[] = {{"log", "level: loud"},
                                                       {"log", "file: relative.log"},
                                                       {"worker", "id: a b"},
                                                       {"worker", "data_dir: data"},
                                                       {"http", "advertise: host"},
                                                       {"http", "advertise: host:0"},
                                                       {"http", "host: \"\""},
                                                       {"worker", "labels: [a, b]"},
                                                       {"worker", "labels: {a: b c}"},
                                                       {"worker", "labels: {kind.x: y}"},
                                                       {"worker", "plugins: relative"},
                                                       {"worker", "labels: {a: {b: c}}"},
                                                       {"worker", "labels: {a: 1, a: 2}"}};
  for (const auto& [section, line] : lines) {
    EXPECT_NE(issuesOf(withLine(section, line)), "") << line;
  }
}

// A key or section that stands twice must be refused: which one counts would be luck.
TEST(SettingsTest, DuplicateKeysAreRefused) {
  EXPECT_NE(issuesOf(kMinimal + "http:\n  port: 1\n  port: 2\n").find("7: http.port: stands twice"),
            std::string::npos);
  EXPECT_NE(issuesOf(kMinimal + "worker:\n  id: a\n").find("5: worker: stands twice"),
            std::string::npos);
}

// Several things that are wrong must all be told at once, not one each start.
TEST(SettingsTest, AllIssuesAreListed) {
  const std::string issues = issuesOf("http:\n  port: x\n  wrong: 1\n");
  EXPECT_EQ(std::count(issues.begin(), issues.end(), '\n'), 3);
}

// Nesting that would overflow the parser's stack must be refused.
TEST(SettingsTest, DeepNestingIsRefused) {
  std::string braces;
  std::string dashes;
  std::string stairs;
  for (int i = 0; i < 100'000; ++i) braces += "{a:";
  for (int i = 0; i < 100'000; ++i) dashes += "- ";
  for (int i = 0; i < 400; ++i) stairs += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  for (const std::string& text : {std::string(100'000, '['), braces, dashes, stairs,
                                  std::string(100'000, '-'), "a: " + std::string(100'000, '[')}) {
    EXPECT_NE(issuesOf(text).find("worker.yaml:"), std::string::npos) << text.substr(0, 20);
  }
}

// Text that is no settings file must be an error with its place, not an exception.
TEST(SettingsTest, RubbishIsAnErrorWithPlace) {
  EXPECT_NE(issuesOf("a: [\n").find("is not YAML"), std::string::npos);
  EXPECT_NE(issuesOf("- a\n- b\n").find("is no map"), std::string::npos);
  EXPECT_NE(issuesOf("a: *unknown\n").find("is not YAML"), std::string::npos);
  EXPECT_NE(issuesOf(kMinimal + "---\na: b\n").find("second document"), std::string::npos);
  EXPECT_NE(issuesOf("\xff\xfe").find("no text in UTF-8"), std::string::npos);
  EXPECT_NE(issuesOf(std::string(2'000'000, ' ')).find("is over"), std::string::npos);
}

// The environment must override the file, under the same rules.
TEST(SettingsTest, EnvironmentOverridesFile) {
  std::vector<ConfigIssue> issues;
  const Environment environment{{"BATON__WORKER__RUNNERS", "7"},
                                {"BATON__WORKER__MASTERS", "a:1,b:2"},
                                {"BATON__WORKER__LABELS", "gpu=yes,zone=x"},
                                {"BATON__WORKER__DATA_DIR", "/d"}};
  const Settings settings =
      Settings::read(Program::Worker, "f", withLine("worker", "runners: 3"), environment, issues);
  EXPECT_TRUE(issues.empty()) << toStatus(issues).text();
  EXPECT_EQ(settings.integer("worker.runners"), 7);
  EXPECT_EQ(settings.list("worker.masters"), (std::vector<std::string>{"a:1", "b:2"}));
  EXPECT_EQ(settings.labels("worker.labels").at("gpu"), "yes");
  EXPECT_EQ(settings.text("worker.data_dir"), "/d");
}

// A wrong or unknown override must be named by its variable; another program's is left alone.
TEST(SettingsTest, WrongOverridesNameTheVariable) {
  EXPECT_NE(issuesOf(kMinimal, Program::Worker, {{"BATON__WORKER__RUNNERS", "010"}})
                .find("BATON__WORKER__RUNNERS: worker.runners: is \"010\""),
            std::string::npos);
  EXPECT_NE(issuesOf(kMinimal, Program::Worker, {{"BATON__WORKER__RUNNER", "1"}})
                .find("did you mean worker.runners?"),
            std::string::npos);
  EXPECT_NE(issuesOf(kMinimal, Program::Worker, {{"BATON__", "1"}}), "");
  // An option is stronger, and means this program.
  EXPECT_EQ(issuesOf(kMinimal, Program::Worker,
                     {{"--set WORKER.runners", "7"}, {"BATON__WORKER__RUNNERS", "010"}}),
            issuesOf(kMinimal, Program::Worker, {{"BATON__WORKER__RUNNERS", "010"}}));
  EXPECT_NE(issuesOf(kMinimal, Program::Worker, {{"--set zookeeper.root", "/x"}})
                .find("--set: zookeeper.root: is no setting of worker.yaml"),
            std::string::npos);
  EXPECT_EQ(issuesOf(kMinimal, Program::Worker, {{"BATON__ZOOKEEPER__ROOT", "/x"}}), "");
}

}  // namespace
}  // namespace baton::conf
