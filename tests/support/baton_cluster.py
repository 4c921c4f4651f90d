"""A whole cluster of baton, or one standalone, as real processes under a temporary folder.

    with Cluster(masters=2, workers=3, runners=4) as cluster:
        task = cluster.submit({"command": ["true"]})
        cluster.kill(cluster.active())
        cluster.wait_active()
        assert cluster.wait_task(task)["status"] == "FINISHED"

The program is BATON_PROGRAM (the build folder of the release preset without it). Nothing
outlives the test. The folder with all logs is kept, and named, when a test fails or BATON_KEEP
is set."""

import http.client
import os
import secrets
import subprocess
import threading
import unittest

from baton_process import Timeout, boot_now, eventually, free_port, is_alive, process_state
from baton_programs import PROGRAM, ROOT, Programs, environment_of
from baton_rest import TERMINAL, Answer, RequestFailed, Rest
from fake_runner import Runner
from task_ledger import Ledger

__all__ = ["Answer", "Cluster", "DrillCase", "Ledger", "RequestFailed", "Rest", "Runner",
           "Standalone", "TERMINAL", "Timeout", "boot_now", "eventually", "free_port", "is_alive",
           "long_run", "process_state"]


def long_run():
    """True if the full durations were asked for (BATON_LONG=1)."""
    return os.environ.get("BATON_LONG") == "1"


def _secret_file(path):
    token = secrets.token_hex(20)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(token)
    return token


