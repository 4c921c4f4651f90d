"""3,000 tasks while everything is killed: nothing is lost, nothing runs twice."""

import http.client
import signal
import threading
import time
import unittest
import uuid

from baton_cluster import TERMINAL, DrillCase, RequestFailed, boot_now, eventually
from load_watch import Stopwatch

TASKS = 3000
OUTPUT_BYTES = 200_000
BACKLOG = 350  # Live tasks that the submitters keep up.
SESSION_S, TICK_S = 2.0, 0.5
TAKEOVER_LIMIT_S = SESSION_S + 1.5 * TICK_S + 0.5
OVERLOAD_SLACK_S = 1.0


def output_of(task_id):
    line = f"{task_id}\n".encode()
    return (line * (OUTPUT_BYTES // len(line) + 1))[:OUTPUT_BYTES]


def code_of(task_id):
    return int(task_id) % 7


def make_task(ledger, i):
    """Mixed lengths; every fourth writes 200 KB and ends with a code made of its id."""
    if i % 8 == 1 and 1450 <= i < 1950:
        body = "sleep 8"  # Those that are to live through two kills in a row.
    elif i % 16 == 1:
        body = "sleep 5"
    elif i % 3 == 0:
        body = f"sleep 0.{1 + i % 4}"
    else:
        body = ":"
    if i % 4 == 0:
        body += f"; yes $BATON_TASK_ID | head -c {OUTPUT_BYTES}"
    return ledger.task(body, code="$((BATON_TASK_ID % 7))" if i % 4 == 0 else "0", name=f"kill-{i}")


class Submitters:
    """Threads that submit task after task, each with a key of its own, over all failovers."""

    def __init__(self, cluster, ledger, threads=4):
        self.cluster = cluster
        self.ledger = ledger
        self.ids = {}  # i -> id, once a 2xx was received.
        self.flying = {}  # key -> i: sent, not answered.
        self.errors = []
        self.live = 0
        self.hurry = False  # Submit although there is a backlog.
        self._next = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._guarded, args=(self._submit,), daemon=True)
                         for _ in range(threads)]
        self._threads.append(threading.Thread(target=self._guarded, args=(self._count,),
                                              daemon=True))

    def start(self):
        for thread in self._threads:
            thread.start()

    def join(self):
        for thread in self._threads[:-1]:
            thread.join()
        self._ended.set()
        self._threads[-1].join()

    def accepted(self):
        return len(self.ids)

    def _guarded(self, run):
        try:
            run()
        except Exception as error:
            self.errors.append(error)

    def _count(self):
        while not self._ended.wait(0.1):
            try:
                counts = self.cluster.rest.get("/api/v1/stats", timeout=30)["by_status"]
            except RequestFailed:
                continue
            self.live = sum(n for status, n in counts.items() if status.upper() not in TERMINAL)

    def _take(self):
        with self._lock:
            if self._next >= TASKS:
                return None
            self._next += 1
            return self._next - 1

    def _submit(self):
        while (i := self._take()) is not None:
            while self.live > BACKLOG and not self.hurry:
                time.sleep(0.02)
            key = uuid.uuid4().hex
            self.flying[key] = i
            self.ids[i] = self.cluster.submit(make_task(self.ledger, i), key, timeout=60)
            del self.flying[key]


