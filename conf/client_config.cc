#include "conf/client_config.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "conf/secret_file.h"
#include "conf/settings.h"

namespace baton::conf {
namespace {

constexpr Key kMastersKey{.name = "masters", .type = KeyType::AddressList, .required = true};
constexpr Key kTokenFileKey{.name = "token_file", .type = KeyType::File};
constexpr Key kOutputKey{.name = "output", .type = KeyType::Choice, .choices = "table|json|yaml"};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string userFolder(const char* xdg, const char* below_home) {
  const std::string set = variable(xdg);
  if (set.starts_with('/')) return set + "/baton";
  const std::string home = variable("HOME");
  return (home.empty() ? "/tmp" : home) + below_home + "/baton";
}

Result<std::vector<std::string>> splitMasters(const std::string& text, const std::string& from) {
  RawValue raw;
  raw.kind = RawValue::Kind::List;
  for (size_t start = 0; start <= text.size();) {
    const size_t comma = std::min(text.find(',', start), text.size());
    std::string item = text.substr(start, comma - start);
    item.erase(0, item.find_first_not_of(' '));
    item.erase(item.find_last_not_of(' ') + 1);
    if (item.starts_with("http://")) item.erase(0, 7);
    if (!item.empty()) raw.items.push_back(std::move(item));
    start = comma + 1;
  }
  auto value = readValue(kMastersKey, raw);
  if (!value.ok()) return Error(value.error()).withContext(from);
  return value->list;
}

// `withheld`: set to a file whose token is not for the masters that are known.
Status fillFromFile(const std::string& path, bool must_exist, ClientConfig& config,
                    std::string& withheld) {
  const auto file = readClientFile(path);
  if (!file.ok()) {
    if (file.error().code() == ErrorCode::NotFound && !must_exist) return {};
    return file.error();
  }
  if (config.output.empty()) config.output = file->output;
  // A file's token is for that file's masters.
  const bool same_masters = config.masters.empty() || config.masters == file->masters;
  if (config.masters.empty()) config.masters = file->masters;
  if (config.token.empty() && same_masters) config.token = file->token;
  if (config.token.empty() && !file->token.empty() && withheld.empty()) withheld = path;
  return {};
}

}  // namespace

std::string stateFolder() { return userFolder("XDG_STATE_HOME", "/.local/state"); }

std::string userClientFile() { return userFolder("XDG_CONFIG_HOME", "/.config") + "/client.yaml"; }

std::string standaloneClientFile() { return stateFolder() + "/client.yaml"; }

Result<ClientConfig> readClientFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, readConfigFile(path));
  std::vector<ConfigIssue> issues;
  ClientConfig config;
  std::string token_file;
  for (const RawEntry& entry : readYamlText(path, text, issues)) {
    const Key* key = nullptr;
    for (const Key* known : {&kMastersKey, &kTokenFileKey, &kOutputKey}) {
      if (known->name == entry.name) key = known;
    }
    if (key == nullptr) {
      issues.push_back({path, entry.line, entry.name, "is none of masters, token_file, output"});
      continue;
    }
    auto value = readValue(*key, entry.value);
    if (!value.ok()) {
      issues.push_back({path, entry.line, entry.name, value.error().message()});
    } else if (key == &kMastersKey) {
      config.masters = value->list;
    } else if (key == &kTokenFileKey) {
      token_file = value->text;
    } else {
      config.output = value->text;
    }
  }
  RETURN_IF_ERROR(toStatus(issues));
  if (!token_file.empty()) {
    auto token = readTokenFile(token_file);
    if (!token.ok()) {
      return Error(ErrorCode::InvalidArgument,
                   fmt::format("{}: token_file: {}", path, token.error().message()));
    }
    config.token = std::move(token).value();
  }
  return config;
}

Status writeClientFile(const std::string& path, const std::vector<std::string>& masters,
                       const std::string& token_file) {
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  if (failed) return Error::unavailable("{}: create its folder: {}", path, failed.message());
  return writeSecretFile(
      path, fmt::format("masters: [{}]\ntoken_file: {}", fmt::join(masters, ", "), token_file));
}

std::string findOutputFormat(const std::string& option) {
  if (!option.empty()) return option;
  return variable("BATON_OUTPUT_FORMAT");
}

Result<ClientConfig> findClientConfig(const ClientSources& options) {
  ClientConfig config;
  config.output = findOutputFormat(options.output);
  config.masters = options.masters;
  if (!options.masters.empty()) {
    ASSIGN_OR_RETURN(config.masters,
                     splitMasters(fmt::format("{}", fmt::join(options.masters, ",")), "--masters"));
  } else if (const std::string named = variable("BATON_MASTERS"); !named.empty()) {
    ASSIGN_OR_RETURN(config.masters, splitMasters(named, "BATON_MASTERS"));
  }
  if (!options.token_file.empty()) {
    ASSIGN_OR_RETURN(config.token, readTokenFile(options.token_file));
  } else {
    config.token = variable("BATON_TOKEN");
  }
  const std::string named = variable("BATON_CLIENT_CONFIG");
  std::string withheld;
  RETURN_IF_ERROR(
      fillFromFile(named.empty() ? userClientFile() : named, !named.empty(), config, withheld));
  if (config.masters.empty() || config.token.empty()) {
    RETURN_IF_ERROR(fillFromFile(standaloneClientFile(), false, config, withheld));
  }
  if (config.masters.empty()) {
    return Error::invalidArgument(
        "no masters are known: give --masters, BATON_MASTERS or masters in {}", userClientFile());
  }
  if (config.token.empty() && !withheld.empty()) {
    return Error::invalidArgument(
        "no token is known for {}: that of {} goes only to the masters of that file; give "
        "--token-file or BATON_TOKEN",
        fmt::join(config.masters, ", "), withheld);
  }
  if (config.token.empty()) {
    return Error::invalidArgument(
        "no token is known: give --token-file, BATON_TOKEN or token_file in {}", userClientFile());
  }
  return config;
}

}  // namespace baton::conf
