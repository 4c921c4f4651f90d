#include "conf/client_config.h"

#include <gtest/gtest.h>

#include "conf/secret_file.h"
#include "tests/unit/conf/temporary_folder.h"

namespace baton::conf {
namespace {

constexpr const char* kVariables[] = {"BATON_MASTERS",       "BATON_TOKEN",
                                      "BATON_OUTPUT_FORMAT", "BATON_CLIENT_CONFIG",
                                      "XDG_CONFIG_HOME",     "XDG_STATE_HOME"};

// Each test has its own folders for configuration and state, and no variables of ours.
class ClientConfigTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : kVariables) ::unsetenv(name);
    ::setenv("XDG_CONFIG_HOME", (folder_.path() + "/config").c_str(), 1);
    ::setenv("XDG_STATE_HOME", (folder_.path() + "/state").c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : kVariables) ::unsetenv(name);
  }
  void writeUserFile(const std::string& masters, const std::string& token) {
    const std::string file = folder_.write("config/token", token);
    folder_.write("config/baton/client.yaml",
                  fmt::format("masters: [{}]\ntoken_file: {}\noutput: json\n", masters, file));
  }
  TemporaryFolder folder_;
};

// Without any source the error must say where masters can be named.
TEST_F(ClientConfigTest, NothingKnownSaysWhereItLooked) {
  const auto config = findClientConfig({});
  ASSERT_FALSE(config.ok());
  EXPECT_NE(config.error().message().find("BATON_MASTERS"), std::string::npos);
}

// Options beat the environment, which beats the user's file.
TEST_F(ClientConfigTest, StrongerSourcesWin) {
  writeUserFile("file:1", "token-of-the-file");
  auto config = findClientConfig({});
  ASSERT_TRUE(config.ok()) << config.error().message();
  EXPECT_EQ(config->masters, std::vector<std::string>{"file:1"});
  EXPECT_EQ(config->token, "token-of-the-file");
  EXPECT_EQ(config->output, "json");

  ::setenv("BATON_MASTERS", "env:1, http://env:2", 1);
  ::setenv("BATON_TOKEN", "token-of-the-environment", 1);
  ::setenv("BATON_OUTPUT_FORMAT", "yaml", 1);
  config = findClientConfig({});
  ASSERT_TRUE(config.ok()) << config.error().message();
  EXPECT_EQ(config->masters, (std::vector<std::string>{"env:1", "env:2"}));
  EXPECT_EQ(config->token, "token-of-the-environment");
  EXPECT_EQ(config->output, "yaml");

  const std::string token = folder_.write("t", "token-of-the-option\n");
  config = findClientConfig({.masters = {"opt:1"}, .token_file = token, .output = "table"});
  ASSERT_TRUE(config.ok()) << config.error().message();
  EXPECT_EQ(config->masters, std::vector<std::string>{"opt:1"});
  EXPECT_EQ(config->token, "token-of-the-option");
  EXPECT_EQ(config->output, "table");
}

// A token of one cluster must never be sent to the masters of another.
TEST_F(ClientConfigTest, TokenStaysWithItsMasters) {
  writeUserFile("file:1", "token-of-the-file");
  ::setenv("BATON_MASTERS", "other:1", 1);
  const auto config = findClientConfig({});
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().message(),
            "no token is known for other:1: that of " + userClientFile() +
                " goes only to the masters of that file; give --token-file or BATON_TOKEN");
}

// What `baton standalone` left must be found without any setting, and be private.
TEST_F(ClientConfigTest, StandaloneFileIsFound) {
  const std::string token = folder_.write("data/token", "token-of-standalone");
  ASSERT_TRUE(writeClientFile(standaloneClientFile(), {"127.0.0.1:7410"}, token).ok());
  struct stat info {};
  ASSERT_EQ(::stat(standaloneClientFile().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  const auto config = findClientConfig({});
  ASSERT_TRUE(config.ok()) << config.error().message();
  EXPECT_EQ(config->masters, std::vector<std::string>{"127.0.0.1:7410"});
  EXPECT_EQ(config->token, "token-of-standalone");
}

// A client file that is wrong must be refused with its line, not skipped.
TEST_F(ClientConfigTest, WrongFileIsRefused) {
  folder_.write("config/baton/client.yaml", "masters: [a:1]\ntokn_file: /x\n");
  EXPECT_NE(findClientConfig({}).error().message().find("client.yaml:2: tokn_file"),
            std::string::npos);
  ::setenv("BATON_CLIENT_CONFIG", "/nonexistent/client.yaml", 1);
  EXPECT_EQ(findClientConfig({}).error().code(), ErrorCode::NotFound);
  ::setenv("BATON_MASTERS", "nonsense", 1);
  EXPECT_NE(findClientConfig({}).error().message().find("BATON_MASTERS"), std::string::npos);
}

// A secret must be written so that nobody else can read it, and read back unchanged.
TEST_F(ClientConfigTest, SecretFilesArePrivate) {
  const std::string path = folder_.path() + "/secret";
  ASSERT_TRUE(writeSecretFile(path, "0123456789abcdef").ok());
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  EXPECT_EQ(*readTokenFile(path), "0123456789abcdef");
  EXPECT_EQ(writeSecretFile("/nonexistent/x", "y").error().code(), ErrorCode::Unavailable);
}

}  // namespace
}  // namespace baton::conf
