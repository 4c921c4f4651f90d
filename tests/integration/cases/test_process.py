"""Faults of process handling that people met in systems like ours, on the real program."""

import os
import re
import signal
import subprocess
import threading
import time
import unittest
import uuid

from case_support import (DrillCase, SharedCase, WrappedStandalone, eventually, is_alive, long_run,
                          marked, may_unshare, process_state, sh)


def children_of(parent):
    """(pid, state, name) of the direct children of a process."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                text = file.read()
        except (FileNotFoundError, ProcessLookupError):
            continue
        state, above = text.rpartition(")")[2].split()[:2]
        if int(above) == parent:
            found.append((int(name), state, text[text.index("(") + 1:text.rindex(")")]))
    return found


def family_of(parent):
    """All descendants as (pid, state, name)."""
    found = children_of(parent)
    for pid, _, _ in list(found):
        found += family_of(pid)
    return found


def zombies_of(parent):
    return [p for p in family_of(parent) if p[1] == "Z"]


class Processes(SharedCase):
    """One standalone; every test leaves it idle."""

    SECRETS = {"BATON_TOKEN": "client-secret-1b9e", "BATON_DATABASE_PASSWORD": "db-secret-77ac",
               "MYSQL_PWD": "db-secret-77ad"}

    @classmethod
    def make(cls):
        return WrappedStandalone(runners=8, heartbeat="500ms", env=cls.SECRETS)

    def test_stopping_a_task_leaves_no_grandchild_alive(self):
        # BUG-109: a kill reaches the whole tree.
        mark = uuid.uuid4().hex
        task = self.system.submit({
            "name": "tree", "env": {"MARK": mark}, "kill_grace": "2s",
            "command": ["bash", "-c", 'bash -c "sleep 999 & sleep 999" & sleep 999']})
        self.system.wait_status(task, "RUNNING")
        eventually(lambda: len(marked(mark)) >= 4, 10, "the tree of processes")
        asked = time.monotonic()
        self.system.rest.act(task, "stop")
        self.assertEqual(self.system.wait_task(task)["status"], "TERMINATED")
        self.assertLess(time.monotonic() - asked, 3.0 + 0.5)
        self.assertEqual(marked(mark), [])

    def test_a_zero_byte_in_the_output_cuts_nothing(self):
        # BUG-113: the file keeps the byte and what comes behind it.
        done = self.run_task(sh(r"printf 'x\0y\n'; echo after"))
        self.assertEqual(done["status"], "FINISHED")
        self.assertEqual(self.system.rest.output(done["id"]), b"x\0y\nafter\n")
        piece = self.system.rest.request("GET", f"/api/v1/tasks/{done['id']}/logs?tail=10")
        self.assertEqual(piece.body, b"x\0y\nafter\n")

    def test_a_thousand_short_tasks_leave_no_zombie(self):
        # BUG-116: children are reaped, also the orphans that they leave.
        count = 5000 if long_run() else 1000
        batch = [{"name": "true", "command": ["true"]}] * (count - 40)
        batch += [sh("(sleep 0.05 &) ; (sleep 20 &) ; exit 0")] * 40
        ids = self.system.submit_bulk(batch)
        done = self.system.wait_tasks(ids, 240 if long_run() else 100)
        self.assertEqual({t["status"] for t in done.values()}, {"FINISHED"})
        self.assertEqual(len(done), count)
        shepherd = self.system.shepherd("standalone")
        eventually(lambda: not children_of(shepherd), 3, "the shepherd being without children",
                   pause=0.1)
        self.assertEqual(zombies_of(self.system.pid("standalone")), [])

    def test_every_launch_reaches_its_program_while_the_process_is_busy(self):
        # BUG-117: nothing between fork and exec can be stuck on a lock of another thread.
        count = 2000 if long_run() else 500
        shepherd = self.system.shepherd("standalone")
        ids = self.system.submit_bulk([sh("echo $$")] * count)
        ended = threading.Event()
        stuck, seen = [], {}

        def load():
            while not ended.is_set():
                try:
                    self.system.rest.get("/api/v1/tasks?limit=200")
                    self.system.rest.output(ids[0], timeout=5)
                except Exception:
                    pass  # Not run yet.

        def watch():
            while not ended.is_set():
                now = time.monotonic()
                young = {pid for pid, state, name in children_of(shepherd)
                         if name.startswith("baton") and state != "Z"}
                for pid in young:
                    if now - seen.setdefault(pid, now) > 5:
                        stuck.append(pid)
                for pid in set(seen) - young:
                    del seen[pid]
                ended.wait(0.05)
        threads = [threading.Thread(target=load) for _ in range(8)]
        threads.append(threading.Thread(target=watch))
        for thread in threads:
            thread.start()
        try:
            done = self.system.wait_tasks(ids, 240 if long_run() else 120)
        finally:
            ended.set()
            for thread in threads:
                thread.join()
        self.assertEqual({t["status"] for t in done.values()}, {"FINISHED"})
        self.assertEqual(stuck, [])

    def test_a_task_gets_a_documented_environment_and_none_of_the_secrets(self):
        # BUG-124: HOME and others are there; tokens and passwords of the worker are not.
        done = self.run_task(sh("env; echo PWD_IS=$(pwd); echo USER_IS=$(id -un)"))
        text = self.system.rest.output(done["id"]).decode()
        seen = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
        for name in ("PATH", "HOME", "USER", "LANG", "BATON_TASK_ID", "BATON_ATTEMPT",
                     "BATON_EPOCH", "BATON_OUTPUT", "BATON_WORKER"):
            self.assertIn(name, seen)
        self.assertEqual(seen["USER"], seen["USER_IS"])
        self.assertEqual(seen["BATON_TASK_ID"], done["id"])
        self.assertTrue(seen["PWD_IS"].startswith(self.system.path))
        for secret in (*self.SECRETS.values(), self.system.token, self.system.worker_token):
            self.assertNotIn(secret, text)
        for name in self.SECRETS:
            self.assertNotIn(name, seen)
        # Nor can it find them in the environment of who started it.
        above = self.run_task(sh("cat /proc/$PPID/environ | tr '\\0' '\\n'"))
        for secret in (self.system.token, self.system.worker_token):
            self.assertNotIn(secret, self.system.rest.output(above["id"]).decode())

    def test_a_stop_as_the_task_ends_leaves_nothing_terminating(self):
        # BUG-130: whoever wins the race, the task ends.
        loops, width = (200, 8) if long_run() else (40, 8)
        outcomes = []

        def one(index):
            task = self.system.submit({"name": "race", "command": ["sleep", "1"],
                                       "kill_grace": "2s"})
            self.system.wait_status(task, "RUNNING", "FINISHED")
            time.sleep(0.90 + 0.1 * (index % 11) / 10)
            answer = self.system.rest.act(task, "stop", accept=(200, 409))
            outcomes.append((answer.status, self.system.wait_task(task, 2 + 2 * 0.5 + 5)["status"]))
        for first in range(0, loops, width):
            threads = [threading.Thread(target=one, args=(first + i,)) for i in range(width)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(len(outcomes), loops)
        self.assertLessEqual({status for _, status in outcomes}, {"FINISHED", "TERMINATED"})
        # A refused stop means that the task had ended by itself.
        self.assertNotIn((409, "TERMINATED"), outcomes)
        self.say("finished:", sum(s == "FINISHED" for _, s in outcomes), "terminated:",
                 sum(s == "TERMINATED" for _, s in outcomes))
        self.assertEqual(list(self.system.rest.tasks(status="TERMINATING")), [])

    def test_an_exit_after_the_stop_was_accepted_stays_terminated(self):
        # BUG-131: the end came after the RESET, so its code 0 makes nothing green again.
        task = self.system.submit(sh("trap '' TERM; sleep 4; exit 0", kill_grace="30s"))
        self.system.wait_status(task, "RUNNING")
        time.sleep(1)
        self.system.rest.act(task, "stop")
        self.assertEqual(self.system.task(task)["status"], "TERMINATING")
        self.assertEqual(self.system.wait_task(task, 15)["status"], "TERMINATED")
        time.sleep(1.5)  # Three heartbeats in which it might turn.
        self.assertEqual(self.system.task(task)["status"], "TERMINATED")
        self.assertEqual([a["status"] for a in self.system.rest.attempts(task)], ["TERMINATED"])


class RecycledPid(DrillCase):
    def test_a_recycled_pid_is_never_taken_for_the_task(self):
        # BUG-123: the start time tells them apart; the stranger lives, the task is runner_reset.
        system = self.standalone(runners=1, heartbeat="500ms")
        task = system.submit({"name": "victim", "command": ["sleep", "888"]})
        system.wait_status(task, "RUNNING")
        records = os.path.join(system.worker_data(), "shepherd.records")
        with open(records) as file:
            text = file.read()
        found = re.search(rf"^S {task} 1 (\d+) (\d+)", text, re.MULTILINE)
        self.assertIsNotNone(found, text)
        pid = int(found.group(1))
        shepherd = system.shepherd("standalone")
        system.kill("standalone")
        os.kill(shepherd, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not is_alive(shepherd) and not is_alive(pid), 5, "their end")
        stranger = subprocess.Popen(["sleep", "999"], start_new_session=True)
        self.addCleanup(stranger.wait)
        self.addCleanup(stranger.kill)
        with open(records, "w") as file:
            file.write(text.replace(f"S {task} 1 {pid} ", f"S {task} 1 {stranger.pid} "))
        system.start()
        done = system.wait_task(task, 20)
        self.assertEqual((done["status"], done["reason"]), ("FAILED", "runner_reset"))
        self.assertEqual(system.rest.act(task, "stop", accept=(409,)).code, "conflict")
        after = system.submit({"name": "after", "command": ["true"]})
        self.assertEqual(system.wait_task(after)["status"], "FINISHED")
        self.assertIsNone(stranger.poll())
        self.assertIn(process_state(stranger.pid), ("S", "R"))


class FullDisk(DrillCase):
    def test_a_full_disk_costs_output_and_neither_status_nor_daemon(self):
        # BUG-128: 1 MB for the worker's data; later there is room again.
        if not may_unshare("-m"):
            self.skipTest("NOT TESTED: no right to make a mount namespace")

        def own_disk(system):
            data = system.worker_data()
            os.makedirs(data, exist_ok=True)
            return ["unshare", "-m", "sh", "-c",
                    f'mount -t tmpfs -o size=1m none "{data}" && exec "$@"', "sh"]
        system = self._keep_if_failed(WrappedStandalone(own_disk, runners=2, heartbeat="500ms"))
        full = system.wait_task(system.submit(sh("seq 1000000; exit 0")), 60)
        self.assertEqual(full["status"], "FINISHED", full)
        log = system.rest.request("GET", f"/api/v1/tasks/{full['id']}/logs?tail=3")
        self.assertEqual(log.headers["x-baton-log-truncated"], "true", log)
        self.assertGreater(int(log.headers["x-baton-log-size"]), 1000)
        # No room for a script by now; a command needs none.
        bad = system.wait_task(system.submit(
            {"command": ["/bin/sh", "-c", "seq 1000000; exit 3"]}), 60)
        self.assertEqual((bad["status"], bad["return_code"]), ("FAILED", 3), bad)
        pid = system.pid("standalone")
        subprocess.run(["nsenter", "-t", str(pid), "-m", "mount", "-o", "remount,size=16m",
                        system.worker_data()], check=True, timeout=10)
        after = system.wait_task(system.submit(sh("seq 1000")), 30)
        self.assertEqual(after["status"], "FINISHED")
        self.assertEqual(system.rest.output(after["id"]),
                         b"".join(b"%d\n" % i for i in range(1, 1001)))
        self.assertEqual(pid, system.pid("standalone"))
        self.assertTrue(system.running("standalone"))


class OwnPidNamespace(DrillCase):
    def test_as_first_process_of_a_container_it_leaves_no_zombie(self):
        # BUG-116: nobody else is there to reap what tasks leave behind.
        if not may_unshare("-pf", "--mount-proc"):
            self.skipTest("NOT TESTED: no right to make a pid namespace")
        system = self._keep_if_failed(WrappedStandalone(
            lambda _: ["unshare", "-pf", "--mount-proc", "--kill-child"], runners=8,
            heartbeat="500ms"))
        orphans = sh("(setsid sh -c 'sleep 0.1' &) ; (sh -c 'sleep 0.1 & exit 0') ; exit 0")
        count = 2000 if long_run() else 300
        ids = system.submit_bulk([orphans if i % 3 == 0 else {"name": "t", "command": ["true"]}
                                  for i in range(count)])
        done = system.wait_tasks(ids, 120)
        self.assertEqual({t["status"] for t in done.values()}, {"FINISHED"})
        outside = system.pid("standalone")
        eventually(lambda: not zombies_of(outside), 2, "an end of zombies", pause=0.1)
        left = [name for _, _, name in family_of(outside)]
        self.assertLessEqual(len(left), 3, left)  # The daemon and its shepherd.
        # With the shepherd gone, what it looked after falls to the first process.
        running = system.submit_bulk([sh("sleep 997 & sleep 997 & wait")] * 5)
        for task in running:
            system.wait_status(task, "RUNNING")
        os.kill(system.shepherd("standalone"), signal.SIGKILL)
        for task in system.wait_tasks(running, 20).values():
            self.assertEqual((task["status"], task["reason"]), ("FAILED", "runner_reset"))
        after = system.submit({"command": ["true"]})
        self.assertEqual(system.wait_task(after)["status"], "FINISHED")
        eventually(lambda: not zombies_of(outside), 3, "an end of zombies", pause=0.1)
        left = [name for _, _, name in family_of(outside)]
        self.assertLessEqual(len(left), 3, left)


if __name__ == "__main__":
    unittest.main()
