"""Watchers and followers of a cluster whose active master is killed."""

import subprocess
import unittest

from baton_cluster import Cluster, DrillCase, long_run
from baton_programs import PROGRAM, environment_of
from event_stream import EventStream


class ActivityTest(DrillCase):
    KILLS = 5 if long_run() else 1

    @classmethod
    def setUpClass(cls):
        cls.c = Cluster(masters=2, workers=1, runners=2, heartbeat="1s")

    @classmethod
    def tearDownClass(cls):
        cls.c.close()

    def setUp(self):
        def keep():
            self.c.folder.keep = self.c.folder.keep or self.has_failed()
        self.addCleanup(keep)

    def kill_active(self):
        old = self.c.wait_active()
        self.c.kill(old)
        new = self.c.wait_active(15, besides=old)
        self.c.start_master(old)
        self.c.wait_standby(15)
        return new

    def watch(self, master, last=None, query=""):
        stream = EventStream(self.c.address(master), self.c.token, "/api/v1/watch" + query,
                             last=last)
        self.addCleanup(stream.close)
        return stream

    def test_a_takeover_is_said_to_watchers_and_hidden_from_followers(self):
        # Aim: after the kill a watcher that comes back learns that it has to read lists again, and
        # then hears of everything; a followed output has every line once; the audit log has what
        # the dead master decided.
        active = self.c.wait_active()
        stream = self.watch(active)
        self.assertEqual(next(stream)[1], "ready")
        refused = self.watch(self.c.standby())
        self.assertEqual(refused.status, 503)
        gate = self.c.file("gate")
        task = self.c.submit({"name": "talks", "script":
                              f"i=0; while [ ! -e {gate} ]; do i=$((i+1)); echo line $i; "
                              "echo error $i >&2; sleep 0.1; done", "interpreter": ["/bin/sh"]})
        stream.until(lambda e, d: e == "task" and d["id"] == task and d["status"] == "RUNNING")
        follower = subprocess.Popen(
            [PROGRAM, "task", "logs", task, "--follow"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
            env=environment_of(None, {
                "BATON_MASTERS": ",".join(self.c.address(m) for m in self.c.masters),
                "BATON_TOKEN": self.c.token}))
        self.addCleanup(follower.kill)
        self.assertEqual(follower.stdout.readline(), b"line 1\n")
        for _ in range(self.KILLS):
            new = self.kill_active()
            back = self.watch(new, stream.last)
            self.assertEqual(back.status, 200)
            last, event, data = next(back)
            self.assertEqual((event, data), ("reset", {"reason": "takeover"}))
            self.assertGreater(int(last.split("-")[0]), int(stream.last.split("-")[0]))
            # Who watches the task alone need not read anything.
            alone = self.watch(new, stream.last, f"?task={task}")
            self.assertEqual(next(alone)[1:], ("ready", {"resumed": True}))
            _, event, data = next(alone)
            self.assertEqual((event, data["id"], data["status"]), ("task", task, "RUNNING"))
            stream = back
        with open(gate, "w"):
            pass
        alone.until(lambda e, d: e == "task" and d["status"] == "FINISHED")
        ended = stream.until(lambda e, d: e == "task" and d["id"] == task and
                             d["status"] == "FINISHED")
        self.assertEqual(ended[-1][2]["return_code"], 0)
        said, errors = follower.communicate(timeout=30)
        self.assertEqual(follower.returncode, 0, errors)
        whole = self.c.rest.output(task).decode()
        lines = whole.count("\n")
        self.assertEqual(whole, "".join(f"line {i}\n" for i in range(1, lines + 1)))
        self.assertEqual("line 1\n" + said.decode(), whole)
        told = [line for line in errors.decode().split("\n") if line.startswith("error ")]
        self.assertEqual(told, [f"error {i}" for i in range(1, lines + 1)])
        rows = self.c.get(f"/api/v1/audit?object={task}")["items"]
        self.assertEqual([(r["action"], r["outcome"]) for r in rows], [("task.submit", "done")])

    def test_no_change_is_without_its_row_when_the_master_dies_around_the_commit(self):
        # Aim: killed before or behind the commit, the task and its audit row are both there or
        # neither is.
        for point in ("before_commit", "after_commit"):
            active = self.c.wait_active()
            self.c.wait_standby(15)
            self.c.arm(active, point)
            while not self.c.stopped(active):
                try:
                    self.c.rest.once(self.c.address(active), "POST", "/api/v1/tasks",
                                     {"name": point, "command": ["true"], "hold": True}, None, 1)
                except OSError:
                    break
            self.c.await_stop(active)
            self.c.kill(active)
            self.c.wait_active(15, besides=active)
            self.c.start_master(active)
        tasks = {int(row[0]) for row in self.c.sql("SELECT task_id FROM task")}
        rows = {int(row[0]) for row in self.c.sql(
            "SELECT object FROM audit WHERE action = 'task.submit'")}
        self.assertEqual(rows, tasks)
        self.assertGreaterEqual(len(tasks), 1)


if __name__ == "__main__":
    unittest.main()
