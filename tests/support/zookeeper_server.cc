#include "tests/support/zookeeper_server.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/base/random.h"
#include "common/base/status.h"

namespace baton::test {
namespace {

std::string firstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

ZookeeperServer::ZookeeperServer(const std::string& script, int members)
    : script_(script),
      directory_(std::filesystem::temp_directory_path() / ("baton-zk-" + randomHex(6))) {
  run("start " + directory_ + " --members " + std::to_string(members));
  connect_ = firstLine(directory_ + "/connect");
}

ZookeeperServer::~ZookeeperServer() {
  run("stop " + directory_);
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

uint16_t ZookeeperServer::port(int member) const {
  return static_cast<uint16_t>(
      std::stoi(firstLine(directory_ + "/" + std::to_string(member) + "/port")));
}

void ZookeeperServer::stopMember(int member, const std::string& signal) {
  run("stop-member " + directory_ + " " + std::to_string(member) + " " + signal);
}

void ZookeeperServer::startMember(int member) {
  run("start-member " + directory_ + " " + std::to_string(member));
}

void ZookeeperServer::run(const std::string& arguments) const {
  CHECK(std::system(("'" + script_ + "' " + arguments).c_str()) == 0);
}

}  // namespace baton::test
