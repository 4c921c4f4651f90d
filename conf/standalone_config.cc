#include "conf/standalone_config.h"

#include "conf/client_config.h"

namespace baton::conf {

Result<StandaloneConfig> readStandaloneConfig(const std::string& file, std::string_view text,
                                              const Environment& environment) {
  std::vector<ConfigIssue> issues;
  const Settings settings = Settings::read(Program::Standalone, file, text, environment, issues);
  StandaloneConfig config;
  config.data_dir = settings.text("standalone.data_dir");
  if (config.data_dir.empty()) config.data_dir = stateFolder() + "/standalone";
  config.runners = static_cast<int>(settings.integer("standalone.runners"));
  config.labels = settings.labels("standalone.labels");
  config.plugins = settings.text("standalone.plugins");
  config.http = httpConfigOf(settings);
  config.output_max_bytes = settings.integer("log.max_bytes");
  config.engine = engineConfigOf(settings, issues);
  config.log = logOptionsOf(settings);
  RETURN_IF_ERROR(toStatus(issues));
  return config;
}

Result<StandaloneConfig> loadStandaloneConfig(const std::string& path,
                                              const Environment& environment) {
  if (path.empty()) return readStandaloneConfig("(no file)", "", environment);
  ASSIGN_OR_RETURN(const std::string text, readConfigFile(path));
  return readStandaloneConfig(path, text, environment);
}

}  // namespace baton::conf
