#include <gtest/gtest.h>

#include "conf/documentation.h"
#include "conf/key.h"
#include "conf/master_config.h"
#include "conf/standalone_config.h"
#include "conf/worker_config.h"
#include "tests/unit/conf/temporary_folder.h"
#include "worker/worker_config.h"

namespace baton::conf {
namespace {

constexpr std::string_view kToken = "0123456789abcdef";
constexpr std::string_view kWorkerToken = "fedcba9876543210";

class MasterConfigTest : public ::testing::Test {
 protected:
  std::string text(const std::string& more = {}, const std::string& database = "host: db") {
    folder_.write("token", std::string(kToken) + "\n");
    folder_.write("worker_token", std::string(kWorkerToken) + "\n");
    return fmt::format(
        "zookeeper:\n  hosts: [z1:2181, z2:2181]\ndatabase:\n  {}\nsecurity:\n"
        "  token_file: {}/token\n  worker_token_file: {}/worker_token\n{}",
        database, folder_.path(), folder_.path(), more);
  }
  std::string errorOf(const std::string& content) {
    const auto config = readMasterConfig("m", content, {});
    return config.ok() ? "" : config.error().message();
  }
  TemporaryFolder folder_;
};

// A whole file must arrive in the struct, secrets and defaults included.
TEST_F(MasterConfigTest, WholeFileArrivesTyped) {
  folder_.write("password", "geheim\n");
  const auto config = readMasterConfig(
      "m",
      text("node:\n  id: m1\nheartbeat:\n  interval: 1s\ncallback:\n  allow: [10.0.0.9, h:80]\n",
           fmt::format("socket: /run/db.sock\n  password_file: {}/password", folder_.path())),
      {});
  ASSERT_TRUE(config.ok()) << config.error().message();
  EXPECT_EQ(config->node_id, "m1");
  EXPECT_EQ(config->zookeeper.hosts.size(), 2U);
  EXPECT_EQ(config->zookeeper.root, "/baton");
  EXPECT_EQ(config->zookeeper.session, Millis(3'000));
  EXPECT_EQ(config->database.socket, "/run/db.sock");
  EXPECT_EQ(config->database.password, "geheim");
  EXPECT_EQ(config->engine.heartbeat.interval, Millis(1'000));
  EXPECT_EQ(config->engine.queue_max, 1'000'000);
  EXPECT_EQ(config->engine.callback.allow, (std::vector<std::string>{"10.0.0.9", "h:80"}));
  EXPECT_EQ(config->token, kToken);
  EXPECT_EQ(config->worker_token, kWorkerToken);
  EXPECT_FALSE(config->node_id.empty());
}

// Without the key the cluster's own heartbeat must rule.
TEST_F(MasterConfigTest, HeartbeatIsOptional) {
  const auto config = readMasterConfig("m", text(), {});
  ASSERT_TRUE(config.ok()) << config.error().message();
  EXPECT_FALSE(config->engine.heartbeat.interval.has_value());
}

// Keys that contradict each other must be refused with both names.
TEST_F(MasterConfigTest, ContradictionsAreRefused) {
  EXPECT_NE(errorOf(text({}, "host: db\n  socket: /s")).find("contradicts database.host"),
            std::string::npos);
  EXPECT_NE(errorOf(text({}, "name: x")).find("database.host: is missing"), std::string::npos);
  EXPECT_NE(errorOf(text({}, "socket: /s\n  port: 1")).find("no meaning with database.socket"),
            std::string::npos);
  EXPECT_NE(errorOf(text({}, "socket: /s\n  tls_ca: /c")).find("database.tls_ca"),
            std::string::npos);
  folder_.write("r", "x");
  EXPECT_NE(errorOf(text({}, "host: d\n  reader_password_file: " + folder_.path() + "/r"))
                .find("without database.reader_user"),
            std::string::npos);
  EXPECT_NE(errorOf(text({}, "host: d\n  user: u\n  reader_user: u")).find("is database.user too"),
            std::string::npos);
}

// A path that ZooKeeper would refuse at run time must be refused at the start.
TEST_F(MasterConfigTest, ZookeeperRootIsAPath) {
  for (const std::string root : {"baton", "/baton/", "/a//b", "/a/../b"}) {
    auto config = readMasterConfig("m", text(), {{"BATON__ZOOKEEPER__ROOT", root}});
    EXPECT_FALSE(config.ok()) << root;
  }
}

// No master may start without a token, with a short one, or with one that anybody can read.
TEST_F(MasterConfigTest, TokensAreDemanded) {
  const std::string good = text();
  folder_.write("token", "short\n");
  EXPECT_NE(errorOf(good).find("at least 16 are needed"), std::string::npos);
  folder_.write("token", "");
  EXPECT_NE(errorOf(good).find("is empty"), std::string::npos);
  folder_.write("token", "0123456789abcdef\nsecond\n");
  EXPECT_NE(errorOf(good).find("several lines"), std::string::npos);
  folder_.write("token", "0123456789 abcdef\n");
  EXPECT_NE(errorOf(good).find("blanks"), std::string::npos);
  folder_.write("token", std::string(kToken), 0644);
  EXPECT_NE(errorOf(good).find("everybody may read it (mode 0644)"), std::string::npos);
  folder_.write("token", std::string(kToken), 0640);
  EXPECT_EQ(errorOf(good), "");
  folder_.write("token", std::string(kWorkerToken));
  EXPECT_NE(errorOf(good).find("the same token"), std::string::npos);
  std::filesystem::remove(folder_.path() + "/token");
  EXPECT_NE(errorOf(good).find("No such file"), std::string::npos);
  EXPECT_EQ(errorOf(good).find(kWorkerToken), std::string::npos);
}

// The samples that are shipped must be exactly what the table says.
TEST(SampleTest, FilesEqualTheTable) {
  for (const Program program : {Program::Master, Program::Worker, Program::Standalone}) {
    const auto shipped =
        readConfigFile(fmt::format("{}/conf/{}", BATON_SOURCE_DIR, sampleFileOf(program)));
    ASSERT_TRUE(shipped.ok()) << shipped.error().message();
    EXPECT_EQ(*shipped, renderSample(program)) << "baton config keys --sample writes it";
  }
  const auto page = readConfigFile(std::string(BATON_SOURCE_DIR) + "/docs/configuration.md");
  ASSERT_TRUE(page.ok()) << page.error().message();
  EXPECT_EQ(*page, renderConfigurationPage()) << "baton config keys --markdown writes it";
}

// A sample must be accepted but for the files that it points to, also with every default written
// out.
TEST(SampleTest, SamplesAreAccepted) {
  for (const Program program : {Program::Master, Program::Worker, Program::Standalone}) {
    std::string text = renderSample(program);
    std::vector<ConfigIssue> issues;
    Settings::read(program, "s", text, {}, issues);
    EXPECT_TRUE(issues.empty()) << toStatus(issues).text();
    for (const Key& key : keysOf(program)) {
      if (key.def.empty()) continue;
      const std::string leaf(key.name.substr(key.name.find('.') + 1));
      const std::string off = fmt::format("  # {}: {}\n", leaf, key.def);
      const size_t at = text.find(off);
      ASSERT_NE(at, std::string::npos) << key.name;
      text.erase(at + 2, 2);
    }
    Settings::read(program, "s", text, {}, issues);
    EXPECT_TRUE(issues.empty()) << toStatus(issues).text();
  }
}

// Every key must have a meaning, and a default within its own bounds.
TEST(KeyTableTest, KeysAreWhole) {
  for (const Program program : {Program::Master, Program::Worker, Program::Standalone}) {
    for (const Key& key : keysOf(program)) {
      EXPECT_FALSE(key.doc.empty()) << key.name;
      EXPECT_EQ(std::count(key.name.begin(), key.name.end(), '.'), 1) << key.name;
      EXPECT_TRUE(!key.required || !key.example.empty()) << key.name;
      if (key.def.empty()) continue;
      RawValue raw;
      raw.text = std::string(key.def);
      EXPECT_TRUE(readValue(key, raw).ok()) << key.name;
    }
  }
}

// Worker settings must arrive typed, and runner ids must stay short enough to be ids.
TEST(WorkerConfigTest, WholeFileArrivesTyped) {
  TemporaryFolder folder;
  folder.write("t", std::string(kWorkerToken));
  const std::string text = fmt::format(
      "worker:\n  id: w1\n  runners: 8\n  labels: {{gpu: a100}}\n  masters: [m1:7410]\n  plugins: "
      "/p\n"
      "  data_dir: {0}\nsecurity:\n  worker_token_file: {0}/t\n",
      folder.path());
  const auto config = readWorkerConfig("w", text, {});
  ASSERT_TRUE(config.ok()) << config.error().message();
  EXPECT_EQ(config->worker_id, "w1");
  EXPECT_EQ(config->runners, 8);
  EXPECT_EQ(config->labels.at("gpu"), "a100");
  EXPECT_EQ(config->plugins, "/p");
  EXPECT_EQ(config->worker_token, kWorkerToken);
  EXPECT_FALSE(readWorkerConfig("w", text, {{"BATON__WORKER__ID", std::string(60, 'w')}}).ok());
}

// Standalone must run without any file.
TEST(StandaloneConfigTest, NeedsNoFile) {
  const auto config = loadStandaloneConfig("", {{"BATON__STANDALONE__DATA_DIR", "/d"}});
  ASSERT_TRUE(config.ok()) << config.error().message();
  EXPECT_EQ(config->data_dir, "/d");
  EXPECT_EQ(config->http.host, "127.0.0.1");
  EXPECT_TRUE(config->engine.heartbeat.plain_clients);
}

// A file that is not there, or a folder, must be an error that names it.
TEST(StandaloneConfigTest, MissingFileIsNamed) {
  EXPECT_EQ(loadStandaloneConfig("/nonexistent/f.yaml", {}).error().code(), ErrorCode::NotFound);
  EXPECT_EQ(loadStandaloneConfig("/tmp", {}).error().code(), ErrorCode::InvalidArgument);
}

// The address for others must never be "everywhere".
TEST(HttpConfigTest, AdvertisedAddressCanBeReached) {
  EXPECT_EQ(advertisedAddress({.host = "10.0.0.1", .port = 0}, 99), "10.0.0.1:99");
  EXPECT_EQ(advertisedAddress({.host = "0.0.0.0", .port = 0}, 99), hostName() + ":99");
  EXPECT_EQ(advertisedAddress({.host = "::1", .port = 0}, 99), "[::1]:99");
  EXPECT_EQ(advertisedAddress({.host = "0.0.0.0", .port = 0, .advertise = "x:1"}, 99), "x:1");
}

// What is accepted here must not be refused by the daemon at its start.
TEST(RunnersTest, TheBoundIsTheDaemonsOwn) {
  for (const auto& [program, name] : {std::pair{Program::Worker, "worker.runners"},
                                      {Program::Standalone, "standalone.runners"}}) {
    EXPECT_EQ(findKey(program, name)->max, worker::kRunnersMax) << name;
  }
}

}  // namespace
}  // namespace baton::conf
