"""Text, times, locks, lost links, lost replies and wrong starts, with real masters on MariaDB."""

import datetime
import os
import random
import subprocess
import threading
import time
import unittest
import uuid

from baton_rest import RequestFailed
from case_support import (PROGRAM, Cluster, DrillCase, SharedCase, WrappedCluster, environment_of,
                          eventually, run_baton, sh, spawn)
from commit_proxy import CommitProxy


def moment(stamp):
    return datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


class Load:
    """Threads that submit small tasks with keys and remember every id that was answered."""

    def __init__(self, system, ledger, threads=4, pause=0.02):
        self.system, self.ledger, self.pause = system, ledger, pause
        self.ids, self.errors = [], []
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def _run(self):
        while not self._ended.is_set():
            try:
                self.ids.append(self.system.submit(self.ledger.task(tags=["load"]), timeout=40))
            except Exception as error:
                self.errors.append(error)
            self._ended.wait(self.pause)

    def stop(self):
        self._ended.set()
        for thread in self._threads:
            thread.join()
        return self.ids


class OnMariadb(SharedCase):
    """Two masters and two workers for all tests; each leaves them as it found them."""

    @classmethod
    def make(cls):
        return WrappedCluster(masters=2, workers=2, runners=4, heartbeat="500ms")

    def check_load(self, load, ledger):
        """Nothing lost, nothing doubled."""
        ids = load.stop()
        self.assertEqual(load.errors, [])
        self.assertEqual(len(set(ids)), len(ids))
        done = self.system.wait_tasks(ids, 60)
        self.assertEqual(len(done), len(ids))
        self.assertEqual({t["status"] for t in done.values()}, {"FINISHED"})
        started = set(ledger.by_task())
        self.assertEqual(started, set(ids))
        self.assertEqual(ledger.twice(), {})
        self.assertEqual(self.system.post("/api/v1/cluster/verify")["differences"], [])

    # Text and times -------------------------------------------------------------------------

    def test_wide_characters_are_kept_everywhere(self):
        # BUG-137: name, parameter, output, error text with characters of four bytes.
        name, text = "夜間 🚀 backup 𝒻𝓁", "😀 🏁 naïve 𐍈"
        done = self.run_task({"name": name, "params": {"TEXT": text}, "tags": ["wide"],
                              "script": "printf 'first\\nlast 🎉 %s' \"$TEXT\"; exit 3"})
        self.assertEqual((done["status"], done["return_code"]), ("FAILED", 3))
        self.assertEqual((done["name"], done["params"], done["tags"]),
                         (name, {"TEXT": text}, ["wide"]))
        self.assertEqual(self.system.rest.output(done["id"]).decode(), f"first\nlast 🎉 {text}")
        stored = self.system.sql(f"SELECT HEX(name) FROM task WHERE task_id = {done['id']}")[0][0]
        self.assertEqual(bytes.fromhex(stored).decode(), name)
        missing = self.run_task({"command": ["/nowhere/🚀"]})
        self.assertEqual(missing["status"], "FAILED")
        self.assertIn("🚀", missing["reason_text"])
        runner = self.system.runner("emoji:0", {"kind": "emoji"})
        task = self.system.submit({"command": ["true"], "labels": {"kind": "emoji"}})
        runner.await_order()
        runner.finish(1, reason_text="boom 💥 at 𐍈")
        failed = self.system.wait_task(task)
        self.assertEqual((failed["status"], failed["reason_text"]), ("FAILED", "boom 💥 at 𐍈"))
        found = self.system.get("/api/v1/tasks?q=%F0%9F%9A%80&tag=wide")["items"]
        self.assertEqual([t["id"] for t in found], [done["id"]])

    def test_text_that_is_too_long_is_cut_or_refused_and_never_stuck(self):
        # BUG-138: 100 KB of failure text is cut between characters and marked.
        runner = self.system.runner("long:0", {"kind": "long"})
        for filler in ("x", "漢", "😀", "a😀"):
            text = filler * (100_000 // len(filler.encode()))
            task = self.system.submit({"command": ["true"], "labels": {"kind": "long"}})
            runner.await_order()
            runner.finish(1, reason_text=text)
            done = self.system.wait_task(task)
            self.assertEqual(done["status"], "FAILED")
            cut = done["reason_text"]
            self.assertTrue(cut.endswith("…"), cut[-10:])
            self.assertTrue(text.startswith(cut[:-1]))
            self.assertGreater(len(cut.encode()), 1000)
        wide = "😀" * 128
        done = self.run_task({"command": ["true"], "name": wide})
        self.assertEqual((done["status"], done["name"]), ("FINISHED", wide))
        for name in ("😀" * 129, "漢" * 256):
            with self.assertRaises(RequestFailed) as refused:
                self.system.submit({"command": ["true"], "name": name})
            self.assertEqual(refused.exception.answer.status, 400)

    def test_tasks_due_at_the_end_of_a_second_start_within_one(self):
        # BUG-139: no rounding of a due time into the future (or the past).
        base = int(time.time()) + 3
        due = [base + second + (500 + 499 * i / 49) / 1000
               for second in range(4) for i in range(50)]
        stamps = [datetime.datetime.fromtimestamp(at, datetime.timezone.utc)
                  .strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z" for at in due]
        ids = self.system.submit_bulk([{"command": ["true"], "not_before": s} for s in stamps])
        done = self.system.wait_tasks(ids, 30)
        late = []
        for task_id, stamp in zip(ids, stamps):
            task = done[task_id]
            self.assertEqual(task["status"], "FINISHED")
            times = [moment(task[n]) for n in ("created_at", "queued_at", "started_at",
                                               "finished_at")]
            self.assertEqual(times, sorted(times), task)
            lateness = moment(task["started_at"]) - moment(stamp)
            self.assertGreaterEqual(lateness, -0.001, task)
            late.append(lateness)
        self.say(f"latest start {max(late) * 1000:.0f} ms after its time")
        self.assertLess(max(late), 1.0)

    # Locks and links ------------------------------------------------------------------------

    def test_a_locked_row_delays_only_its_own_task(self):
        # Another session holds the row of one task for 8 s while it ends.
        held = self.system.submit({"command": ["sleep", "1"]})
        self.system.wait_status(held, "RUNNING")
        with open(self.system.file("db", "root_password")) as file:
            password = file.read().strip()
        locker = subprocess.Popen(
            ["mariadb", "--no-defaults", "--user=root", f"--socket={self.system.file('db', 's')}",
             "--unbuffered", "baton"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "MYSQL_PWD": password})
        self.addCleanup(locker.communicate)
        locker.stdin.write(f"BEGIN; SELECT 'locked' FROM task WHERE task_id={held} FOR UPDATE;\n"
                           .encode())
        locker.stdin.flush()
        while b"locked" not in locker.stdout.readline():
            self.assertIsNone(locker.poll())
        began = time.monotonic()
        delays = []
        while time.monotonic() - began < 7:
            sent = time.monotonic()
            task = self.system.submit({"command": ["true"]}, timeout=10)
            self.assertEqual(self.system.wait_task(task, 10)["status"], "FINISHED")
            delays.append(time.monotonic() - sent)
            time.sleep(0.1)
        self.assertEqual(self.system.task(held)["finished_at"], None)
        time.sleep(max(0, began + 8 - time.monotonic()))
        locker.stdin.write(b"COMMIT;\n")
        locker.stdin.flush()
        released = time.monotonic()
        self.assertEqual(self.system.wait_task(held, 10)["status"], "FINISHED")
        self.say(f"slowest other task {max(delays):.2f} s, the locked one "
                 f"{time.monotonic() - released:.2f} s after its release, {len(delays)} others")
        self.assertLess(max(delays), 5.0)
        self.assertLess(time.monotonic() - released, 3.0)

    def test_killing_the_writers_connection_under_load_loses_nothing(self):
        # 30 times, at random moments.
        ledger = self.system.ledger("killed")
        dice = random.Random(7)
        load = Load(self.system, ledger)
        killed = 0
        while killed < 30:
            time.sleep(dice.uniform(0.02, 0.3))
            sessions = self.system.sql("SELECT id FROM information_schema.processlist "
                                       "WHERE user = 'baton_rw'", "root")
            for (session,) in sessions:
                try:
                    self.system.sql(f"KILL CONNECTION {session}", "root")
                    killed += 1
                except RuntimeError:
                    pass  # It has gone by itself.
        self.check_load(load, ledger)
        self.say(f"{killed} connections killed, {len(load.ids)} tasks")

    def test_the_database_gone_is_a_calm_wait(self):
        # Submits answer 503 with Retry-After, running tasks go on, then everything does.
        running = self.system.submit(sh("sleep 3; echo done"))
        self.system.wait_status(running, "RUNNING")
        waiting = self.system.submit({"command": ["true"], "hold": True})
        active = self.system.active()
        self.system.stop_db("kill")
        address = self.system.address(active)

        def refused():
            answer = self.system.rest.once(address, "POST", "/api/v1/tasks",
                                           {"command": ["true"]}, uuid.uuid4().hex, 8)
            return answer.status == 503 and answer
        answer = eventually(refused, 10, "a refusal")
        self.assertGreaterEqual(int(answer.headers["retry-after"]), 1)
        health = self.system.rest.once(address, "GET", "/healthz")
        self.assertEqual(health.status, 200)
        time.sleep(3)
        self.system.start_db()
        self.system.wait_active(15)
        done = self.system.wait_task(running, 15)
        self.assertEqual((done["status"], done["attempt"]), ("FINISHED", 1))
        self.assertEqual(self.system.rest.output(running), b"done\n")
        self.system.rest.act(waiting, "release")
        self.assertEqual(self.system.wait_task(waiting)["status"], "FINISHED")
        eventually(self.system.standby, 15, "the standby")

    def status(self):
        """Exit code and words of `cluster status`, which asks all masters."""
        return run_baton("cluster", "status", env={
            "BATON_MASTERS": ",".join(self.system.rest.addresses),
            "BATON_TOKEN": self.system.token})

    def test_zookeeper_gone_is_a_calm_wait(self):
        # The active master goes on; there is never a second one; both are candidates again. Each
        # says that what it shows is old, and the verb says it of all of them.
        active = self.system.active()
        self.system.stop_zk()
        ended = time.monotonic() + 5
        while time.monotonic() < ended:
            self.assertEqual(self.run_task({"command": ["true"]})["status"], "FINISHED")
            self.assertIn(self.system.active(), (active,))
        for master in self.system.masters:
            view = self.system.view(master)
            self.assertRegex(view["alarm"], "ZooKeeper has not answered for [0-9]+ s; masters")
            health = {row["node_id"]: row["health"] for row in view["masters"]}
            self.assertEqual(health.pop(master), "ok")
            self.assertEqual(set(health.values()), {"unknown"})
        code, said = self.status()
        self.assertEqual(code, 0, said)
        self.assertIn("ACTIVE_ISOLATED", said)
        for master in self.system.masters:
            self.assertIn(f"alarm   {master}: ZooKeeper has not answered", said)
        self.system.start_zk()
        # Sessions may end before their clients are back: then either of them is elected.
        self.system.wait_active(20)
        self.system.wait_standby(20)
        self.assertEqual(self.run_task({"command": ["true"]})["status"], "FINISHED")

    def test_a_dead_leader_is_not_shown_as_well_without_zookeeper(self):
        # The standby can't know that it is gone: the verb, which asks, says that nobody leads.
        eventually(self.system.standby, 15, "the standby")
        active = self.system.active()
        self.system.stop_zk()
        try:
            self.system.kill(active)
            code, said = self.status()
            self.assertEqual(code, 5, said)
            self.assertRegex(said, f"{active} .* no answer")
            self.assertIn("no master that answers leads", said)
        finally:
            self.system.start_zk()
            self.system.start_master(active)
        self.system.wait_active(20)
        eventually(self.system.standby, 20, "the standby")

    # Starting wrongly -----------------------------------------------------------------------

    def start_wrongly(self, *words, settings=None, node="master1", program="master"):
        code, said = run_baton(program, "--config", self.system.file(node, "config.yaml"),
                               settings={"http.port": 0, **(settings or {})}, timeout=20)
        self.assertNotEqual(code, 0, said)
        for word in words:
            self.assertIn(word, said)
        self.assertNotIn("terminate called", said)
        return said

    def test_a_wrong_password_is_told_and_not_shown(self):
        # The program ends and names the user; the password stays secret.
        wrong = self.system.file("wrong_password")
        with os.fdopen(os.open(wrong, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write("not-the-password-at-all")
        said = self.start_wrongly("baton_rw", "denied",
                                  settings={"database.password_file": wrong})
        self.assertNotIn("not-the-password-at-all", said)

    def test_a_schema_of_another_version_is_told(self):
        # Neither an empty nor an older nor a newer schema is touched.
        for name in ("baton_empty", "baton_newer"):
            self.system.sql(f"CREATE DATABASE IF NOT EXISTS {name} CHARACTER SET utf8mb4 "
                            "COLLATE utf8mb4_bin", "root")
        self.start_wrongly("cluster init", settings={"database.name": "baton_empty"})
        other = {"database.name": "baton_newer", "cluster.name": "other"}
        code, said = run_baton("cluster", "init", "--config",
                               self.system.file("master1", "config.yaml"), settings=other)
        self.assertEqual(code, 0, said)
        newer = 1 + int(self.system.sql("SELECT MAX(version) FROM schema_version", "root",
                                        "baton_newer")[0][0])
        self.system.sql("INSERT INTO schema_version (version, applied_at) "
                        f"VALUES ({newer}, 0)", "root", "baton_newer")
        self.start_wrongly(f"schema version {newer}", "newer baton", settings=other)
        self.system.sql("DELETE FROM schema_version; INSERT INTO schema_version VALUES (0, 0)",
                        "root", "baton_newer")
        self.start_wrongly("cluster init", settings=other)

    def test_a_taken_port_is_told(self):
        # For a master and for a worker.
        port = int(self.system.address("master1").rpartition(":")[2])
        self.start_wrongly(str(port), "taken", settings={"http.port": port})
        self.start_wrongly(str(port), "taken", node="worker1", program="worker", settings={
            "http.port": port, "worker.data_dir": self.system.file("elsewhere")})

    def test_a_second_worker_on_one_data_folder_is_told(self):
        # The first keeps it.
        self.start_wrongly("in use", node="worker1", program="worker")

    def test_a_second_worker_of_one_id_waits_and_harms_nobody(self):
        # It is a conflict that people see; what the first runs goes on, even on one host.
        task = self.system.submit(sh("sleep 3", labels={"worker": "worker1"}))
        self.system.wait_status(task, "RUNNING")
        twin = spawn(
            [PROGRAM, "worker", "--config",
             self.system.file("worker1", "config.yaml")],
            log=self.system.file("twin.log"),
            env=environment_of({"worker.data_dir": self.system.file("twin")}))
        try:
            eventually(lambda: "conflict" in open(self.system.file("twin.log")).read(), 10,
                       "a word of the twin")
            done = self.system.wait_task(task)
            self.assertEqual((done["status"], done["attempt"]), ("FINISHED", 1))
            after = self.system.submit(sh("echo $BATON_WORKER", labels={"worker": "worker1"}))
            self.assertEqual(self.system.wait_task(after)["status"], "FINISHED")
            self.assertIsNone(twin.poll())
            self.assertIn("runner_conflict runner=worker1:",
                          self.system.log("master1") + self.system.log("master2"))
        finally:
            twin.terminate()
            twin.wait(20)
        self.assertTrue(self.system.running("worker1"))
        eventually(lambda: sum(r["runner_id"].startswith("worker1")
                               for r in self.system.live_runners()) == 4, 10, "its runners")

    # Ends -----------------------------------------------------------------------------------

    def test_an_orderly_end_under_load_hands_over_at_once(self):
        # BUG-175: SIGTERM at full load; nothing half applied, no second active.
        ended, answered, actives = threading.Event(), {}, []
        tag = "term" + uuid.uuid4().hex[:6]

        def load():
            while not ended.is_set():
                key = uuid.uuid4().hex
                answered[key] = self.system.submit_bulk(
                    [{"command": ["true"], "hold": True, "tags": [tag], "name": key}] * 3, key)
        threads = [threading.Thread(target=load) for _ in range(6)]
        standby = self.system.wait_standby()
        active = self.system.active()
        for thread in threads:
            thread.start()
        try:
            time.sleep(2)
            sent = time.monotonic()
            self.system.processes[active].terminate()
            while self.system.running(active) or not actives:
                self.assertLess(time.monotonic() - sent, 13)
                now = self.system.with_role("active")
                self.assertLess(len(now), 2)
                if now == [standby]:
                    actives.append(time.monotonic() - sent)
            code = self.system.processes[active].wait()
            self.say(f"ended with {code}, the other led after {actives[0]:.2f} s")
            self.assertEqual(code, 0)
            self.assertLess(actives[0], 10 + 3)
            time.sleep(1)
        finally:
            ended.set()
            for thread in threads:
                thread.join()
            self.system.start_master(active)
        self.system.wait_standby(20)
        names = {}
        for task in self.system.rest.tasks(tag=tag):
            names.setdefault(task["name"], set()).add(task["id"])
        self.assertEqual(names, {key: set(ids) for key, ids in answered.items()})
        self.say(f"{len(answered)} submissions")
        for task_ids in names.values():
            for task in task_ids:
                self.system.rest.act(task, "stop")


class LostReply(DrillCase):
    def test_a_commit_whose_reply_is_lost_is_neither_lost_nor_done_twice(self):
        # The database has committed, nobody heard of it, 20 times under load.
        proxies = []

        class ThroughProxy(Cluster):
            def _write(self, node, text):
                if node in self.masters:
                    with open(self.file("db", "port")) as file:
                        target = int(file.read())
                    if not proxies:
                        proxies.append(CommitProxy(target))
                    text = text.replace(f"socket: {self.file('db', 's')}",
                                        f"host: 127.0.0.1\n  port: {proxies[0].port}")
                super()._write(node, text)
        system = self._keep_if_failed(ThroughProxy(masters=1, workers=1, runners=4,
                                                   heartbeat="500ms"))
        proxy = proxies[0]
        self.addCleanup(proxy.close)
        ledger = system.ledger()
        load = Load(system, ledger, threads=3)
        for turn in range(20):
            proxy.arm()
            eventually(lambda: not proxy.armed, 10, "a commit")
            time.sleep(0.1)
        ids = load.stop()
        self.assertEqual(load.errors, [])
        self.assertEqual(len(set(ids)), len(ids))
        done = system.wait_tasks(ids, 60)
        self.assertEqual({t["status"] for t in done.values()}, {"FINISHED"})
        self.assertEqual(ledger.twice(), {})
        self.assertEqual(system.number("SELECT COUNT(*) FROM task"), len(ids))
        self.assertEqual(system.post("/api/v1/cluster/verify")["differences"], [])
        resolved = system.log("master1").count("commit_resolved")
        self.say(f"{proxy.cut} replies lost, {resolved} commits looked up, {len(ids)} tasks")
        self.assertGreaterEqual(resolved, 1)
        self.assertEqual(len(system.history()), 1)  # It kept its role throughout.


if __name__ == "__main__":
    unittest.main()
