#include "tests/support/mariadb_server.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <system_error>

namespace baton::test {
namespace {

// Runs a shell command; its output is the error's message.
Status runCommand(const std::string& command) {
  FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return Error::internal("popen failed");
  std::string output;
  char buffer[512];
  while (::fgets(buffer, sizeof buffer, pipe) != nullptr) output += buffer;
  if (::pclose(pipe) == 0) return {};
  return Error::unavailable("{}: {}", command.substr(0, 80), output);
}

}  // namespace

Result<std::unique_ptr<MariadbServer>> MariadbServer::start() {
  std::string folder = (std::filesystem::temp_directory_path() / "baton-mdb-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return Error::internal("mkdtemp failed: {}", folder);
  std::unique_ptr<MariadbServer> server(new MariadbServer(folder));
  RETURN_IF_ERROR(server->endWithThisProgram());
  RETURN_IF_ERROR(server->script("start"));
  std::ofstream(server->dir_ / "admin.cnf")
      << "[client]\nuser=root\npassword=" << server->readFile("root_password") << "\n";
  return server;
}

MariadbServer::~MariadbServer() {
  (void)script("kill");
  std::error_code ignored;
  std::filesystem::remove_all(dir_, ignored);
}

Status MariadbServer::endWithThisProgram() {
  return runCommand(fmt::format(
      "setsid sh -c 'tail --pid={0} -f /dev/null; {1} kill {2}; rm -rf {2}' >/dev/null 2>&1 "
      "</dev/null &",
      ::getpid(), BATON_SOURCE_DIR "/scripts/private_mariadb.sh", dir_.string()));
}

Status MariadbServer::script(const std::string& action) {
  // The server must not inherit the pipe: popen would wait for its end.
  return runCommand(BATON_SOURCE_DIR "/scripts/private_mariadb.sh " + action + " " + dir_.string());
}

std::string MariadbServer::readFile(const std::string& name) const {
  std::ifstream file(dir_ / name);
  std::string word;
  file >> word;
  return word;
}

int MariadbServer::port() const { return std::stoi(readFile("port")); }
int MariadbServer::pid() const { return std::stoi(readFile("pid")); }

std::string MariadbServer::socketPath() const { return readFile("socket"); }

dao::DatabaseOptions MariadbServer::options(const std::string& database) const {
  dao::DatabaseOptions options;
  options.kind = dao::DatabaseOptions::Kind::Mysql;
  options.host = "127.0.0.1";
  options.port = port();
  options.name = database;
  options.user = "baton_rw";
  options.password = readFile("rw_password");
  options.reader_user = "baton_ro";
  options.reader_password = readFile("ro_password");
  return options;
}

Status MariadbServer::createDatabase(const std::string& name) {
  return admin("CREATE DATABASE `" + name + "` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
}

Status MariadbServer::admin(const std::string& sql) {
  const std::filesystem::path input = dir_ / "admin.sql";
  std::ofstream(input) << sql << ";\n";
  return runCommand("mariadb --defaults-file=" + (dir_ / "admin.cnf").string() +
                    " --socket=" + readFile("socket") + " < " + input.string());
}

Status MariadbServer::kill() { return script("kill"); }

Status MariadbServer::restart() {
  RETURN_IF_ERROR(script("stop"));
  return script("start");
}

}  // namespace baton::test
