#include "conf/master_config.h"

namespace baton::conf {
namespace {

void checkDatabase(const Settings& settings, std::vector<ConfigIssue>& issues) {
  const bool host = settings.isSet("database.host");
  const bool socket = settings.isSet("database.socket");
  if (host && socket) {
    issues.push_back(settings.issueAt(
        "database.socket", "contradicts database.host: one way to the database, please"));
  }
  if (!host && !socket) {
    issues.push_back(
        settings.issueAt("database.host", "is missing; expected it or database.socket"));
  }
  if (settings.isSet("database.port") && socket && !host) {
    issues.push_back(settings.issueAt("database.port", "has no meaning with database.socket"));
  }
  if (settings.isSet("database.reader_password_file") && !settings.isSet("database.reader_user")) {
    issues.push_back(
        settings.issueAt("database.reader_password_file", "is set without database.reader_user"));
  }
  const std::string reader = settings.text("database.reader_user");
  if (!reader.empty() && reader == settings.text("database.user")) {
    issues.push_back(settings.issueAt("database.reader_user",
                                      "is database.user too; expected another user, because a "
                                      "takeover ends all connections of the latter"));
  }
  if (settings.isSet("database.tls_ca") && socket) {
    issues.push_back(settings.issueAt("database.tls_ca", "has no meaning with database.socket"));
  }
}

void checkZookeeper(const Settings& settings, const ZookeeperConfig& zookeeper,
                    std::vector<ConfigIssue>& issues) {
  const std::string& root = zookeeper.root;
  const bool plain = root.starts_with('/') && !root.ends_with('/') &&
                     root.find("//") == root.npos && root.find("/.") == root.npos &&
                     root.find(' ') == root.npos;
  if (!plain) {
    issues.push_back(settings.issueAt(
        "zookeeper.root", fmt::format("is \"{}\", expected a path such as /baton", root)));
  }
  if (!zookeeper.digest.empty() && zookeeper.digest.find(':') == std::string::npos) {
    issues.push_back(settings.issueAt("zookeeper.digest_file", "the file has no user:password"));
  }
}

}  // namespace

Result<MasterConfig> readMasterConfig(const std::string& file, std::string_view text,
                                      const Environment& environment) {
  std::vector<ConfigIssue> issues;
  const Settings settings = Settings::read(Program::Master, file, text, environment, issues);
  MasterConfig config;
  config.node_id = settings.isSet("node.id") ? settings.text("node.id") : hostName();
  config.cluster_name = settings.text("cluster.name");
  config.http = httpConfigOf(settings);
  config.zookeeper = {.hosts = settings.list("zookeeper.hosts"),
                      .root = settings.text("zookeeper.root"),
                      .session = Millis(settings.integer("zookeeper.session_ms")),
                      .digest = secretOf(settings, "zookeeper.digest_file", issues)};
  config.priority = static_cast<int>(settings.integer("ha.priority"));
  config.eligible = settings.boolean("ha.eligible");
  config.database = {.host = settings.text("database.host"),
                     .port = static_cast<int>(settings.integer("database.port")),
                     .socket = settings.text("database.socket"),
                     .name = settings.text("database.name"),
                     .user = settings.text("database.user"),
                     .password = secretOf(settings, "database.password_file", issues),
                     .reader_user = settings.text("database.reader_user"),
                     .reader_password = secretOf(settings, "database.reader_password_file", issues),
                     .tls_ca = settings.text("database.tls_ca")};
  config.engine = engineConfigOf(settings, issues);
  config.log = logOptionsOf(settings);
  config.token = tokenOf(settings, "security.token_file", issues);
  config.worker_token = tokenOf(settings, "security.worker_token_file", issues);
  checkDatabase(settings, issues);
  checkZookeeper(settings, config.zookeeper, issues);
  if (!config.token.empty() && config.token == config.worker_token) {
    issues.push_back(settings.issueAt("security.worker_token_file",
                                      "holds the same token as security.token_file; workers need "
                                      "one of their own"));
  }
  RETURN_IF_ERROR(toStatus(issues));
  return config;
}

Result<MasterConfig> loadMasterConfig(const std::string& path, const Environment& environment) {
  ASSIGN_OR_RETURN(const std::string text, readConfigFile(path));
  return readMasterConfig(path, text, environment);
}

}  // namespace baton::conf