class Cluster(Programs):
    """Masters master1.. and workers worker1.. with a private ZooKeeper and MariaDB.

    settings / worker_settings: {"watchdog.period": "300ms"} for all masters / workers.
    zk_link, db_link: a function (node, "host:port") -> "host:port" that puts a link of the test in
    between. Without db_link the masters use the database's socket.
    Stop points are armed at run time with arm()."""

    def __init__(self, masters=2, workers=3, runners=4, heartbeat="1s", session_ms=2000, zk=1,
                 tick=500, root=None, settings=None, worker_settings=None, zk_link=None,
                 db_link=None, db_args="", start=True):
        super().__init__("baton-cluster-")
        self.masters = [f"master{i + 1}" for i in range(masters)]
        self.workers = [f"worker{i + 1}" for i in range(workers)]
        self.runners = runners
        self.heartbeat = heartbeat
        self.session_ms = session_ms
        self.zk_members = zk
        self.tick = tick
        self.root = root
        self.zk_link = zk_link
        self.db_link = db_link
        self.settings = {"watchdog.period": "300ms", **(settings or {})}
        self.worker_settings = dict(worker_settings or {})
        self.ports = {}
        self._db_args = db_args
        try:
            self.token = _secret_file(self.file("token"))
            self.worker_token = _secret_file(self.file("worker_token"))
            self._start_services()
            for master in self.masters:
                self._write_master(master)
            for worker in self.workers:
                self._write_worker(worker)
            self.rest = Rest([self.address(m) for m in self.masters], self.token)
            self.worker_rest = Rest([self.address(m) for m in self.masters], self.worker_token)
            self.init()
            if start:
                self._start_all()
        except BaseException:
            self.folder.keep = True
            self.close()
            raise

    # Services -------------------------------------------------------------------------------

    def _script(self, name, *arguments, env=None):
        done = subprocess.run([os.path.join(ROOT, "scripts", name), *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=90,
                              stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
        if done.returncode != 0:
            raise RuntimeError(f"{name} {' '.join(arguments)}: {done.stdout.decode()}")
        return done.stdout.decode()

    def _start_services(self):
        errors = []

        def start_zk():
            try:
                self._script("private_zookeeper.sh", "start", self.file("zk"), "--members",
                             str(self.zk_members), "--tick", str(self.tick))
            except Exception as error:
                errors.append(error)
        thread = threading.Thread(target=start_zk)
        thread.start()
        try:
            self.start_db()
        finally:
            thread.join()
        if errors:
            raise errors[0]
        with open(self.file("zk", "connect")) as file:
            self.zk_addresses = file.read().strip().split(",")

    def stop_zk(self):
        self._script("private_zookeeper.sh", "stop", self.file("zk"))

    def start_zk(self):
        for n in range(1, self.zk_members + 1):
            # A member of a quorum serves only when there are two: all are started at once.
            threading.Thread(target=self.start_zk_member, args=(n,)).start()
        eventually(lambda: "mode=down" not in self.zk_status(), 30, "ZooKeeper")

    def stop_zk_member(self, n, sig="KILL"):
        self._script("private_zookeeper.sh", "stop-member", self.file("zk"), str(n), sig)

    def start_zk_member(self, n):
        self._script("private_zookeeper.sh", "start-member", self.file("zk"), str(n))

    def zk_status(self):
        return self._script("private_zookeeper.sh", "status", self.file("zk"))

    def start_db(self):
        self._script("private_mariadb.sh", "start", self.file("db"),
                     env={"BATON_MARIADB_ARGS": self._db_args})

    def stop_db(self, how="stop"):
        """how: stop (in an orderly way) or kill."""
        self._script("private_mariadb.sh", how, self.file("db"))

    def db_pid(self):
        with open(self.file("db", "pid")) as file:
            return int(file.read())

    def sql(self, statement, user="baton_ro", database="baton"):
        """Rows as lists of text (None for NULL). Users: baton_ro, baton_rw, root."""
        short = {"baton_ro": "ro", "baton_rw": "rw", "root": "root"}[user]
        with open(self.file("db", short + "_password")) as file:
            password = file.read().strip()
        command = ["mariadb", "--no-defaults", f"--user={user}",
                   f"--socket={self.file('db', 's')}", "--batch", "--skip-column-names", database]
        done = subprocess.run(command, input=statement.encode(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60,
                              env={**os.environ, "MYSQL_PWD": password})
        if done.returncode != 0:
            raise RuntimeError(done.stderr.decode())
        return [[None if cell == "NULL" else cell for cell in line.split("\t")]
                for line in done.stdout.decode().splitlines()]

    def number(self, statement, user="baton_ro"):
        """The one number that a statement returns."""
        return int(self.sql(statement, user)[0][0] or 0)

    # Configuration --------------------------------------------------------------------------

    def address(self, master):
        return f"127.0.0.1:{self.ports.setdefault(master, free_port())}"

    def _write(self, node, text):
        os.makedirs(self.file(node), exist_ok=True)
        with open(self.file(node, "config.yaml"), "w") as file:
            file.write(text)

    def _write_master(self, node):
        hosts = [self.zk_link(node, a) if self.zk_link else a for a in self.zk_addresses]
        root = f"\n  root: {self.root}" if self.root else ""
        database = f"socket: {self.file('db', 's')}"
        if self.db_link:
            with open(self.file("db", "port")) as port:
                host, _, port = self.db_link(node, f"127.0.0.1:{port.read().strip()}").rpartition(":")
            database = f"host: {host}\n  port: {port}"
        self._write(node, f"""
node:
  id: {node}
cluster:
  name: drill
http:
  host: 127.0.0.1
  port: {self.address(node).rpartition(":")[2]}
zookeeper:
  hosts: [{", ".join(hosts)}]
  session_ms: {self.session_ms}{root}
database:
  {database}
  user: baton_rw
  password_file: {self.file("db", "rw_password")}
  reader_user: baton_ro
  reader_password_file: {self.file("db", "ro_password")}
callback:
  allow: [127.0.0.1]
security:
  token_file: {self.file("token")}
  worker_token_file: {self.file("worker_token")}
""")

    def _write_worker(self, node):
        self._write(node, f"""
worker:
  id: {node}
  runners: {self.runners}
  labels: {{worker: {node}}}
  masters: [{", ".join(self.address(m) for m in self.masters)}]
  data_dir: {self.worker_data(node)}
http:
  host: 127.0.0.1
  port: 0
security:
  worker_token_file: {self.file("worker_token")}
""")

    # Life -----------------------------------------------------------------------------------

    def init(self):
        code, said = self.try_init("--heartbeat", self.heartbeat)
        if code != 0:
            raise RuntimeError(f"cluster init: {said}")

    def try_init(self, *options):
        """`baton cluster init` with these options; returns (code, all that it said)."""
        done = subprocess.run([PROGRAM, "cluster", "init", "--config",
                               self.file(self.masters[0], "config.yaml"), *options],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
                              env=environment_of(None))
        return done.returncode, done.stdout.decode()

    def _start_all(self):
        for master in self.masters:
            self.start_master(master)
        for worker in self.workers:
            self.start_worker(worker)
        self.wait_active(20)
        expected = len(self.workers) * self.runners
        eventually(lambda: len(self.live_runners()) >= expected, 20, f"{expected} runners")

    def start_master(self, node, env=None, settings=None):
        self._start(node, ["master", "--config", self.file(node, "config.yaml")],
                    {**self.settings, **(settings or {})},
                    {"BATON_STOP_POINT_FILE": self._stop_file(node), **(env or {})})

    def start_worker(self, node, env=None, settings=None):
        os.makedirs(self.worker_data(node), exist_ok=True)
        self._start(node, ["worker", "--config", self.file(node, "config.yaml")],
                    {**self.worker_settings, **(settings or {})}, env)

    # Who leads ------------------------------------------------------------------------------

    def view(self, master, timeout=1.0):
        """GET /cluster of that master, None without an answer."""
        if not self.running(master) or self.stopped(master):
            return None
        try:
            answer = self.rest.once(self.address(master), "GET", "/api/v1/cluster",
                                    timeout=timeout)
        except (OSError, http.client.HTTPException):
            return None
        return answer.json if answer.status == 200 else None

    def roles(self):
        """{master: "active" | "standby" | other} of those that answer."""
        views = {m: self.view(m) for m in self.masters}
        return {m: view["role"] for m, view in views.items() if view}

    def with_role(self, role):
        return [master for master, is_now in self.roles().items() if is_now == role]

    def active(self):
        """The active master, None without one; two are a failure."""
        active = self.with_role("active")
        assert len(active) < 2, f"two masters say that they lead: {active}"
        return active[0] if active else None

    def standby(self):
        standby = self.with_role("standby")
        return standby[0] if standby else None

    def wait_active(self, timeout=10.0, besides=None):
        """Waits for an active master (another than `besides`); returns it."""
        return eventually(lambda: (a := self.active()) and a != besides and a, timeout,
                          "an active master")

    def wait_standby(self, timeout=10.0):
        return eventually(self.standby, timeout, "a standby master")

    def epoch(self):
        return self.number("SELECT epoch FROM ha_epoch")

    def history(self):
        return self.get("/api/v1/cluster/history")["items"]

    def first_dispatch(self, epoch, timeout=10.0):
        """Wall time (s) of the first order that was given under that epoch."""
        def look():
            return self.number("SELECT COALESCE(MIN(dispatched_at), 0) FROM attempt "
                               f"WHERE dispatch_epoch >= {epoch}")
        return eventually(look, timeout, f"a dispatch under epoch {epoch}") / 1e6

    def runner(self, runner_id, labels=None):
        return Runner(self.worker_rest, runner_id, labels)


class Standalone(Programs):
    """One process `baton standalone` (SQLite, one worker inside)."""

    def __init__(self, runners=4, heartbeat="1s", settings=None, start=True):
        super().__init__("baton-standalone-")
        self.port = free_port()
        self.settings = {"standalone.data_dir": self.file("data"), "standalone.runners": runners,
                         "http.port": self.port, "heartbeat.interval": heartbeat,
                         "watchdog.period": "300ms", **(settings or {})}
        try:
            if start:
                self.start()
        except BaseException:
            self.folder.keep = True
            self.close()
            raise

    def worker_data(self, worker="standalone"):
        return self.file("data", "worker")

    def start(self, env=None, timeout=15.0):
        # The settings file of the command line goes to this folder, not to the user's.
        homes = {"HOME": self.path, "XDG_CONFIG_HOME": self.file("config")}
        self._start("standalone", ["standalone"], self.settings,
                    {**homes, "BATON_STOP_POINT_FILE": self._stop_file("standalone"),
                     **(env or {})})
        # The folder may lie on a disk that only the program sees.
        data = f"/proc/{self.pid('standalone')}/root{self.file('data')}"

        def token(name):
            try:
                with open(os.path.join(data, name)) as file:
                    return file.read().strip()
            except OSError:
                return None
        self.token = eventually(lambda: token("token"), timeout, "the token")
        self.worker_token = eventually(lambda: token("worker_token"), timeout, "the worker's token")
        address = [f"127.0.0.1:{self.port}"]
        self.rest = Rest(address, self.token)
        self.worker_rest = Rest(address, self.worker_token)
        eventually(self.active, timeout, "standalone being active")

    def active(self):
        try:
            answer = self.rest.once(self.rest.addresses[0], "GET", "/api/v1/cluster", timeout=2)
        except (OSError, http.client.HTTPException):
            return False
        return answer.status == 200 and answer.json["role"] == "active"

    def runner(self, runner_id, labels=None):
        return Runner(self.worker_rest, runner_id, labels)


class DrillCase(unittest.TestCase):
    """Keeps the folder of the cluster of a failed test; `cluster(...)` lasts for one test."""

    def cluster(self, **options):
        return self._keep_if_failed(Cluster(**options))

    def standalone(self, **options):
        return self._keep_if_failed(Standalone(**options))

    def _keep_if_failed(self, programs):
        def close():
            programs.folder.keep = programs.folder.keep or self.has_failed()
            programs.close()
        self.addCleanup(close)
        return programs

    def has_failed(self):
        """True if a part of this test failed; to be asked from a cleanup."""
        result = self._outcome.result
        failed = [getattr(test, "test_case", test) for test, _ in result.failures + result.errors]
        later = getattr(self._outcome, "errors", ())  # Before Python 3.11 they get there later.
        return self in failed or any(error for _, error in later)

    def say(self, *words):
        """A line of the report of a drill: numbers that a reader wants to see."""
        print(f"[{self._testMethodName}]", *words, flush=True)
