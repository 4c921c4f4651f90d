"""Tasks whose owner accepts a second copy when a runner is lost (`retry.on_lost`)."""

import os
import signal
import time
import unittest

from case_support import Cluster, Receiver, SharedCase, eventually, is_alive, long_run
from tcp_link import Link

HEARTBEAT_S = 0.5
LOST_S = 3 * HEARTBEAT_S


class LostTasks(SharedCase):
    @classmethod
    def make(cls):
        cls.links = {}

        def link(node, address):
            return cls.links.setdefault(node, Link(address)).address
        return Cluster(masters=2, workers=2, runners=4, heartbeat=f"{HEARTBEAT_S * 1000:g}ms", db_link=link)

    def setUp(self):
        super().setUp()
        self.gate = self.system.file(self.id() + ".gate")
        self.ledger = self.system.ledger(self.id())
        self.addCleanup(self.mend)

    def mend(self):
        open(self.gate, "w").close()
        for link in self.links.values():
            link.heal()
        for worker in self.system.workers:
            if not self.system.running(worker):
                self.system.start_worker(worker)
        eventually(lambda: len(self.system.live_runners()) == 8, 20, "all runners")

    def start(self, **fields):
        """A task that waits for the gate, and the worker that runs it."""
        task = self.system.submit(
            self.ledger.task(f"until [ -e '{self.gate}' ]; do sleep 0.1; done", **fields))
        return task, self.running_on(task, 1)

    def running_on(self, task, attempt):
        def look():
            now = self.system.task(task)
            return now if (now["status"], now["attempt"]) == ("RUNNING", attempt) else None
        return eventually(look, 30, f"attempt {attempt}")["runner_id"].partition(":")[0]

    def lose(self, worker):
        """kill -9 of the daemon and of its shepherd; nobody watches the processes any more."""
        shepherd = self.system.shepherd(worker)
        self.system.kill(worker)
        os.kill(shepherd, signal.SIGKILL)
        eventually(lambda: not is_alive(shepherd), 10, "the end of the shepherd")

    def reasons(self, task):
        return [a["reason"] for a in
                sorted(self.system.rest.attempts(task), key=lambda a: a["attempt"])]

    def watch(self, task, expected, seconds):
        """The attempts stay these all the time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.assertEqual(self.reasons(task), expected)
            time.sleep(LOST_S / 10)

    def test_bug_085_a_lost_task_is_tried_again_once_for_each_loss(self):
        # Aim: the next attempt is left alone, however long the lost one stays away.
        task, worker = self.start(retry={"max": 2, "delay": "100ms", "on_lost": True})
        self.lose(worker)
        second = self.running_on(task, 2)
        self.assertNotEqual(second, worker)
        self.watch(task, ["runner_lost", None], 1800 if long_run() else 3 * LOST_S)
        # What comes back ends its old copy and costs nothing.
        self.system.start_worker(worker)
        eventually(lambda: len(self.system.live_runners()) == 8, 20, "all runners")
        self.watch(task, ["runner_lost", None], LOST_S)
        # The second loss and the third are the last: max is 2.
        self.lose(second)
        self.assertEqual(self.running_on(task, 3), worker)
        self.lose(worker)
        done = self.system.wait_task(task)
        self.assertEqual((done["status"], done["reason"], done["unproven"]),
                         ("FAILED", "runner_lost", True))
        self.watch(task, ["runner_lost"] * 3, 2 * LOST_S)
        self.assertEqual(len(self.ledger.by_task()[task]), 3)

    def test_bug_089_one_loss_is_handled_once_while_the_database_is_slow(self):
        # Aim: the loss is seen again before its row is written; it stays one loss, one retry, one word.
        receiver = Receiver()
        self.addCleanup(receiver.close)

        def told(name):
            return {"url": receiver.url("/" + name), "on": ["finished", "failed"]}
        again, worker = self.start(retry={"max": 3, "delay": "100ms", "on_lost": True},
                                   callback=told("again"))
        once = self.start(labels={"worker": worker}, callback=told("once"))[0]
        for link in self.links.values():
            link.slow(HEARTBEAT_S / 10)  # A second of the usual ten.
        self.lose(worker)
        done = self.system.wait_task(once, 60)
        self.assertEqual((done["status"], done["reason"]), ("FAILED", "runner_lost"))
        self.running_on(again, 2)
        self.watch(again, ["runner_lost", None], 2 * LOST_S)
        for link in self.links.values():
            link.heal()
        open(self.gate, "w").close()
        done = self.system.wait_task(again)
        self.assertEqual((done["status"], done["attempt"]), ("FINISHED", 2))
        eventually(lambda: len(receiver.requests) >= 2, 20, "both callbacks")
        self.watch(once, ["runner_lost"], LOST_S)
        self.assertEqual(sorted(receiver.paths()), ["/again", "/once"])


if __name__ == "__main__":
    unittest.main()
