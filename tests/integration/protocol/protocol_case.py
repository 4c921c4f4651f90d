"""What the tests of the protocol share: one cluster, and runners that speak by hand.

H is one second, so a runner is lost after three. There is no worker: every heartbeat is written by
a test. Each runner has a label of its own and each task asks for the label of its runner, so the
tests do not take each other's orders."""

import atexit
import datetime
import itertools
import os
import subprocess
import threading
import unittest

from baton_cluster import Cluster

H = 1.0
LOST_AFTER = 3 * H

# Stored integers: a contract of their own.
CREATED, QUEUED, DISPATCHED, RUNNING, CALLBACK, FINISHED = range(6)
FAILED, SKIPPED, TERMINATING, TERMINATED, RETRYING = range(6, 11)
UNDELIVERED_ATTEMPT = 5

_numbers = itertools.count(1)
_shared = None


def shared_cluster():
    """The cluster of all modules: master1 and master2, one of them active."""
    global _shared
    if _shared is None:
        _shared = Cluster(masters=2, workers=0, settings={"heartbeat.plain_clients": "false"})
        atexit.register(_close)
    return _shared


def _close():
    for rest in (_shared.rest, _shared.worker_rest):
        rest.close()
    _shared.close()


class Held(threading.Thread):
    """A heartbeat under way on a connection of its own."""

    def __init__(self, runner, report, address=None):
        super().__init__(daemon=True)
        self._work = (runner, report, address)
        self.answer = None
        self.error = None
        self.start()

    def run(self):
        runner, report, address = self._work
        try:
            self.answer = runner.send(report, address, timeout=15)
        except Exception as error:  # A broken connection is an outcome, too.
            self.error = error
        finally:
            runner.rest.close()

    def result(self, timeout=15):
        self.join(timeout)
        if self.error is not None:
            raise self.error
        if self.answer is None:
            raise AssertionError("the heartbeat was not answered")
        return self.answer

    def reply(self, timeout=15):
        answer = self.result(timeout)
        if answer.status != 200:
            raise AssertionError(repr(answer))
        return answer.json


class TableLock:
    """Keeps everybody else from reading and writing a table of the database."""

    def __init__(self, cluster, table):
        with open(cluster.file("db", "root_password")) as file:
            password = file.read().strip()
        self._client = subprocess.Popen(
            ["mariadb", "--no-defaults", "--user=root", f"--socket={cluster.file('db', 's')}",
             "--batch", "--skip-column-names", "--unbuffered", "baton"], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "MYSQL_PWD": password})
        self._client.stdin.write(f"LOCK TABLES {table} WRITE;\nSELECT 'locked';\n")
        self._client.stdin.flush()
        assert self._client.stdout.readline() == "locked\n"

    def release(self):
        if self._client.poll() is None:
            self._client.communicate("UNLOCK TABLES;\n", timeout=10)


def seconds(text):
    """RFC 3339 as seconds since 1970."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class ProtocolCase(unittest.TestCase):
    """Tests that share the cluster."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = shared_cluster()

    def run(self, result=None):
        before = len(result.failures) + len(result.errors) if result else 0
        super().run(result)
        if result and len(result.failures) + len(result.errors) > before:
            self.cluster.folder.keep = True

    # Runners and their tasks ------------------------------------------------------------------

    @classmethod
    def runner(cls, **labels):
        """A new runner, known to nobody, with a label that no other has."""
        worker = f"w{next(_numbers)}"
        runner = cls.cluster.runner(f"{worker}:0", {"only": worker, **labels})
        runner.labels = {"only": worker}
        return runner

    @classmethod
    def submit(cls, runner, **fields):
        return cls.cluster.submit({"name": "protocol", "command": ["true"],
                                   "labels": runner.labels, **fields})

    @classmethod
    def dispatched(cls, runner, **fields):
        """A task whose order the runner has accepted but not yet confirmed."""
        task = cls.submit(runner, **fields)
        reply = runner.beat()
        assert reply["command"] == "RUN_NEW", reply
        assert reply["task"]["task"] == task, reply
        return task

    @classmethod
    def running(cls, runner, **fields):
        task = cls.dispatched(runner, **fields)
        assert runner.beat("RUNNING")["command"] == "GO_ON"
        return task

    @classmethod
    def terminating(cls, runner, **fields):
        task = cls.running(runner, **fields)
        cls.cluster.rest.act(task, "stop")
        return task

    @classmethod
    def unheard_order(cls, runner, **fields):
        """A task whose order went out and was lost: (task, report that it answered, order)."""
        task = cls.submit(runner, **fields)
        report = runner.report()
        reply = runner.send(report).json
        assert reply["command"] == "RUN_NEW" and reply["task"]["task"] == task, reply
        return task, report, reply["task"]

    # What the master has ----------------------------------------------------------------------

    def status(self, task):
        return self.cluster.task(task)["status"]

    def attempts(self, task):
        return self.cluster.rest.attempts(task)

    def stored(self, task):
        """The task's row as the database has it now: (status, attempt, retries_used)."""
        return tuple(int(x) for x in self.cluster.sql(
            f"SELECT status, attempt, retries_used FROM task WHERE task_id = {task}")[0])

    def pair(self, task, attempt=1):
        """The stored pair of the heartbeat that was answered with the order."""
        return tuple(int(x) for x in self.cluster.sql(
            f"SELECT incarnation, seq FROM attempt WHERE task_id = {task} "
            f"AND number = {attempt}")[0])

    def view(self, runner):
        """The runner as the master shows it."""
        found = [r for r in self.cluster.get("/api/v1/runners")["items"]
                 if r["runner_id"] == runner.runner_id]
        return found[0] if found else None

    def assert_command(self, reply, command):
        self.assertEqual(reply["command"], command, reply)

    def assert_same_order(self, reply, order):
        self.assert_command(reply, "RUN_NEW")
        self.assertEqual(reply["task"], order)

    def assert_problem(self, answer, status, code, field=None):
        self.assertEqual((answer.status, answer.code), (status, code), answer)
        if field:
            self.assertEqual(answer.json.get("field"), field)

