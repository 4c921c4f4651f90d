#include "dao/mysql/mysql_connect.h"

#include <cppconn/driver.h>
#include <mysql_driver.h>

#include <algorithm>
#include <mutex>

namespace baton::dao {
namespace {

// Changes of a schema with many rows may take long.
constexpr int kSchemaReadSeconds = 600;

int wholeSeconds(Millis time) {
  return static_cast<int>(std::max<int64_t>(1, (time.count() + 999) / 1'000));
}

// The connector's table of drivers is not guarded.
sql::Driver& mysqlDriver() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  return *sql::mysql::get_driver_instance();
}

bool isReaderUser(const DatabaseOptions& options, SessionKind kind) {
  return kind == SessionKind::Reader && !options.reader_user.empty();
}

}  // namespace

const std::string& mysqlUser(const DatabaseOptions& options, SessionKind kind) {
  return isReaderUser(options, kind) ? options.reader_user : options.user;
}

std::unique_ptr<sql::Connection> mysqlConnect(const DatabaseOptions& options, SessionKind kind) {
  sql::ConnectOptionsMap map;
  map["hostName"] =
      sql::SQLString(options.host.empty() ? "unix://" + options.socket
                                          : fmt::format("tcp://{}:{}", options.host, options.port));
  map["userName"] = sql::SQLString(mysqlUser(options, kind));
  map["password"] =
      sql::SQLString(isReaderUser(options, kind) ? options.reader_password : options.password);
  map["schema"] = sql::SQLString(options.name);
  map["OPT_CHARSET_NAME"] = sql::SQLString("utf8mb4");
  map["OPT_RECONNECT"] = false;
  map["OPT_CONNECT_TIMEOUT"] = wholeSeconds(options.connect_timeout);
  map["OPT_READ_TIMEOUT"] =
      kind == SessionKind::Schema ? kSchemaReadSeconds : wholeSeconds(options.io_timeout);
  map["OPT_WRITE_TIMEOUT"] = wholeSeconds(options.io_timeout);
  if (!options.tls_ca.empty()) map["sslCA"] = sql::SQLString(options.tls_ca);
  return std::unique_ptr<sql::Connection>(mysqlDriver().connect(map));
}

}  // namespace baton::dao
