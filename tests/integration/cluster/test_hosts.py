"""What operators say of hosts, and hosts on which nothing can be started."""

import os
import shutil
import subprocess
import unittest

from baton_cluster import Cluster, DrillCase, RequestFailed, eventually
from baton_programs import PROGRAM, environment_of


class HostsTest(DrillCase):
    @classmethod
    def setUpClass(cls):
        cls.c = Cluster(masters=2, workers=3, runners=2, heartbeat="1s",
                        settings={"hosts.quarantine_failures": 3, "hosts.quarantine_window": "60s",
                                  "hosts.quarantine_cooldown": "4s"})

    @classmethod
    def tearDownClass(cls):
        cls.c.close()

    def setUp(self):
        self.addCleanup(self.keep_folder)
        self.addCleanup(self.mend)

    def keep_folder(self):
        if not self._outcome.success:
            self.c.folder.keep = True

    def mend(self):
        """All hosts take tasks again, and all programs run."""
        for node in self.c.masters:
            if not self.c.running(node):
                self.c.start_master(node)
        self.say_policy(white_list=False, min_version=None)
        for worker in self.c.workers:
            self.say(worker, "include")
            if not self.c.running(worker):
                self.c.start_worker(worker)
        eventually(lambda: len(self.c.live_runners()) == 6, 20, "all runners")

    # Words ----------------------------------------------------------------------------------

    def say(self, host, verb, **body):
        return self.c.post(f"/api/v1/hosts/{host}/{verb}", body)["items"]

    def say_policy(self, **changes):
        return self.c.post("/api/v1/hosts/policy", changes)

    def host(self, worker):
        return {h["worker_id"]: h for h in self.c.get("/api/v1/hosts")["items"]}.get(worker)

    def baton(self, *arguments):
        """A client verb as people type it; returns (code, all that it said)."""
        env = {"BATON_MASTERS": ",".join(self.c.address(m) for m in self.c.masters),
               "BATON_TOKEN": self.c.token}
        done = subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=environment_of(None, env))
        return done.returncode, done.stdout.decode()

    def task_for(self, worker, script="true", **fields):
        """A new task that only this worker can run."""
        return self.c.submit({"script": script, "name": "for-" + worker,
                              "labels": {"worker": worker}, **fields})

    def wait_held_back(self, task, text, timeout=10.0):
        """Waits until the task says that only hosts that hold back could run it."""
        def held_back():
            waiting = self.c.task(task)["waiting_for"]
            return waiting and waiting["code"] == "host_excluded" and waiting
        waiting = eventually(held_back, timeout, "waiting_for host_excluded")
        self.assertIn(text, waiting["text"])
        self.assertEqual(self.c.task(task)["status"], "QUEUED")

    # Tests ----------------------------------------------------------------------------------

    def test_drain_lets_running_tasks_end_and_gives_no_new_ones(self):
        # Aim: what runs goes on and is counted; what is new goes elsewhere or says why it waits.
        gate = self.c.file("drain-gate")
        running = self.task_for("worker1", f"until [ -e '{gate}' ]; do sleep 0.05; done; echo end")
        self.c.wait_status(running, "RUNNING")
        code, said = self.baton("host", "drain", "worker1", "--reason", "disk is swapped")
        self.assertEqual(code, 0, said)
        self.assertIn("draining", said)
        self.assertIn("disk is swapped", said)
        waits = self.task_for("worker1")
        self.wait_held_back(waits, "worker1 is drained: disk is swapped")
        elsewhere = [self.c.submit({"command": ["true"]}) for _ in range(8)]
        for task in elsewhere:
            done = self.c.wait_task(task)
            self.assertEqual(done["status"], "FINISHED")
            self.assertFalse(done["runner_id"].startswith("worker1:"), done["runner_id"])
        host = self.host("worker1")
        self.assertEqual((host["state"], host["busy"], host["takes_tasks"]), ("draining", 1, False))
        open(gate, "w").close()
        code, said = self.baton("host", "drain", "worker1", "--wait", "--reason", "disk is swapped")
        self.assertEqual(code, 0, said)
        self.assertEqual(self.c.wait_task(running)["status"], "FINISHED")
        self.assertEqual(self.c.rest.output(running), b"end\n")
        self.assertEqual(self.host("worker1")["state"], "drained")
        self.assertEqual(self.c.task(waits)["status"], "QUEUED")
        self.say("worker1", "include")
        self.assertEqual(self.c.wait_task(waits)["status"], "FINISHED")

    def test_exclude_survives_a_kill_of_the_active_master(self):
        # Aim: what was answered is durable, and rules before the first beat under the next master;
        # a name that no worker has is kept as well.
        self.say("worker2", "exclude", reason="stolen")
        self.say("not-there-yet", "exclude", reason="never")
        before = self.c.active()
        self.c.kill(before)
        self.c.wait_active(15, besides=before)
        eventually(lambda: len(self.c.live_runners()) == 6, 20, "the runners")
        task = self.task_for("worker2")
        self.wait_held_back(task, "worker2 is excluded: stolen")
        self.assertEqual((self.host("worker2")["state"], self.host("worker2")["reason"]),
                         ("excluded", "stolen"))
        absent = [h for h in self.c.get("/api/v1/hosts")["items"] if h["host"] == "not-there-yet"]
        self.assertEqual([(h["state"], h["health"]) for h in absent], [("excluded", "unknown")])
        self.say("worker2", "include")
        self.assertEqual(self.c.wait_task(task)["status"], "FINISHED")
        self.say("not-there-yet", "include")
        self.say("not-there-yet", "unregister")

    def test_a_host_where_nothing_starts_is_quarantined_and_comes_back(self):
        # Aim: it gets no tasks while it is broken, and needs nobody to come back when it is not.
        attempts = os.path.join(self.c.worker_data("worker3"), "attempts")
        shutil.rmtree(attempts, ignore_errors=True)
        open(attempts, "w").close()  # A file where the folders of attempts should be.
        for _ in range(3):
            failed = self.c.wait_task(self.task_for("worker3"))
            self.assertEqual((failed["status"], failed["reason"]), ("FAILED", "start_failed"))
        host = self.host("worker3")
        self.assertEqual((host["health"], host["takes_tasks"]), ("quarantined", False))
        task = self.task_for("worker3", retry={"max": 50, "delay": "200ms"})
        self.wait_held_back(task, "worker3 is quarantined until", 4)
        # The first trial fails still; the next one, with the cause removed, does not.
        eventually(lambda: self.c.task(task)["attempt"] == 1, 10, "the first trial")
        os.remove(attempts)
        done = self.c.wait_task(task, 20)
        self.assertEqual(done["status"], "FINISHED")
        self.assertEqual(self.host("worker3")["health"], "healthy")
        for other in ("worker1", "worker2"):
            self.assertEqual(self.host(other)["health"], "healthy")

    def test_workers_of_an_older_version_get_no_tasks(self):
        # Aim: the reason names both versions; taking it back is enough.
        self.assertEqual(self.say_policy(min_version="99.0.0")["outdated"], 3)
        task = self.c.submit({"command": ["true"]})
        self.wait_held_back(task, "99.0.0 is required")
        self.assertEqual(self.host("worker1")["state"], "outdated")
        code, said = self.baton("host", "min-version", "newest")
        self.assertEqual(code, 2, said)
        code, said = self.baton("host", "min-version", "none")
        self.assertEqual(code, 0, said)
        self.assertEqual(self.c.wait_task(task)["status"], "FINISHED")

    def test_only_included_hosts_get_tasks_under_a_white_list(self):
        # Aim: the switch works at once and survives a change of master; include approves.
        self.say("worker1", "include")
        for worker in ("worker2", "worker3"):
            self.say(worker, "drain")
            self.say(worker, "unregister")
        eventually(lambda: self.host("worker2") and self.host("worker3"), 10, "their return")
        self.assertEqual(self.host("worker2")["state"], "drained")
        code, said = self.baton("host", "whitelist", "on")
        self.assertEqual(code, 0, said)
        self.assertIn("white list on", said)
        before = self.c.active()
        self.c.kill(before)
        self.c.wait_active(15, besides=before)
        self.assertTrue(self.c.get("/api/v1/hosts/policy")["white_list"])
        eventually(lambda: len(self.c.live_runners()) == 6, 20, "the runners")
        for _ in range(4):
            done = self.c.wait_task(self.c.submit({"command": ["true"]}))
            self.assertTrue(done["runner_id"].startswith("worker1:"), done["runner_id"])
        task = self.task_for("worker2")
        self.wait_held_back(task, "worker2")
        self.say("worker2", "include")
        self.assertEqual(self.c.wait_task(task)["status"], "FINISHED")

    def test_a_worker_is_forgotten_when_nothing_is_left_of_it(self):
        # Aim: refused with the reason while it lives and works; then nothing of it remains.
        with self.assertRaises(RequestFailed) as refused:
            self.say("worker3", "unregister")
        self.assertEqual(refused.exception.answer.status, 409)
        self.assertIn("drain it first", refused.exception.answer.json["detail"])
        self.c.kill("worker3")
        eventually(lambda: self.host("worker3")["health"] == "dead", 10, "its death")
        code, said = self.baton("host", "unregister", "worker3")
        self.assertEqual(code, 0, said)
        self.assertIsNone(self.host("worker3"))
        self.assertEqual(self.c.number("SELECT COUNT(*) FROM runner WHERE worker_id='worker3'"), 0)
        self.assertEqual(self.c.number("SELECT COUNT(*) FROM host WHERE name='worker3'"), 0)
        code, said = self.baton("host", "unregister", "worker3")
        self.assertEqual(code, 3, said)
        self.c.start_worker("worker3")
        self.assertEqual(self.c.wait_task(self.task_for("worker3"))["status"], "FINISHED")

    def test_labels_of_operators_place_tasks(self):
        # Aim: they count at once, are shown, and are gone when they are removed.
        task = self.c.submit({"command": ["true"], "labels": {"pool": "etl"}})
        eventually(lambda: (self.c.task(task)["waiting_for"] or {}).get("code") ==
                   "no_runner_matches", 10, "no_runner_matches")
        code, said = self.baton("host", "label", "worker1", "pool=etl")
        self.assertEqual(code, 0, said)
        self.assertIn("pool=etl", said)
        done = self.c.wait_task(task)
        self.assertEqual(done["status"], "FINISHED")
        self.assertTrue(done["runner_id"].startswith("worker1:"), done["runner_id"])
        code, said = self.baton("host", "label", "worker1", "pool-")
        self.assertEqual(code, 0, said)
        self.assertNotIn("pool", self.host("worker1")["labels"])
        self.assertEqual(self.host("worker1")["labels"]["worker"], "worker1")

    def test_the_metrics_tell_of_hosts_and_stuck_tasks(self):
        # Aim: what an alert would be made of is there, with the names of the documentation.
        self.say("worker1", "drain")
        text = self.c.rest.request("GET", "/metrics").body.decode()
        for line in ('baton_hosts{cluster="drill",health="healthy"}',
                     'baton_hosts_held_back{cluster="drill"} 1',
                     'baton_tasks_stuck{cluster="drill",status="DISPATCHED"} 0'):
            self.assertIn(line, text)


if __name__ == "__main__":
    unittest.main()
