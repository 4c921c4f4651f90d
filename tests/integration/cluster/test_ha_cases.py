"""Faults that people met in systems like ours (BUG-0xx: rows of the list of known cases).

Durations are scaled; BATON_LONG=1 runs them in full."""

import json
import os
import signal
import time
import unittest

from baton_cluster import Cluster, DrillCase, boot_now, eventually, is_alive, long_run
from load_watch import LoadWatch
from tcp_link import Link
from zk_client import ZkReader

SESSION_S = 2.0
H_S = 1.0
SLACK_S = 1.0  # Added to limits in time when the machine is overloaded.


class HaCase(DrillCase):
    """What the cases have in common; each cluster is shared by the tests of one class."""

    options = {}
    root = "/baton/drill"

    @classmethod
    def setUpClass(cls):
        cls.c = Cluster(heartbeat=f"{H_S:g}s", session_ms=int(SESSION_S * 1000), **cls.options)

    @classmethod
    def tearDownClass(cls):
        cls.c.close()

    def setUp(self):
        self.led = self.c.ledger(self.id())
        self.gate = self.c.file(self.id() + ".gate")
        self.addCleanup(self.keep_folder)
        for master in self.c.masters:
            if not self.c.running(master):
                self.c.start_master(master)
            self.c.kill(master, signal.SIGCONT)
        self.c.wait_active(15)
        eventually(lambda: len(self.c.with_role("standby")) == len(self.c.masters) - 1, 15,
                   "the other masters as standbys")

    def keep_folder(self):
        if not self._outcome.success:
            self.c.folder.keep = True

    def zk(self):
        return ZkReader(self.c.zk_addresses[0])

    def start_tasks(self, count, **fields):
        """Tasks that run until open_gate(); returns {id: Start}."""
        wait = f"until [ -e '{self.gate}' ]; do sleep 0.1; done"
        ids = self.c.submit_bulk([self.led.task(wait, **fields) for _ in range(count)])
        eventually(lambda: len(self.led.running()) >= count, 20, f"{count} running tasks")
        eventually(lambda: self.c.number(
            f"SELECT COUNT(*) FROM task WHERE task_id IN ({','.join(ids)}) AND status = 3") == count,
            10, f"{count} tasks RUNNING")
        starts = self.led.by_task()
        return {task: starts[task][0] for task in ids}

    def open_gate(self):
        open(self.gate, "w").close()

    def finish(self, tasks):
        """Lets them end; each must have run once, in the process that it had."""
        self.open_gate()
        self.assert_finished_once(tasks)
        by_task = self.led.by_task()
        for task, start in tasks.items():
            self.assertEqual([s.pid for s in by_task[task]], [start.pid])

    def assert_finished_once(self, ids):
        for task in ids:
            done = self.c.wait_task(task)
            self.assertEqual((done["status"], done["attempt"]), ("FINISHED", 1), done)
        self.assertEqual(self.led.overlaps(), [])
        self.assertEqual(self.led.twice(), {})

    def run_new_tasks(self, count=5):
        ids = self.c.submit_bulk([self.led.task() for _ in range(count)])
        self.assert_finished_once(ids)

    def assert_lock_is_owned_by(self, master):
        with self.zk() as zk:
            lock = zk.get(f"{self.root}/lock")
            member = zk.get(f"{self.root}/masters/{master}")
            self.assertEqual(json.loads(lock.data)["id"], master)
            self.assertNotEqual(lock.owner, 0)
            self.assertEqual(lock.owner, member.owner, "the lock belongs to an older session")

    def watch_roles(self, seconds, ready=lambda: True):
        """Polls all masters every 100 ms; never two active. Returns [(since, actives)]."""
        seen, began = [], time.monotonic()
        while time.monotonic() - began < seconds and ready():
            roles = self.c.roles()
            active = [m for m, role in roles.items() if role == "active"]
            self.assertLess(len(active), 2, roles)
            seen.append((time.monotonic() - began, active))
            time.sleep(0.1)
        return seen

    def await_one_active(self, limit, what, besides=None):
        load, began = LoadWatch(), time.monotonic()
        active = self.c.wait_active(limit + 10, besides)
        took, slack = time.monotonic() - began, load.slack(SLACK_S)
        self.say(f"{what}: active after {took:.2f} s (limit {limit:g} + {slack:g} s)")
        self.assertLessEqual(took, limit + slack)
        return active


