#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "dao/database.h"

namespace baton::test {

// A private MariaDB server of one test program (scripts/private_mariadb.sh) in a temporary folder.
// The destructor ends it and removes the folder.
class MariadbServer {
 public:
  // Errors: Unavailable (the script's words).
  static Result<std::unique_ptr<MariadbServer>> start();
  ~MariadbServer();
  MariadbServer(const MariadbServer&) = delete;
  MariadbServer& operator=(const MariadbServer&) = delete;

  // Options over TCP with both users. The users may use any database named baton…
  dao::DatabaseOptions options(const std::string& database = "baton") const;
  Status createDatabase(const std::string& name);
  // Runs statements as root.
  Status admin(const std::string& sql);

  Status kill();     // As a crash would.
  Status restart();  // After kill(), or an orderly stop and start.
  int port() const;
  int pid() const;
  std::string socketPath() const;

 private:
  explicit MariadbServer(std::filesystem::path dir) : dir_(std::move(dir)) {}
  Status script(const std::string& action);
  // A test program that is killed must not leave a server behind.
  Status endWithThisProgram();
  std::string readFile(const std::string& name) const;

  const std::filesystem::path dir_;
};

}  // namespace baton::test
