#include <array>

#include "conf/key.h"

// The one place where a setting exists. The sample files in this folder and docs/configuration.md
// are written from it (`baton config keys`), and tests keep them equal.
namespace baton::conf {
namespace {

constexpr int64_t kMinute = 60'000;
constexpr int64_t kDay = 24 * 60 * kMinute;
constexpr int64_t kMegabyte = 1024 * 1024;

constexpr Key httpHost(std::string_view def) {
  return {.name = "http.host",
          .type = KeyType::Text,
          .def = def,
          .min = 1,
          .max = 255,
          .doc = "Address to listen on: an address of this host, or 0.0.0.0 for all."};
}
constexpr Key httpPort(std::string_view def) {
  return {.name = "http.port",
          .type = KeyType::Integer,
          .def = def,
          .min = 0,
          .max = 65'535,
          .doc = "Port to listen on; 0 takes any free one."};
}
constexpr Key httpAdvertise() {
  return {.name = "http.advertise",
          .type = KeyType::Address,
          .doc =
              "host:port under which the others reach this process; without it http.host, or "
              "the name of the host when that is 0.0.0.0, with the port."};
}
constexpr Key logFile() {
  return {.name = "log.file",
          .type = KeyType::File,
          .doc = "File for the log, rotated at 64 MB; without it the log goes to standard error."};
}
constexpr Key logLevel() {
  return {.name = "log.level",
          .type = KeyType::Choice,
          .def = "info",
          .choices = "debug|info|warn|error",
          .doc = "The least important lines that are still written."};
}
constexpr Key heartbeatInterval(Reload reload, std::string_view doc) {
  return {.name = "heartbeat.interval",
          .type = KeyType::Duration,
          .min = 200,
          .max = 5 * kMinute,
          .reload = reload,
          .doc = doc};
}
constexpr Key plainClients(std::string_view def) {
  return {.name = "heartbeat.plain_clients",
          .type = KeyType::Boolean,
          .def = def,
          .doc =
              "Accept runners that send neither incarnation nor seq, such as a shell script "
              "with curl. They are not protected against late and doubled requests."};
}
constexpr Key watchdogPeriod() {
  return {.name = "watchdog.period",
          .type = KeyType::Duration,
          .def = "10s",
          .min = 100,
          .max = 5 * kMinute,
          .doc = "How often silent runners are looked for; never less often than H/3."};
}
constexpr Key stuckAfter() {
  return {.name = "watchdog.stuck_after",
          .type = KeyType::Duration,
          .def = "5m",
          .min = 100,
          .max = 24 * 60 * kMinute,
          .doc =
              "A task that is DISPATCHED, TERMINATING (beyond its kill_grace) or in CALLBACK for "
              "longer is flagged as stuck; never less than 3 H."};
}
constexpr Key quarantineFailures() {
  return {.name = "hosts.quarantine_failures",
          .type = KeyType::Integer,
          .def = "5",
          .min = 0,
          .max = 1'000,
          .doc =
              "So many tasks that could not be started on a worker (start_failed, "
              "resource_failed) put it into quarantine; each start that works takes one back. "
              "0: none is quarantined."};
}
constexpr Key quarantineWindow() {
  return {.name = "hosts.quarantine_window",
          .type = KeyType::Duration,
          .def = "10m",
          .min = 1'000,
          .max = 24 * 60 * kMinute,
          .doc = "For how long a start that failed counts."};
}
constexpr Key quarantineCooldown() {
  return {.name = "hosts.quarantine_cooldown",
          .type = KeyType::Duration,
          .def = "5m",
          .min = 1'000,
          .max = 24 * 60 * kMinute,
          .doc =
              "How long a worker in quarantine gets no task; then one at a time, until one "
              "starts."};
}
constexpr Key runningMax() {
  return {.name = "limits.running_max",
          .type = KeyType::Integer,
          .def = "0",
          .min = 0,
          .max = 10'000'000,
          .doc =
              "How many tasks may run in the cluster at a time, unless `baton cluster limit` "
              "said otherwise; 0: no limit."};
}
constexpr Key queueAgeing() {
  return {.name = "queue.ageing",
          .type = KeyType::Duration,
          .def = "6h",
          .min = 1'000,
          .max = 30 * kDay,
          .doc =
              "How much waiting a step of priority is worth: a task that has waited this much "
              "longer goes before one whose priority is one step higher, so that nothing starves."};
}
constexpr Key queueMax() {
  return {
      .name = "queue.max",
      .type = KeyType::Integer,
      .def = "1000000",
      .min = 1,
      .max = 10'000'000,
      .doc =
          "Past so many tasks that have not ended, submits and triggers by hand are answered 503 "
          "with Retry-After; runs of schedules, events and backfills begin all the same."};
}
constexpr Key auditKeep() {
  return {.name = "audit.keep",
          .type = KeyType::Duration,
          .def = "365d",
          .min = kDay,
          .max = 3'660 * kDay,
          .doc = "How long the audit log is kept; older rows are deleted."};
}
constexpr Key callbackAllow() {
  return {
      .name = "callback.allow",
      .type = KeyType::HostList,
      .doc =
          "Hosts to which callbacks may go, written as in their URLs; a callback to any other host "
          "is refused. Empty: none is sent."};
}
constexpr Key callbackTimeout() {
  return {.name = "callback.timeout",
          .type = KeyType::Duration,
          .def = "10s",
          .min = 100,
          .max = 5 * kMinute,
          .doc = "Time for one delivery of a callback, from connecting to the whole answer."};
}
constexpr Key callbackTries() {
  return {.name = "callback.tries",
          .type = KeyType::Integer,
          .def = "8",
          .min = 1,
          .max = 100,
          .doc = "How often a callback is tried before it is put on the dead-letter list."};
}
constexpr Key callbackSecret() {
  return {.name = "callback.secret_file",
          .type = KeyType::File,
          .doc =
              "File with the key that signs callbacks (HMAC-SHA-256); without it they are not "
              "signed."};
}
constexpr Key runners(std::string_view name, std::string_view def) {
  return {.name = name,
          .type = KeyType::Integer,
          .def = def,
          .min = 1,
          .max = 1'000,
          .doc = "How many tasks run here at a time: each runner carries one."};
}
constexpr Key labels(std::string_view name) {
  return {.name = name,
          .type = KeyType::Labels,
          .doc =
              "What this host offers; a task with labels goes only to runners that have them "
              "all. Names beginning with kind. are the worker's own."};
}
constexpr Key plugins(std::string_view name) {
  return {.name = name,
          .type = KeyType::File,
          .doc =
              "Folder of plug-ins, the executables baton-task-KIND; without it there are none. "
              "Folder and files must not be writable by others than root and the worker's "
              "user. It is looked at anew while the worker runs."};
}
constexpr Key outputMax() {
  return {.name = "log.max_bytes",
          .type = KeyType::Bytes,
          .def = "64MB",
          .min = 1024,
          .max = 1024 * 1024 * kMegabyte,
          .doc = "How much of each output stream of a task is kept; the cut is marked."};
}

constexpr std::array kMasterKeys{
    Key{.name = "node.id",
        .type = KeyType::Name,
        .doc = "Name of this master, unique in the cluster; without it the name of the host."},
    Key{.name = "cluster.name",
        .type = KeyType::Name,
        .def = "baton",
        .reload = Reload::Fixed,
        .doc = "Name of the cluster; all its masters say the same, and the database keeps it."},
    httpHost("0.0.0.0"),
    httpPort("7410"),
    httpAdvertise(),
    Key{.name = "zookeeper.hosts",
        .type = KeyType::AddressList,
        .required = true,
        .example = "[10.0.0.1:2181, 10.0.0.2:2181, 10.0.0.3:2181]",
        .doc = "The ensemble. Addresses are better than names: the client resolves names again "
               "at each reconnect, and a resolver that fails then keeps it busy."},
    Key{.name = "zookeeper.root",
        .type = KeyType::Text,
        .def = "/baton",
        .min = 2,
        .max = 255,
        .reload = Reload::Fixed,
        .doc = "Path below which everything lies; missing parents are made. The path of the "
               "cluster is this and its name."},
    Key{.name = "zookeeper.session_ms",
        .type = KeyType::Integer,
        .def = "3000",
        .min = 1'000,
        .max = 60'000,
        .doc = "Silence in ms after which ZooKeeper drops this master. The ensemble may round it "
               "up (minSessionTimeout)."},
    Key{.name = "zookeeper.digest_file",
        .type = KeyType::File,
        .doc = "File with user:password; nodes are then made for that user alone."},
    Key{.name = "ha.priority",
        .type = KeyType::Integer,
        .def = "100",
        .min = 0,
        .max = 1'000,
        .doc = "The highest healthy one is the first to contend; 0: never lead, only watch."},
    Key{.name = "ha.eligible",
        .type = KeyType::Boolean,
        .def = "true",
        .doc = "false: never lead, only watch."},
    Key{.name = "database.kind",
        .type = KeyType::Choice,
        .def = "mysql",
        .choices = "mysql",
        .reload = Reload::Fixed,
        .doc = "MySQL or MariaDB. SQLite belongs to `baton standalone`."},
    Key{.name = "database.host",
        .type = KeyType::Text,
        .min = 1,
        .max = 255,
        .example = "10.0.0.10",
        .doc = "Host of the database; either this or database.socket."},
    Key{.name = "database.port",
        .type = KeyType::Integer,
        .def = "3306",
        .min = 1,
        .max = 65'535,
        .doc = "Port of the database."},
    Key{.name = "database.socket",
        .type = KeyType::File,
        .doc = "Local socket of the database; either this or database.host."},
    Key{.name = "database.name",
        .type = KeyType::Text,
        .def = "baton",
        .min = 1,
        .max = 64,
        .reload = Reload::Fixed,
        .doc = "Database (schema) of the cluster."},
    Key{.name = "database.user",
        .type = KeyType::Text,
        .def = "baton",
        .min = 1,
        .max = 80,
        .doc = "User that reads and writes. One for each cluster: a takeover ends all its "
               "connections."},
    Key{.name = "database.password_file",
        .type = KeyType::File,
        .doc = "File with that user's password; without it the user needs none."},
    Key{.name = "database.reader_user",
        .type = KeyType::Text,
        .min = 1,
        .max = 80,
        .doc = "User that may only read, for lists and history; without it database.user is "
               "used in read-only transactions."},
    Key{.name = "database.reader_password_file",
        .type = KeyType::File,
        .doc = "File with the password of database.reader_user."},
    Key{.name = "database.tls_ca",
        .type = KeyType::File,
        .doc = "Certificates that the database's must be signed by; with it connections are "
               "encrypted or refused."},
    heartbeatInterval(
        Reload::Fixed,
        "H, the pause between heartbeats of a runner. Leave it out to take what the cluster was "
        "made with (30s unless `cluster init --heartbeat` said otherwise); a master whose value "
        "differs refuses to start."),
    plainClients("false"),
    watchdogPeriod(),
    stuckAfter(),
    quarantineFailures(),
    quarantineWindow(),
    quarantineCooldown(),
    runningMax(),
    queueAgeing(),
    queueMax(),
    auditKeep(),
    callbackAllow(),
    callbackTimeout(),
    callbackTries(),
    callbackSecret(),
    logFile(),
    logLevel(),
    Key{.name = "security.token_file",
        .type = KeyType::File,
        .required = true,
        .example = "/etc/baton/token",
        .doc = "File with the token of people and programs, at least 16 characters, not readable "
               "by everybody."},
    Key{.name = "security.worker_token_file",
        .type = KeyType::File,
        .required = true,
        .example = "/etc/baton/worker_token",
        .doc = "File with the token of the workers; another one than security.token_file."},
};

constexpr std::array kWorkerKeys{
    Key{.name = "worker.id",
        .type = KeyType::Name,
        .doc = "Name of this worker, unique in the cluster and the same for ever; without it the "
               "name of the host."},
    runners("worker.runners", "4"),
    labels("worker.labels"),
    plugins("worker.plugins"),
    Key{.name = "worker.masters",
        .type = KeyType::AddressList,
        .required = true,
        .example = "[10.0.0.1:7410, 10.0.0.2:7410]",
        .doc = "All masters of the cluster; the worker finds out which one leads."},
    Key{.name = "worker.data_dir",
        .type = KeyType::File,
        .def = "/var/lib/baton/worker",
        .doc = "Folder for the journal, results and outputs of tasks. It must outlive a restart "
               "of the host."},
    httpHost("0.0.0.0"),
    httpPort("7411"),
    httpAdvertise(),
    outputMax(),
    logFile(),
    logLevel(),
    Key{.name = "security.worker_token_file",
        .type = KeyType::File,
        .required = true,
        .example = "/etc/baton/worker_token",
        .doc = "File with the token of the workers, the same as on the masters."},
};

constexpr std::array kStandaloneKeys{
    Key{.name = "standalone.data_dir",
        .type = KeyType::File,
        .doc = "Folder for database, tokens, journal and outputs; without it baton/standalone in "
               "the user's state folder (XDG_STATE_HOME, ~/.local/state)."},
    runners("standalone.runners", "4"),
    labels("standalone.labels"),
    plugins("standalone.plugins"),
    httpHost("127.0.0.1"),
    httpPort("7410"),
    heartbeatInterval(
        Reload::Restart,
        "H, the pause between heartbeats of a runner. Leave it out to keep that of the last start "
        "(30s at the first)."),
    plainClients("true"),
    watchdogPeriod(),
    stuckAfter(),
    quarantineFailures(),
    quarantineWindow(),
    quarantineCooldown(),
    runningMax(),
    queueAgeing(),
    queueMax(),
    auditKeep(),
    callbackAllow(),
    callbackTimeout(),
    callbackTries(),
    callbackSecret(),
    outputMax(),
    logFile(),
    logLevel(),
};

}  // namespace

std::span<const Key> keysOf(Program program) {
  switch (program) {
    case Program::Master:
      return kMasterKeys;
    case Program::Worker:
      return kWorkerKeys;
    case Program::Standalone:
      return kStandaloneKeys;
  }
  return {};
}

}  // namespace baton::conf
