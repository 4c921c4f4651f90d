"""A master that is frozen and wakes up: it may believe what it likes, it changes nothing."""

import http.client
import signal
import threading
import time
import unittest

from baton_cluster import DrillCase, eventually
from load_watch import LoadWatch

ROUNDS = 10
SESSION_S = 1.5
STANDBY_S, STANDBY_MAX_S = 1.0, 3.0
# Table and key of every row that carries the epoch of the transaction that wrote it.
TABLES = {"task": "task_id", "task_spec": "task_id", "attempt": "task_id, number",
          "runner": "runner_id", "outbox": "id", "idempotency": "principal, key_text",
          "counter": "name", "batch": "epoch"}


class Submitter:
    """Short tasks, one after the other, over all failovers."""

    def __init__(self, cluster, ledger):
        self.ids = []
        self.error = None
        self._cluster = cluster
        self._ledger = ledger
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            while not self._ended.wait(0.02):
                length = "5" if len(self.ids) % 40 == 0 else "0.1"
                # A paused master takes requests and never answers: not to be waited for long.
                self.ids.append(self._cluster.submit(self._ledger.task(f"sleep {length}"),
                                                     once_timeout=0.5))
        except Exception as error:
            self.error = error

    def stop(self):
        self._ended.set()
        self._thread.join()