class KillTest(DrillCase):
    def setUp(self):
        self.c = self.cluster(masters=2, workers=3, runners=8, heartbeat="3s",
                              session_ms=int(SESSION_S * 1000), tick=int(TICK_S * 1000))
        self.led = self.c.ledger()
        self.load = Submitters(self.c, self.led)
        self.takeovers = []
        self.through = set()  # (task, pid) of what ran through a fault.

    # What must hold before a kill -------------------------------------------------------------

    def unrecorded_results(self):
        """Tasks whose process has ended, while the database does not know a result."""
        live = {row[0] for row in self.c.sql("SELECT task_id FROM task WHERE phase = 0")}
        return [s for s in self.led.starts() if s.end is not None and s.task in live]

    def queued(self):
        return self.c.number("SELECT COUNT(*) FROM task WHERE phase = 0 AND status = 1")

    def assert_under_load(self, what):
        running, queued = len(self.led.running()), self.queued()
        flying, results = len(self.load.flying), len(self.unrecorded_results())
        self.say(f"{what}: {self.load.accepted()} accepted, {running} processes, {queued} queued, "
                 f"{flying} submissions and {results} results in flight")
        self.assertGreaterEqual(running, 8)
        self.assertGreaterEqual(queued, 100)
        self.assertGreaterEqual(flying, 1)
        self.assertGreaterEqual(results, 1)

    def await_load(self, accepted):
        eventually(lambda: self.load.errors or (
            self.load.accepted() >= accepted and self.queued() >= 120 and
            len(self.led.running()) >= 12), 60, f"{accepted} accepted tasks and a load", pause=0.1)
        self.assertFalse(self.load.errors)

    def halt(self, master):
        """A halted master has, by and by, a submission and a result in flight."""
        self.load.hurry = True
        self.c.kill(master, signal.SIGSTOP)
        eventually(lambda: self.load.flying and self.unrecorded_results(), 2, "load in flight")
        self.load.hurry = False

    # The faults -------------------------------------------------------------------------------

    def kill_master(self, master, stopped_at, what):
        """kill -9 of a halted master; the time counts from the halt, for its session does."""
        self.assert_under_load(what)
        epoch = self.c.epoch()
        self.c.kill(master)
        running = {(s.task, s.pid) for s in self.led.running()}
        return epoch, running, stopped_at

    def await_takeover(self, killed, epoch, running, stopwatch, what):
        restart_at = time.time() + 2.8  # Within H, and after the other one had its chance.
        active = None
        while active is None and time.time() < restart_at:
            active = self.c.active()
            time.sleep(0.01)
        self.c.start_master(killed)
        took = self.c.first_dispatch(epoch + 1) - stopwatch.at
        self.note_takeover(took, stopwatch, what)
        self.assertTrue(running, "nothing ran through the takeover")
        self.through |= running

    def note_takeover(self, took, stopwatch, what):
        slack = stopwatch.load.slack(OVERLOAD_SLACK_S)
        self.say(f"{what}: first dispatch by the new master after {took:.2f} s "
                 f"(limit {TAKEOVER_LIMIT_S:.2f} + {slack:.1f} s, machine "
                 f"{stopwatch.load.busy():.0%} busy)")
        self.takeovers.append(took)
        self.assertLessEqual(took, TAKEOVER_LIMIT_S + slack)

    def kill_between_commit_and_reply(self):
        """Until the commit that is not answered yet holds a submission."""
        master = self.c.wait_active()

        def unanswered():
            keys = [key for (key,) in self.c.sql("SELECT key_text FROM idempotency")]
            return set(keys) & set(self.load.flying)
        self.load.hurry = True
        for _ in range(100):
            self.c.arm(master, "after_commit")
            self.c.await_stop(master)
            watch = Stopwatch()
            if unanswered() and len(self.led.running()) >= 8 and self.unrecorded_results():
                break
            self.c.kill(master, signal.SIGCONT)
        self.load.hurry = False
        self.assertTrue(unanswered(), "no commit with a submission was caught before its reply")
        what = "kill 1, between commit and reply"
        self.await_takeover(master, *self.kill_master(master, watch, what), what)

    def kill_at_once(self):
        master = self.c.wait_active()
        watch = Stopwatch()
        self.halt(master)
        what = "kill 2, anywhere"
        self.await_takeover(master, *self.kill_master(master, watch, what), what)

    def kill_between_lock_and_bump(self):
        first = self.c.wait_active()
        second = self.c.wait_standby()

        def will_last():
            now = boot_now()
            return [s for s in self.led.running() if now - 3 < s.start < now - 0.6]
        eventually(lambda: len(will_last()) >= 10, 30, "10 tasks that will outlast both kills")
        self.c.arm(second, "before_bump")
        watch = Stopwatch()
        self.halt(first)
        epoch, running, _ = self.kill_master(first, watch, "kill 3, anywhere")
        self.c.await_stop(second)
        took = time.time() - watch.at
        self.c.start_master(first)
        self.say(f"kill 3: the other had the lock after {took:.2f} s")
        self.assertLessEqual(took, TAKEOVER_LIMIT_S + watch.load.slack(OVERLOAD_SLACK_S))
        self.assertEqual(self.c.epoch(), epoch, "the bump was to come after the lock")
        watch = Stopwatch()
        self.through |= running
        what = "kill 4, between lock and bump"
        _, still_running, _ = self.kill_master(second, watch, what)
        self.await_takeover(second, epoch, still_running, watch, what)

    def kill_worker(self, worker):
        data = self.c.worker_data(worker)

        def carried():
            own = []
            for start in self.led.running():
                try:
                    with open(f"/proc/{start.pid}/environ", "rb") as file:
                        if data.encode() in file.read():
                            own.append(start)
                except OSError:
                    pass
            return own
        eventually(lambda: len(carried()) >= 3, 20, f"tasks on {worker}")
        self.c.kill(worker)
        carried_through = carried()
        self.assertTrue(carried_through, "no task lived through the daemon's death")
        self.through |= {(s.task, s.pid) for s in carried_through}
        self.c.start_worker(worker)
        self.say(f"{worker} killed and started again with {len(carried_through)} tasks")

    def restart(self, what, stop, start):
        began = time.time()
        epoch = self.c.epoch()
        stop()
        start()
        dispatched = f"SELECT COUNT(*) FROM attempt WHERE dispatched_at > {int(time.time() * 1e6)}"
        eventually(lambda: self.c.number(dispatched), 15, f"a dispatch after {what} is back")
        self.say(f"{what} restarted, work goes on after {time.time() - began:.2f} s")
        self.assertEqual(self.c.epoch(), epoch, f"a restart of {what} moved the role")

    # The test ---------------------------------------------------------------------------------

    def test_nothing_is_lost_or_run_twice_while_everything_is_killed(self):
        # Aim: the promise of the whole system, under four kills of the active master, two of a
        # worker's daemon, and a restart of ZooKeeper and of the database.
        began = time.time()
        self.load.start()
        self.await_load(200)
        self.kill_worker("worker2")
        self.await_load(400)
        self.kill_between_commit_and_reply()
        self.await_load(800)
        self.restart("ZooKeeper", self.c.stop_zk, self.c.start_zk)
        self.await_load(1100)
        self.kill_at_once()
        self.await_load(1500)
        self.restart("the database", self.c.stop_db, self.c.start_db)
        self.await_load(1800)
        self.kill_worker("worker1")
        self.await_load(1950)
        self.kill_between_lock_and_bump()
        self.load.join()
        self.assertFalse(self.load.errors)
        self.assertEqual(self.load.accepted(), TASKS)
        tasks = self.c.wait_tasks(self.load.ids.values(), 120)
        self.say(f"{TASKS} tasks in {time.time() - began:.0f} s; takeovers "
                 f"{[round(t, 2) for t in self.takeovers]} s")
        self.check_tasks(tasks)
        self.check_ledger()
        self.check_outputs()
        verify = self.c.post("/api/v1/cluster/verify")
        self.assertEqual(verify["differences"], [])

    def check_tasks(self, tasks):
        self.assertEqual(len(set(self.load.ids.values())), TASKS, "one id for two submissions")
        self.assertEqual(self.c.number("SELECT COUNT(*) FROM task"), TASKS,
                         "a submission was stored twice, or one that was answered 2xx is missing")
        wrong = []
        for i, task_id in self.load.ids.items():
            task = tasks.get(task_id)
            code = code_of(task_id) if i % 4 == 0 else 0
            expected = ("FINISHED", 0, 1) if code == 0 else ("FAILED", code, 1)
            if task is None or (task["status"], task["return_code"], task["attempt"]) != expected \
                    or task["name"] != f"kill-{i}":
                wrong.append((i, task_id, expected, task))
        self.assertEqual(wrong[:3], [], f"{len(wrong)} tasks have a wrong result")
        self.assertEqual(self.c.number("SELECT COUNT(*) FROM attempt"), TASKS)
        self.assertEqual(self.c.number("SELECT COUNT(*) FROM attempt WHERE late_report <> ''"), 0)

    def check_ledger(self):
        self.assertEqual(self.led.overlaps(), [])
        self.assertEqual(self.led.twice(), {})
        starts = self.led.starts()
        self.assertEqual({s.task for s in starts}, set(self.load.ids.values()))
        self.assertEqual([s for s in starts if s.end is None], [])
        pids = {s.task: s.pid for s in starts}
        again = [(task, pid) for task, pid in self.through if pids[task] != pid]
        self.assertEqual(again, [], "tasks that ran through a fault were started again")
        self.say(f"{len(self.through)} tasks ran through a fault, each was started once")

    def check_outputs(self):
        """Through several connections at once: 750 outputs of 200 KB."""
        writers = [task_id for i, task_id in self.load.ids.items() if i % 4 == 0]
        wrong = []

        def compare(part):
            for task_id in part:
                try:
                    if self.c.rest.output(task_id) != output_of(task_id):
                        wrong.append(task_id)
                except (AssertionError, OSError, http.client.HTTPException) as error:
                    wrong.append((task_id, error))
        threads = [threading.Thread(target=compare, args=(writers[n::4],)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong[:3], [], f"{len(wrong)} outputs differ")
        self.say(f"{len(writers)} outputs of {OUTPUT_BYTES} bytes compared")


if __name__ == "__main__":
    unittest.main()
