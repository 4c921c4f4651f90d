#include "conf/worker_config.h"

namespace baton::conf {

Result<WorkerConfig> readWorkerConfig(const std::string& file, std::string_view text,
                                      const Environment& environment) {
  std::vector<ConfigIssue> issues;
  const Settings settings = Settings::read(Program::Worker, file, text, environment, issues);
  WorkerConfig config;
  config.worker_id = settings.isSet("worker.id") ? settings.text("worker.id") : hostName();
  config.runners = static_cast<int>(settings.integer("worker.runners"));
  config.labels = settings.labels("worker.labels");
  config.plugins = settings.text("worker.plugins");
  config.masters = settings.list("worker.masters");
  config.data_dir = settings.text("worker.data_dir");
  config.http = httpConfigOf(settings);
  config.output_max_bytes = settings.integer("log.max_bytes");
  config.log = logOptionsOf(settings);
  config.worker_token = tokenOf(settings, "security.worker_token_file", issues);
  // Runner ids are "worker:N"; both must fit into 64 characters.
  if (config.worker_id.size() > 58) {
    issues.push_back(settings.issueAt("worker.id", "has over 58 characters"));
  }
  RETURN_IF_ERROR(toStatus(issues));
  return config;
}

Result<WorkerConfig> loadWorkerConfig(const std::string& path, const Environment& environment) {
  ASSIGN_OR_RETURN(const std::string text, readConfigFile(path));
  return readWorkerConfig(path, text, environment);
}

}  // namespace baton::conf