class SharedClusterCases(HaCase):
    links = {}
    options = dict(masters=2, workers=3, runners=8)

    @classmethod
    def setUpClass(cls):
        def link(node, address):
            return cls.links.setdefault(node, Link(address)).address
        cls.options = {**cls.options, "zk_link": link}
        super().setUpClass()

    def test_bug_072_the_whole_ensemble_stops_for_two_sessions(self):
        # Aim: after an outage nobody believes in a lock that is about to vanish.
        tasks = self.start_tasks(4)
        self.c.stop_zk()
        self.watch_roles(2 * SESSION_S)
        self.c.start_zk()
        self.watch_roles(120 if long_run() else 4 * SESSION_S)
        self.assert_lock_is_owned_by(self.c.wait_active(1))
        self.finish(tasks)

    def test_bug_073_a_short_cut_of_the_actives_link(self):
        # Aim: a reconnect of the same session leaves no stale lock that nobody owns.
        for cut in range(20 if long_run() else 6):
            master = self.c.wait_active()
            with self.zk() as zk:
                session = zk.get(f"{self.root}/lock").owner
            link = self.links[master]
            (link.cut if cut % 2 else link.hold)()
            self.watch_roles(SESSION_S / 3)
            link.heal()
            active = self.await_one_active(SESSION_S, f"cut {cut}")
            eventually(lambda: self.c.view(active)["state"].upper() == "ACTIVE", SESSION_S + 5,
                       "an active master that is not isolated")
            self.assertEqual(active, master, "a cut of a third of a session moved the role")
            with self.zk() as zk:
                self.assertEqual(zk.get(f"{self.root}/lock").owner, session)
            self.assert_lock_is_owned_by(active)
        self.run_new_tasks()

    def test_bug_074_the_database_blocks_at_the_takeover(self):
        # Aim: a recovery that can't load does not cost the candidate its candidacy.
        tasks = self.start_tasks(6)
        # More than can have been ordered before the block: 18 free runners, 0.3 s each.
        waiting = self.c.submit_bulk([self.led.task("sleep 0.3") for _ in range(200)])
        old = self.c.active()
        database = self.c.db_pid()
        self.c.kill(old)
        os.kill(database, signal.SIGSTOP)
        blocked = boot_now()
        try:
            roles = self.watch_roles(30 if long_run() else 4 * SESSION_S)
            until = boot_now()
        finally:
            os.kill(database, signal.SIGCONT)
        # An order that was given before the block may take a moment to start.
        during = [s for s in self.led.starts() if blocked + 0.5 < s.start < until]
        self.assertEqual(during, [], "started while the database was blocked")
        self.assertLess(len(self.led.starts()), len(tasks) + len(waiting), "nothing was left to do")
        self.assertEqual([active for _, active in roles if active], [], "active without a database")
        active = self.await_one_active(10, "after the database is back", besides=old)
        self.assert_finished_once(waiting)
        self.c.start_master(old)
        self.c.wait_standby(15)
        self.c.kill(active)
        self.await_one_active(SESSION_S + 1.5, "the other one takes over", besides=active)
        self.finish(tasks)

    def test_bug_075_a_standby_changes_nothing(self):
        # Aim: no clean-up or other job of a standby writes; shown by the server's general log.
        standby, active = self.c.standby(), self.c.active()
        self.c.kill(standby, signal.SIGTERM)
        own = {row[0] for row in self.c.sql(
            "SELECT id FROM information_schema.processlist WHERE user LIKE 'baton%'", "root")}
        self.c.sql("SET GLOBAL log_output = 'TABLE'; TRUNCATE mysql.general_log; "
                   "SET GLOBAL general_log = ON", "root")
        try:
            self.c.start_master(standby)
            self.c.wait_standby(15)
            tasks = self.start_tasks(20)
            self.watch_roles(600 if long_run() else 15 * H_S)
            self.finish(tasks)
        finally:
            self.c.sql("SET GLOBAL general_log = OFF", "root")
        rows = self.c.sql("""SELECT thread_id, COUNT(*) FROM mysql.general_log
            WHERE command_type IN ('Query', 'Execute', 'Prepare') AND user_host LIKE '%baton%'
            AND argument REGEXP '^[[:space:]]*(INSERT|UPDATE|DELETE|REPLACE|ALTER|CREATE|DROP)'
            GROUP BY 1""", "root")
        writers = {row[0] for row in rows}
        threads = {row[0] for row in self.c.sql("SELECT DISTINCT thread_id FROM mysql.general_log "
                                                "WHERE user_host LIKE '%baton%'", "root")}
        self.assertTrue(writers, "the log shows no write at all: it proves nothing")
        self.assertTrue(threads - own, "the log shows no connection of the standby")
        self.assertEqual(writers - own, set(), f"writes of connections that {active} did not have")
        self.assertEqual(self.c.active(), active)

    def test_bug_076_zookeeper_is_away_for_long(self):
        # Aim: the active goes on under its epoch row; nobody is left a zombie.
        active, epoch = self.c.active(), self.c.epoch()
        tasks = self.start_tasks(4)
        self.c.stop_zk()
        self.watch_roles((300 if long_run() else 5 * SESSION_S) / 2)
        self.run_new_tasks()
        self.watch_roles((300 if long_run() else 5 * SESSION_S) / 2)
        self.assertEqual(self.c.active(), active)
        self.run_new_tasks()
        self.c.start_zk()
        self.watch_roles(SESSION_S + 5)
        self.assert_lock_is_owned_by(self.c.wait_active(1))
        self.assertEqual(self.c.active(), active)
        self.say(f"epoch {epoch} before, {self.c.epoch()} after")
        self.finish(tasks)
        self.run_new_tasks()

    def test_bug_078_a_frozen_leader_wakes_up(self):
        # Aim: after SIGCONT it answers "not active", is standby within a second, kills no task.
        tasks = self.start_tasks(8)
        old, epoch = self.c.active(), self.c.epoch()
        self.c.kill(old, signal.SIGSTOP)
        stopped = time.monotonic()
        self.c.wait_active(10, besides=old)
        new = self.c.submit_bulk([self.led.task() for _ in range(5)])
        eventually(lambda: time.monotonic() - stopped >= 2 * SESSION_S, 10)
        before = self.c.sql(f"SELECT batch_id FROM batch WHERE epoch = {epoch}")
        load, woken = LoadWatch(), time.monotonic()
        self.c.kill(old, signal.SIGCONT)
        runner = self.c.runner("late:0", {"late": "yes"})
        answer = runner.send(runner.report(), self.c.address(old))
        self.assertEqual((answer.status, answer.code), (503, "not_active"), answer)
        eventually(lambda: (self.c.view(old) or {}).get("state", "").upper() == "STANDBY", 10,
                   pause=0.01)
        took = time.monotonic() - woken
        self.say(f"standby {took:.3f} s after SIGCONT")
        self.assertLessEqual(took, 1 + load.slack(SLACK_S))
        self.assert_finished_once(new)
        for start in tasks.values():
            self.assertTrue(is_alive(start.pid), "a running task was reset")
        self.finish(tasks)
        self.assertEqual(self.c.sql(f"SELECT batch_id FROM batch WHERE epoch = {epoch}"), before)

    def test_bug_086_restarts_of_the_standby_touch_no_run(self):
        # Aim: a master that starts takes nobody's runs for orphans.
        tasks = self.start_tasks(20)
        rows = "SELECT task_id, number, status, epoch, batch_id FROM attempt WHERE open_flag = 1"
        before, epoch = self.c.sql(rows), self.c.epoch()
        for _ in range(5):
            standby = self.c.standby()
            self.c.kill(standby)
            self.c.start_master(standby)
            self.c.wait_standby(15)
        self.assertEqual(self.c.sql(rows), before)
        self.assertEqual(self.c.epoch(), epoch)
        self.finish(tasks)

    def test_sync_hands_the_role_over_and_touches_no_run(self):
        # Aim: everything is read again at once by whoever leads then, in order, over real ZooKeeper.
        tasks = self.start_tasks(4)
        epoch = self.c.epoch()
        began = time.monotonic()
        self.assertEqual(self.c.post("/api/v1/cluster/sync"), {"epoch": epoch})
        eventually(lambda: self.c.epoch() > epoch and self.c.active(), 10, "the next term")
        self.say(f"the next term leads {time.monotonic() - began:.2f} s behind the order")
        self.assertEqual(self.c.epoch(), epoch + 1)
        self.c.wait_standby(15)  # Whoever gave the role up stands by, or has it again.
        self.finish(tasks)

    def test_bug_093_attempts_leave_nothing_in_zookeeper(self):
        # Aim: what lies in ZooKeeper depends on the number of masters, not of attempts.
        with self.zk() as zk:
            # A master that was killed joins anew once the node of its old session is gone.
            nodes = {f"{self.root}/masters/{master}" for master in self.c.masters}
            eventually(lambda: nodes <= set(zk.tree(self.root)), 10, "a node of each master")
            before = zk.tree(self.root)
        count = 10_000 if long_run() else 1_000
        ids = self.c.submit_bulk([{"command": ["false"]} for _ in range(count)])
        done = self.c.wait_tasks(ids, 300 if long_run() else 60)
        self.assertEqual({(t["status"], t["return_code"]) for t in done.values()}, {("FAILED", 1)})
        with self.zk() as zk:
            # The node seen before may have been that of an old session.
            eventually(lambda: nodes <= set(zk.tree(self.root)), 15, "a node of each master")
            after = zk.tree(self.root)
        self.assertEqual(set(after), set(before))
        self.assertLess(max(len(node.data) for node in after.values()), 1024)


