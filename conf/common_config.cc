#include "conf/common_config.h"

#include <unistd.h>

#include "conf/secret_file.h"

namespace baton::conf {
namespace {

LogLevel levelOf(const std::string& word) {
  if (word == "debug") return LogLevel::Debug;
  if (word == "warn") return LogLevel::Warn;
  if (word == "error") return LogLevel::Error;
  return LogLevel::Info;
}

template <typename Read>
std::string fileContent(const Settings& settings, std::string_view key,
                        std::vector<ConfigIssue>& issues, Read read) {
  const std::string path = settings.text(key);
  if (path.empty()) return {};
  Result<std::string> content = read(path);
  if (content.ok()) return std::move(content).value();
  issues.push_back(settings.issueAt(key, content.error().message()));
  return {};
}

}  // namespace

HttpConfig httpConfigOf(const Settings& settings) {
  HttpConfig http{.host = settings.text("http.host"),
                  .port = static_cast<int>(settings.integer("http.port"))};
  if (findKey(settings.program(), "http.advertise") != nullptr) {
    http.advertise = settings.text("http.advertise");
  }
  return http;
}

LogOptions logOptionsOf(const Settings& settings) {
  LogOptions options;
  options.file = settings.text("log.file");
  options.level = levelOf(settings.text("log.level"));
  return options;
}

EngineConfig engineConfigOf(const Settings& settings, std::vector<ConfigIssue>& issues) {
  EngineConfig engine;
  if (settings.isSet("heartbeat.interval")) {
    engine.heartbeat.interval = settings.duration("heartbeat.interval");
  }
  engine.heartbeat.plain_clients = settings.boolean("heartbeat.plain_clients");
  engine.watchdog_period = settings.duration("watchdog.period");
  engine.stuck_after = settings.duration("watchdog.stuck_after");
  engine.quarantine = {.failures = static_cast<int>(settings.integer("hosts.quarantine_failures")),
                       .window = settings.duration("hosts.quarantine_window"),
                       .cooldown = settings.duration("hosts.quarantine_cooldown")};
  engine.running_max = settings.integer("limits.running_max");
  engine.ageing = settings.duration("queue.ageing");
  engine.queue_max = settings.integer("queue.max");
  engine.audit_keep = settings.duration("audit.keep");
  engine.callback = {.allow = settings.list("callback.allow"),
                     .timeout = settings.duration("callback.timeout"),
                     .tries = static_cast<int>(settings.integer("callback.tries")),
                     .secret = secretOf(settings, "callback.secret_file", issues)};
  return engine;
}

std::string secretOf(const Settings& settings, std::string_view key,
                     std::vector<ConfigIssue>& issues) {
  return fileContent(settings, key, issues, readSecretFile);
}

std::string tokenOf(const Settings& settings, std::string_view key,
                    std::vector<ConfigIssue>& issues) {
  return fileContent(settings, key, issues, readTokenFile);
}

std::string advertisedAddress(const HttpConfig& http, int port) {
  if (!http.advertise.empty()) return http.advertise;
  const bool everywhere = http.host == "0.0.0.0" || http.host == "::" || http.host == "[::]";
  std::string host = everywhere ? hostName() : http.host;
  if (host.find(':') != host.npos && host.front() != '[') host = "[" + host + "]";
  return fmt::format("{}:{}", host, port);
}

std::string hostName() {
  char buffer[256] = {};
  if (::gethostname(buffer, sizeof buffer - 1) != 0) return "localhost";
  std::string name(buffer);
  name = name.substr(0, name.find('.')).substr(0, 64);
  return name.empty() ? "localhost" : name;
}

}  // namespace baton::conf
