"""A worker's daemon, its shepherd or both go away while tasks run."""

import os
import signal
import unittest

from baton_cluster import Cluster, DrillCase, eventually, is_alive


class WorkerTest(DrillCase):
    @classmethod
    def setUpClass(cls):
        cls.c = Cluster(masters=1, workers=1, runners=4, heartbeat="1s")

    @classmethod
    def tearDownClass(cls):
        cls.c.close()

    def setUp(self):
        self.led = self.c.ledger(self.id())
        self.addCleanup(self.keep_folder)
        if not self.c.running("worker1"):
            self.c.start_worker("worker1")

    def keep_folder(self):
        if not self._outcome.success:
            self.c.folder.keep = True

    def start_task(self, body, code="0", **fields):
        """A task whose process runs, and its Start."""
        task = self.c.submit(self.led.task(body, code, **fields))
        start = eventually(lambda: self.led.by_task().get(task), 10, "the start of the task")[0]
        self.c.wait_status(task, "RUNNING")
        return task, start

    def assert_ran_once(self, task):
        self.assertEqual(len(self.led.by_task()[task]), 1)
        attempts = self.c.rest.attempts(task)
        self.assertEqual(len(attempts), 1, attempts)
        self.assertIsNone(attempts[0]["late_report"])

    def gate(self, name):
        """A file that the task waits for, and shell text that does."""
        path = self.c.file(f"{self._testMethodName}-{name}")
        return path, f"until [ -e '{path}' ]; do sleep 0.05; done"

    def open_gate(self, path):
        open(path, "w").close()

    def test_a_task_goes_on_over_a_crash_of_the_daemon(self):
        # Aim: kill -9 of the daemon alone costs a task nothing: true exit code, once, all output.
        path, wait = self.gate("end")
        task, start = self.start_task(f"seq 1 20000; {wait}; seq 20001 40000; echo oops >&2", "23")
        self.c.kill("worker1")
        self.assertTrue(is_alive(start.pid))
        self.c.start_worker("worker1")
        eventually(lambda: len(self.c.live_runners()) == 4, 10, "the runners")
        self.assertEqual(self.c.task(task)["status"], "RUNNING")
        self.open_gate(path)
        done = self.c.wait_task(task)
        self.assertEqual((done["status"], done["reason"], done["return_code"]),
                         ("FAILED", "exit_code", 23))
        self.assert_ran_once(task)
        expected = "".join(f"{n}\n" for n in range(1, 40001)).encode()
        self.assertEqual(self.c.rest.output(task), expected)
        self.assertEqual(self.c.rest.output(task, "stderr"), b"oops\n")

    def test_a_task_that_ends_while_the_daemon_is_away_is_reported(self):
        # Aim: the exit code waits with the shepherd until the daemon takes it.
        path, wait = self.gate("end")
        task, start = self.start_task(f"{wait}; echo done", "7")
        self.c.kill("worker1")
        self.open_gate(path)
        eventually(lambda: not is_alive(start.pid), 10, "the end of the process")
        self.c.start_worker("worker1")
        done = self.c.wait_task(task)
        self.assertEqual((done["status"], done["return_code"]), ("FAILED", 7))
        self.assert_ran_once(task)
        self.assertEqual(self.c.rest.output(task), b"done\n")

    def test_tasks_are_reset_when_daemon_and_shepherd_die(self):
        # Aim: without the shepherd nobody knows the exit code: runner_reset, after the process is
        # gone, and the retry does not overlap.
        _, wait = self.gate("never")
        body = f"[ $BATON_ATTEMPT -gt 1 ] || {{ {wait}; }}"
        retried, first = self.start_task(body, retry={"max": 1, "delay": "100ms"})
        plain, other = self.start_task(wait)
        shepherd = self.c.shepherd("worker1")
        self.c.kill("worker1")
        os.kill(shepherd, signal.SIGKILL)
        eventually(lambda: not is_alive(shepherd))
        self.c.start_worker("worker1")
        failed = self.c.wait_task(plain)
        self.assertEqual((failed["status"], failed["reason"]), ("FAILED", "runner_reset"))
        done = self.c.wait_task(retried)
        self.assertEqual((done["status"], done["attempt"]), ("FINISHED", 2))
        reasons = {a["attempt"]: a["reason"] for a in self.c.rest.attempts(retried)}
        self.assertEqual(reasons, {1: "runner_reset", 2: None})
        for start in (first, other):
            self.assertFalse(is_alive(start.pid))
        self.assertEqual(self.led.overlaps(), [])
        self.assertEqual(self.led.repeated(), [])
        self.assertNotEqual(self.c.shepherd("worker1"), shepherd)

    def test_the_shepherd_alone_dies(self):
        # Aim: a living daemon starts a new shepherd and goes on; the lost attempts are reset.
        _, wait = self.gate("never")
        task, start = self.start_task(wait)
        shepherd = self.c.shepherd("worker1")
        os.kill(shepherd, signal.SIGKILL)
        failed = self.c.wait_task(task)
        self.assertEqual((failed["status"], failed["reason"]), ("FAILED", "runner_reset"))
        self.assertFalse(is_alive(start.pid))
        after = self.c.submit(self.led.task("echo again"))
        self.assertEqual(self.c.wait_task(after)["status"], "FINISHED")
        self.assertNotIn(self.c.shepherd("worker1"), (None, shepherd))

    def test_tasks_go_on_when_the_daemon_is_stopped(self):
        # Aim: SIGTERM leaves tasks running; they are not counted as lost while it is away.
        path, wait = self.gate("end")
        task, start = self.start_task(f"{wait}; echo later", "5")
        self.c.kill("worker1", signal.SIGTERM)
        self.assertEqual(self.c.processes["worker1"].returncode, 0)
        self.assertTrue(is_alive(start.pid))
        # Longer than 3 H: an ordinary silence would have been a loss by now.
        away = self.c.submit({"command": ["true"], "labels": {"worker": "none"},
                              "dispatch_timeout": "4s"})
        self.assertEqual(self.c.wait_task(away)["reason"], "dispatch_timeout")
        self.assertEqual(self.c.task(task)["status"], "RUNNING")
        self.c.start_worker("worker1")
        self.open_gate(path)
        done = self.c.wait_task(task)
        self.assertEqual((done["status"], done["return_code"]), ("FAILED", 5))
        self.assert_ran_once(task)
        self.assertEqual(self.c.rest.output(task), b"later\n")


if __name__ == "__main__":
    unittest.main()