class LimitCase(HaCase):
    options = dict(masters=2, workers=1, runners=4, settings={"limits.running_max": 1})

    def test_bug_079_a_takeover_starts_no_second_copy(self):
        # Aim: the new leader counts what runs; a limit of one holds over the takeover.
        tasks = self.start_tasks(1)
        old = self.c.active()
        self.c.kill(old)
        self.c.wait_active(10, besides=old)
        second = self.c.submit(self.led.task())
        # Well past the moment at which every runner has reported to the new leader.
        eventually(lambda: len(self.c.live_runners()) == 4, 10, "all runners at the new leader")
        for _ in range(20):
            waiting = self.c.task(second)
            self.assertEqual(waiting["status"], "QUEUED")
            self.assertEqual(len(self.led.running()), 1)
            time.sleep(H_S / 10)
        self.assertEqual(waiting["waiting_for"]["code"], "cluster_limit")
        self.finish(tasks)
        self.assertEqual(self.c.wait_task(second)["status"], "FINISHED")
        first = next(iter(tasks))
        starts = self.led.by_task()
        self.assertGreaterEqual(starts[second][0].start, starts[first][0].end)


class DatabaseLinkCase(HaCase):
    links = {}
    options = dict(masters=2, workers=2, runners=4)

    @classmethod
    def setUpClass(cls):
        def link(node, address):
            return cls.links.setdefault(node, Link(address)).address
        cls.options = {**cls.options, "db_link": link}
        super().setUpClass()

    def test_the_active_alone_misses_the_database(self):
        # Aim: whoever can't write gives the role to a master that can; running tasks never notice.
        for fault in ("cut", "hold"):
            with self.subTest(fault):
                tasks = self.start_tasks(4)
                old = self.c.active()
                getattr(self.links[old], fault)()
                # 3 s without the database, up to 3 s for the end of a call that hangs, the takeover.
                new = self.await_one_active(9, f"{fault} link to the database", besides=old)
                self.run_new_tasks()
                self.assertTrue(all(is_alive(start.pid) for start in tasks.values()))
                self.links[old].heal()
                eventually(lambda: (self.c.view(old) or {}).get("role") == "standby", 15,
                           "the old master as a standby")
                self.finish(tasks)
                self.run_new_tasks()
                self.assertEqual(self.c.active(), new)
                os.unlink(self.gate)

    def test_the_database_is_away_for_all(self):
        # Aim: a takeover could not help, so the role stays where it is.
        tasks = self.start_tasks(4)
        active, epoch = self.c.active(), self.c.epoch()
        for link in self.links.values():
            link.cut()
        self.watch_roles(3 * SESSION_S + 4)
        for link in self.links.values():
            link.heal()
        eventually(lambda: self.c.active() == active, 15, "the same active master")
        self.finish(tasks)
        self.run_new_tasks()
        self.assertEqual((self.c.active(), self.c.epoch()), (active, epoch))