class PauseTest(DrillCase):
    def setUp(self):
        self.c = self.cluster(masters=2, workers=2, runners=6, heartbeat="5s",
                              session_ms=int(SESSION_S * 1000))
        self.led = self.c.ledger()
        self.standby_s = []

    def rows_of(self, epoch):
        """{(table, key): batch} of all rows that a transaction of that epoch wrote last."""
        rows = {}
        for table, key in TABLES.items():
            for row in self.c.sql(f"SELECT {key}, batch_id FROM {table} WHERE epoch = {epoch}"):
                rows[(table, *row[:-1])] = row[-1]
        return rows

    def open_writes(self):
        """Transactions of the masters' user that have changed rows and are not ended."""
        return self.c.sql("""SELECT t.trx_id, p.id, t.trx_rows_modified
            FROM information_schema.innodb_trx t
            JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
            WHERE p.user = 'baton_rw' AND t.trx_rows_modified > 0""", user="root")

    def pause(self, master, in_transaction):
        if not in_transaction:
            self.c.kill(master, signal.SIGSTOP)
            return
        self.c.arm(master, "before_commit")
        self.c.await_stop(master)
        open_writes = self.open_writes()
        self.say(f"paused with open write transactions: {open_writes}")
        self.assertTrue(open_writes, "no write transaction is open in the database")

    def fake_runner_with_order(self, number):
        """A runner that has confirmed an order, and whose next report will be the result."""
        label = {"fake": str(number)}
        runner = self.c.runner(f"fake{number}:0", label)
        task = self.c.submit({"command": ["true"], "labels": label})
        order = runner.await_order()
        self.assertEqual(order["task"], task)
        runner.beat("RUNNING")
        return runner, task

    def post_straight(self, master, runner, answers):
        """Sends a submission and a result to the paused master; the kernel takes them for it."""
        address = self.c.address(master)
        result = runner.report("FINISHED", return_code=0, run_ms=1, ended_ms=0)

        def submission():
            return self.c.rest.once(address, "POST", "/api/v1/tasks", {"command": ["true"],
                                    "name": "stale"}, key=f"stale-{time.time()}", timeout=10)

        def guarded(name, send):
            try:
                answers[name] = send()
            except (OSError, http.client.HTTPException) as error:
                answers[name] = error
        senders = {"submission": submission,
                   "result": lambda: runner.send(result, address, timeout=10)}
        threads = [threading.Thread(target=guarded, args=item) for item in senders.items()]
        for thread in threads:
            thread.start()
        return threads

    def await_standby(self, master):
        """Seconds from SIGCONT until the old master says that it is standby."""
        woken = time.monotonic()
        self.c.kill(master, signal.SIGCONT)

        def is_standby():
            view = self.c.view(master)
            return view and view["role"] == "standby" and view["state"].upper() == "STANDBY"
        eventually(is_standby, 10, f"{master} as a standby", pause=0.01)
        return time.monotonic() - woken

    def round(self, number):
        old = self.c.wait_active()
        self.c.wait_standby()
        epoch = self.c.epoch()
        runner, task = self.fake_runner_with_order(number)
        in_transaction = number % 2 == 0
        self.pause(old, in_transaction)
        paused = time.monotonic()
        new = self.c.wait_active(10, besides=old)
        taken_over = time.monotonic() - paused
        self.c.first_dispatch(epoch + 1)
        dispatched = time.monotonic() - paused
        # The old one is still halted: what its epoch has written by now is all it may ever have.
        before = self.rows_of(epoch)
        self.assertIn(("batch", str(epoch)), before)
        eventually(lambda: time.monotonic() - paused >= 3 * SESSION_S, 10)
        answers, load = {}, LoadWatch()
        threads = self.post_straight(old, runner, answers)
        took = self.await_standby(old)
        for thread in threads:
            thread.join()
        self.standby_s.append(took)
        self.say(f"round {number}: {old} -> {new} after {taken_over:.2f} s, dispatch "
                 f"after {dispatched:.2f} s, standby {took:.3f} s after SIGCONT, "
                 f"{load.busy():.0%} busy; answers {answers}")
        for name, answer in answers.items():
            self.assertNotIn(getattr(answer, "status", 503), range(200, 300), name)
        after = self.rows_of(epoch)
        stale = {key: batch for key, batch in after.items() if before.get(key) != batch}
        self.assertEqual(stale, {}, f"rows that epoch {epoch} wrote after the bump")
        self.assertLessEqual(took, STANDBY_MAX_S)
        # The result that the old one did not take is taken by the new one, once.
        runner.finish(0)
        done = self.c.task(task)
        self.assertEqual((done["status"], done["attempt"]), ("FINISHED", 1))

    def test_a_paused_master_writes_nothing_once_it_is_resumed(self):
        # Aim: a pause longer than the session, at any place, also inside a write transaction,
        # leaves no write of the old epoch after the bump.
        load = Submitter(self.c, self.led)
        for number in range(ROUNDS):
            self.round(number)
        load.stop()
        self.assertIsNone(load.error)
        quick = [took for took in self.standby_s if took <= STANDBY_S]
        self.say(f"standby after {[round(t, 2) for t in self.standby_s]} s")
        self.assertGreaterEqual(len(quick), ROUNDS * 4 // 5)
        tasks = self.c.wait_tasks(load.ids, 60)
        wrong = [t for t in tasks.values() if (t["status"], t["attempt"]) != ("FINISHED", 1)]
        self.assertEqual(wrong, [])
        self.assertEqual(len(tasks), len(load.ids))
        self.assertEqual(self.led.overlaps(), [])
        self.assertEqual(self.led.twice(), {})
        self.assertEqual(self.c.number("SELECT COUNT(*) FROM task WHERE name = 'stale'"), 0)
        self.check_epochs()

    def check_epochs(self):
        """Every epoch had one owner, and no order was stamped after its epoch's end."""
        log = self.c.sql("SELECT epoch, prev_epoch, bumped_at FROM ha_epoch_log ORDER BY epoch")
        self.assertGreaterEqual(len(log), ROUNDS + 1)
        for (epoch, _, _), (_, _, ended) in zip(log, log[1:]):
            late = self.c.number("SELECT COUNT(*) FROM attempt WHERE "
                                 f"dispatch_epoch = {epoch} AND dispatched_at > {ended}")
            self.assertEqual(late, 0, f"orders of epoch {epoch} after the next bump")


if __name__ == "__main__":
    unittest.main()
