#include "cli/config_verbs.h"

#include <array>

#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/session.h"
#include "conf/documentation.h"
#include "conf/master_config.h"
#include "conf/standalone_config.h"
#include "conf/worker_config.h"

namespace baton::cli {
namespace {

using conf::Program;

constexpr std::array kPrograms{Program::Master, Program::Worker, Program::Standalone};

Result<Program> programNamed(const std::string& word) {
  for (const Program program : kPrograms) {
    if (toString(program) == word) return program;
  }
  return Error::invalidArgument("program is \"{}\", expected master, worker or standalone", word);
}

// The file's name says it ("/etc/baton/worker-2.yaml"), else a section that only one has.
Result<Program> guessProgram(const std::string& path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  for (const Program program : kPrograms) {
    if (name.find(toString(program)) != name.npos) return program;
  }
  ASSIGN_OR_RETURN(const std::string text, conf::readConfigFile(path));
  for (const auto& [section, program] :
       {std::pair("\nworker:", Program::Worker), std::pair("\nstandalone:", Program::Standalone),
        std::pair("\nzookeeper:", Program::Master)}) {
    if (("\n" + text).find(section) != text.npos) return program;
  }
  return Error::invalidArgument("{}: whose settings are these? Say it with --program", path);
}

Status check(Program program, const std::string& path, const conf::Environment& environment) {
  switch (program) {
    case Program::Master:
      return conf::loadMasterConfig(path, environment).status();
    case Program::Worker:
      return conf::loadWorkerConfig(path, environment).status();
    case Program::Standalone:
      return conf::loadStandaloneConfig(path, environment).status();
  }
  return {};
}

Json keyToJson(Program program, const conf::Key& key) {
  return {{"file", conf::sampleFileOf(program)},
          {"name", key.name},
          {"type", conf::toString(key.type)},
          {"default", key.def.empty() ? Json(nullptr) : Json(key.def)},
          {"required", key.required},
          {"takes_effect", conf::toString(key.reload)},
          {"meaning", key.doc}};
}

}  // namespace

int configCheck(std::ostream& out, std::ostream& err, const ConfigCheckOptions& options,
                const conf::Environment& environment) {
  const auto program =
      options.program.empty() ? guessProgram(options.file) : programNamed(options.program);
  if (!program.ok()) return reportError(err, program.error());
  const Status checked = check(*program, options.file, environment);
  if (!checked.ok()) {
    err << checked.error().message() << "\n";
    return checked.error().code() == ErrorCode::NotFound ? kExitNotFound : kExitUsage;
  }
  out << fmt::format("{}: well ({} settings)\n", options.file, conf::toString(*program));
  return kExitOk;
}

int configKeys(std::ostream& out, std::ostream& err, const ConfigKeysOptions& options) {
  if (options.markdown) {
    out << conf::renderConfigurationPage();
    return kExitOk;
  }
  if (!options.sample.empty()) {
    const auto program = programNamed(options.sample);
    if (!program.ok()) return reportError(err, program.error());
    out << conf::renderSample(*program);
    return kExitOk;
  }
  const auto format = parseFormat(options.output);
  if (!format.ok()) return reportError(err, format.error());
  Json rows = Json::array();
  for (const Program program : kPrograms) {
    for (const conf::Key& key : conf::keysOf(program)) rows.push_back(keyToJson(program, key));
  }
  if (*format == Format::Json) {
    printJson(out, rows);
  } else if (*format == Format::Yaml) {
    printYaml(out, rows);
  } else {
    printTable(
        out,
        {memberColumn("FILE", "file"), memberColumn("KEY", "name"), memberColumn("TYPE", "type"),
         memberColumn("DEFAULT", "default"), memberColumn("REQUIRED", "required")},
        rows, true);
  }
  return kExitOk;
}

}  // namespace baton::cli
