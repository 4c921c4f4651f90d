#include "tests/bench/bench_cluster.h"

#include <linux/magic.h>
#include <signal.h>
#include <sys/statfs.h>

#include <fstream>
#include <thread>

#include "common/base/random.h"
#include "conf/master_config.h"
#include "conf/secret_file.h"
#include "conf/worker_config.h"
#include "dao/mysql/mysql_backend.h"
#include "net/socket.h"
#include "worker/shepherd_records.h"

namespace baton::bench {
namespace {

namespace fs = std::filesystem;

constexpr Millis kStartPatience{60'000};

Result<fs::path> findScripts(const BenchOptions& options) {
  std::vector<fs::path> places;
  if (!options.scripts.empty()) {
    places.push_back(options.scripts);
  } else {
    std::error_code ignored;
    for (fs::path at = fs::read_symlink("/proc/self/exe", ignored); at != at.root_path();) {
      at = at.parent_path();
      places.push_back(at / "scripts");
    }
    places.push_back(fs::current_path(ignored) / "scripts");
  }
  for (const fs::path& place : places) {
    if (fs::exists(place / "private_mariadb.sh")) return fs::absolute(place);
  }
  return Error::notFound(
      "private_mariadb.sh is not beside the program; name its folder by --scripts");
}

std::string firstWord(const fs::path& path) {
  std::ifstream in(path);
  std::string word;
  in >> word;
  return word;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

Status writeText(const fs::path& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  out.flush();
  if (out) return {};
  return Error::unavailable("{} can't be written", path.string());
}

// Ends the shepherd of a worker that is gone and all that it still runs.
void endShepherd(const std::string& worker_dir) {
  const std::string pid = firstWord(worker_dir + "/" + worker::kShepherdLockName);
  if (pid.empty()) return;
  const std::string link = "/proc/" + pid + "/cmdline";
  std::ifstream in(link);
  std::string command;
  std::getline(in, command);
  if (command.find(worker_dir) == command.npos) return;
  kill(static_cast<pid_t>(std::stol(pid)), SIGKILL);
}

}  // namespace

bool onTmpfs(const std::string& path) {
  struct statfs info {};
  if (statfs(path.c_str(), &info) != 0) return false;
  return info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC;
}

Result<std::unique_ptr<BenchCluster>> BenchCluster::start(const BenchOptions& options,
                                                          const ClusterPlan& plan,
                                                          const fs::path& dir) {
  if (onTmpfs(dir.string())) {
    return Error::conflict("{} is on tmpfs, where no commit waits for a disk", dir.string());
  }
  std::unique_ptr<BenchCluster> cluster(new BenchCluster);
  cluster->dir_ = dir;
  std::error_code failed;
  cluster->baton_ = fs::read_symlink("/proc/self/exe", failed).string();
  ASSIGN_OR_RETURN(cluster->scripts_, findScripts(options));
  RETURN_IF_ERROR(cluster->makeServers(options));
  RETURN_IF_ERROR(cluster->makeMasters(plan));
  RETURN_IF_ERROR(cluster->openDatabase());
  ASSIGN_OR_RETURN([[maybe_unused]] const std::string active, cluster->activeMaster());
  RETURN_IF_ERROR(cluster->makeWorkers(plan));
  return cluster;
}

Result<std::unique_ptr<BenchCluster>> BenchCluster::attach(const BenchOptions& options) {
  ASSIGN_OR_RETURN(const conf::MasterConfig config, conf::loadMasterConfig(options.config, {}));
  std::unique_ptr<BenchCluster> cluster(new BenchCluster);
  cluster->masters_ = options.masters;
  cluster->worker_dirs_ = options.worker_dirs;
  cluster->token_ = config.token;
  cluster->worker_token_ = config.worker_token;
  dao::DatabaseOptions& database = cluster->database_options_;
  database.kind = dao::DatabaseOptions::Kind::Mysql;
  database.host = config.database.host;
  database.port = config.database.port;
  database.socket = config.database.socket;
  database.name = config.database.name;
  database.user = config.database.user;
  database.password = config.database.password;
  database.reader_user = config.database.reader_user;
  database.reader_password = config.database.reader_password;
  database.tls_ca = config.database.tls_ca;
  RETURN_IF_ERROR(cluster->openDatabase());
  ASSIGN_OR_RETURN([[maybe_unused]] const std::string active, cluster->activeMaster());
  return cluster;
}

BenchCluster::~BenchCluster() {
  worker_processes_.clear();
  for (const std::string& dir : worker_dirs_) {
    if (!dir_.empty()) endShepherd(dir);
  }
  master_processes_.clear();
  database_.reset();
  if (has_zookeeper_) {
    (void)runToEnd({scripts_ / "private_zookeeper.sh", "stop", dir_ / "zk"}, logOf("zk"));
  }
  if (has_database_) {
    (void)runToEnd({scripts_ / "private_mariadb.sh", "stop", dir_ / "db"}, logOf("db"));
  }
}

Status BenchCluster::makeServers(const BenchOptions&) {
  RETURN_IF_ERROR(conf::writeSecretFile((dir_ / "token").string(), randomHex(24)));
  RETURN_IF_ERROR(conf::writeSecretFile((dir_ / "worker_token").string(), randomHex(24)));
  token_ = firstWord(dir_ / "token");
  worker_token_ = firstWord(dir_ / "worker_token");
  has_database_ = true;
  RETURN_IF_ERROR(runToEnd({scripts_ / "private_mariadb.sh", "start", dir_ / "db"}, logOf("db")));
  has_zookeeper_ = true;
  RETURN_IF_ERROR(runToEnd({scripts_ / "private_zookeeper.sh", "start", dir_ / "zk"}, logOf("zk")));
  dao::DatabaseOptions& database = database_options_;
  database.kind = dao::DatabaseOptions::Kind::Mysql;
  database.socket = firstWord(dir_ / "db/socket");
  database.name = "baton";
  database.user = "baton_rw";
  database.password = firstWord(dir_ / "db/rw_password");
  database.reader_user = "baton_ro";
  database.reader_password = firstWord(dir_ / "db/ro_password");
  return {};
}

Status BenchCluster::makeMasters(const ClusterPlan& plan) {
  for (uint32_t i = 1; i <= plan.masters; ++i) {
    const fs::path chosen = dir_ / fmt::format("master{}.port", i);
    RETURN_IF_ERROR(runToEnd({scripts_ / "free_ports.py"}, chosen));
    const std::string port = firstWord(chosen);
    masters_.push_back("127.0.0.1:" + port);
    RETURN_IF_ERROR(writeText(
        dir_ / fmt::format("master{}.yaml", i),
        fmt::format("node: {{id: master{}}}\ncluster: {{name: bench}}\n"
                    "http: {{host: 127.0.0.1, port: {}}}\nzookeeper: {{hosts: [{}]}}\n"
                    "database:\n  socket: {}\n  user: baton_rw\n  password_file: {}\n"
                    "  reader_user: baton_ro\n  reader_password_file: {}\n"
                    "security: {{token_file: {}, worker_token_file: {}}}\n",
                    i, port, firstWord(dir_ / "zk/connect"), database_options_.socket,
                    (dir_ / "db/rw_password").string(), (dir_ / "db/ro_password").string(),
                    (dir_ / "token").string(), (dir_ / "worker_token").string())));
  }
  RETURN_IF_ERROR(
      runToEnd({baton_, "cluster", "init", "--config", dir_ / "master1.yaml"}, logOf("init")));
  master_processes_.resize(plan.masters);
  for (uint32_t i = 0; i < plan.masters; ++i) RETURN_IF_ERROR(startMaster(i));
  return {};
}

Status BenchCluster::startMaster(size_t index) {
  const std::string name = fmt::format("master{}", index + 1);
  ASSIGN_OR_RETURN(
      master_processes_[index],
      Child::start({baton_, "master", "--config", dir_ / (name + ".yaml")}, logOf(name)));
  return {};
}

Status BenchCluster::makeWorkers(const ClusterPlan& plan) {
  size_t runners = 0;
  for (uint32_t i = 1; i <= plan.workers; ++i) {
    const std::string name = fmt::format("worker{}", i);
    worker_dirs_.push_back((dir_ / name).string());
    const std::string file = (dir_ / (name + ".yaml")).string();
    const std::string slots = plan.runners == 0 ? "" : fmt::format("  runners: {}\n", plan.runners);
    RETURN_IF_ERROR(writeText(
        file, fmt::format("worker:\n  id: {}\n{}  labels: {{bench: \"yes\"}}\n  masters: [{}]\n"
                          "  data_dir: {}\nhttp: {{host: 127.0.0.1, port: 0}}\n"
                          "security: {{worker_token_file: {}}}\n",
                          name, slots, joined(masters_), worker_dirs_.back(),
                          (dir_ / "worker_token").string())));
    ASSIGN_OR_RETURN(const conf::WorkerConfig config, conf::loadWorkerConfig(file, {}));
    runners += static_cast<size_t>(config.runners);
    ASSIGN_OR_RETURN(Child process,
                     Child::start({baton_, "worker", "--config", file}, logOf(name)));
    worker_processes_.push_back(std::move(process));
  }
  return awaitRunners(runners);
}

Status BenchCluster::openDatabase() {
  ASSIGN_OR_RETURN(database_, dao::openDatabase(database_options_));
  return checkDurable();
}

Status BenchCluster::checkDurable() {
  ASSIGN_OR_RETURN(const auto warnings, database_->durabilityWarnings());
  if (!warnings.empty()) return Error::conflict("the database is not durable: {}", warnings[0]);
  ASSIGN_OR_RETURN(const auto sql, readingSession());
  std::string flush, doublewrite, folder, version;
  RETURN_IF_ERROR(
      sql->query("SELECT @@innodb_flush_log_at_trx_commit,@@innodb_doublewrite,@@datadir,@@version",
                 {}, [&](dao::SqlRow& row) {
                   flush = row.text(0);
                   doublewrite = row.text(1);
                   folder = row.text(2);
                   version = row.text(3);
                   return true;
                 }));
  settings_ = {{"database", version},
               {"innodb_flush_log_at_trx_commit", flush},
               {"innodb_doublewrite", doublewrite},
               {"data folder", folder + (onTmpfs(folder) ? " (tmpfs)" : "")}};
  if (flush != "1") return Error::conflict("innodb_flush_log_at_trx_commit is {}, not 1", flush);
  if (doublewrite == "0" || doublewrite == "OFF") {
    return Error::conflict("innodb_doublewrite is {}", doublewrite);
  }
  if (onTmpfs(folder)) return Error::conflict("the database's folder {} is on tmpfs", folder);
  return {};
}

Result<std::unique_ptr<dao::SqlSession>> BenchCluster::writingSession() const {
  return dao::MysqlBackend(database_options_).connect(dao::SessionKind::Schema);
}

Result<std::unique_ptr<dao::SqlSession>> BenchCluster::readingSession() const {
  return dao::MysqlBackend(database_options_).connect(dao::SessionKind::Reader);
}

Result<webapi::ApiClient> BenchCluster::makeClient() const {
  webapi::ApiClient::Options options;
  options.masters = masters_;
  options.token = token_;
  options.patience = kStartPatience;
  static const SystemClock clock;
  return webapi::ApiClient::make(std::move(options), clock);
}

Result<std::string> BenchCluster::activeMaster() {
  const auto until = std::chrono::steady_clock::now() + kStartPatience;
  std::string last;
  while (std::chrono::steady_clock::now() < until) {
    for (const std::string& address : masters_) {
      webapi::ApiClient::Options options;
      options.masters = {address};
      options.token = token_;
      options.patience = Millis(1);
      const SystemClock clock;
      ASSIGN_OR_RETURN(auto client, webapi::ApiClient::make(std::move(options), clock));
      const auto view = client.get("/api/v1/cluster");
      if (view.ok() && view->value("role", "") == "active") return address;
      if (!view.ok()) last = view.error().message();
    }
    std::this_thread::sleep_for(Millis(20));
  }
  return Error::unavailable("no master leads after {} s: {}", kStartPatience.count() / 1000, last);
}

Status BenchCluster::awaitRunners(size_t count) {
  ASSIGN_OR_RETURN(auto client, makeClient());
  const auto until = std::chrono::steady_clock::now() + kStartPatience;
  size_t seen = 0;
  while (std::chrono::steady_clock::now() < until) {
    ASSIGN_OR_RETURN(const Json runners, client.get("/api/v1/runners?limit=1&total=true"));
    seen = runners.at("total").get<size_t>();
    if (seen >= count) return {};
    std::this_thread::sleep_for(Millis(20));
  }
  return Error::unavailable("{} of {} runners have reported", seen, count);
}

}  // namespace baton::bench