class EnsembleCase(HaCase):
    options = dict(masters=2, workers=1, runners=2, zk=3)

    def test_bug_091_watches_survive_a_rolling_restart(self):
        # Aim: after every member was restarted the standby still sees the leader die.
        active, epoch = self.c.active(), self.c.epoch()
        for member in (1, 2, 3):
            self.c.stop_zk_member(member)
            self.c.start_zk_member(member)
            eventually(lambda: self.c.zk_status().count("mode=leader") == 1, 20, "a quorum")
            self.c.wait_standby(15)
        self.assertEqual((self.c.active(), self.c.epoch()), (active, epoch))
        self.c.kill(active)
        self.await_one_active(SESSION_S + 2, "after kill -9", besides=active)
        self.run_new_tasks()


class NestedRootCase(HaCase):
    options = dict(masters=2, workers=0, root="/a/b/c")
    root = "/a/b/c/drill"

    def test_bug_096_parents_of_the_root_are_made(self):
        # Aim: a fresh ZooKeeper and a nested root; the same on a second start.
        active = self.c.active()
        self.assert_lock_is_owned_by(active)
        with self.zk() as zk:
            self.assertIn("c", zk.children("/a/b"))
            self.assertEqual(zk.children("/a"), ["b"])
        self.c.init()
        for master in self.c.masters:
            self.c.kill(master, signal.SIGTERM)
        for master in self.c.masters:
            self.c.start_master(master)
        again = self.c.wait_active(15)
        self.c.wait_standby(15)
        self.assert_lock_is_owned_by(again)
        with self.zk() as zk:
            self.assertEqual(zk.children("/a/b"), ["c"])


if __name__ == "__main__":
    unittest.main()
