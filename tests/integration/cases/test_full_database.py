"""The database's disk full, and two programs on one data folder."""

import os
import subprocess
import unittest

from baton_programs import ROOT
from case_support import (Cluster, DrillCase, WrappedStandalone, eventually, free_port, may_unshare,
                          run_baton, sh)


def fill(folder):
    """Takes the last byte of a file system; returns the file to remove."""
    path = os.path.join(folder, "ballast")
    with open(path, "wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                pass
    return path


class FullDatabase(DrillCase):
    """No room in the database: 503, and what was accepted runs when there is room again."""

    def fill_and_recover(self, system, disk, programs, codes):
        running = system.submit(sh("sleep 2; echo done"))
        held = system.submit_bulk([{"command": ["true"], "hold": True}] * 20)
        system.wait_status(running, "RUNNING")
        ballast = fill(disk)
        accepted, unknown = [], []
        body = {"command": ["true"], "hold": True, "params": {"A": "x" * 100_000}}

        def submit():
            key = f"full-{len(accepted)}-{len(unknown)}"
            try:
                answer = system.rest.once(system.rest.addresses[0], "POST", "/api/v1/tasks", body,
                                          key, timeout=2)
            except OSError:
                unknown.append(key)  # It waits for room: neither accepted nor refused.
                return None
            if answer.status == 201:
                accepted.append(answer.json["id"])
                return None
            return answer.status == 503 and answer
        answer = eventually(submit, 60, "a refusal", pause=0.02)
        self.assertGreaterEqual(int(answer.headers["retry-after"]), 1)
        self.assertIn(answer.code, codes)
        # From now on at once, and for commands too.
        answer = system.rest.once(system.rest.addresses[0], "POST",
                                  f"/api/v1/tasks/{held[0]}/stop", timeout=2)
        self.assertEqual(answer.status, 503)
        self.assertIn(answer.code, codes)
        self.say(f"refused after {len(accepted)} more, {len(unknown)} left open")
        self.assertEqual(system.rest.once(system.rest.addresses[0], "GET", "/healthz").status, 200)
        os.unlink(ballast)
        done = system.wait_task(running, 30)
        self.assertEqual((done["status"], done["attempt"]), ("FINISHED", 1))
        # What was left open is settled by asking again, as a client does.
        accepted += [system.submit(body, key) for key in unknown]
        everything = {*held, *accepted}
        self.assertEqual(len(everything), len(held) + len(accepted))
        for task in everything:
            system.rest.act(task, "release", timeout=20)
        ended = system.wait_tasks(everything, 60)
        self.assertEqual({t["status"] for t in ended.values()}, {"FINISHED"})
        self.assertEqual(set(ended), everything)
        self.assertEqual(system.get("/api/v1/tasks?limit=1&total=true")["total"],
                         len(everything) + 1)
        self.assertEqual(system.post("/api/v1/cluster/verify")["differences"], [])
        for program in programs:
            self.assertTrue(system.running(program))

    def setUp(self):
        if not may_unshare("-m"):
            self.skipTest("NOT TESTED: no right to make a mount namespace")

    def test_a_full_disk_of_sqlite_refuses_and_loses_nothing(self):
        # The worker's files have a disk of their own: this is about the database.
        def small_disk(system):
            data, worker = system.file("data"), system.file("worker")
            os.makedirs(data)
            os.makedirs(worker)
            return ["unshare", "-m", "sh", "-c",
                    f'mount -t tmpfs -o size=6m none "{data}" && mkdir -m 700 "{data}/worker" && '
                    f'mount --bind "{worker}" "{data}/worker" && exec "$@"', "sh"]
        system = self._keep_if_failed(WrappedStandalone(small_disk, runners=2, heartbeat="500ms"))
        inside = f"/proc/{system.pid('standalone')}/root{system.file('data')}"
        self.fill_and_recover(system, inside, ["standalone"], ["storage_full"])

    def test_a_full_disk_of_mariadb_refuses_and_loses_nothing(self):
        # The server's data on a small disk that only it sees.
        system = self._keep_if_failed(Cluster(masters=1, workers=1, runners=2, heartbeat="500ms",
                                              start=False))
        system.stop_db()
        db, small = system.file("db"), system.file("small")
        os.makedirs(small)
        script = os.path.join(ROOT, "scripts", "private_mariadb.sh")
        subprocess.run(
            ["unshare", "-m", "sh", "-ec",
             f'mount -t tmpfs -o size=260m none "{small}"; cp -a "{db}/data/." "{small}";'
             f'mount --bind "{small}" "{db}/data"; exec "{script}" start "{db}"'],
            check=True, timeout=60, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        system.start_master("master1")
        system.start_worker("worker1")
        system.wait_active(20)
        eventually(lambda: len(system.live_runners()) == 2, 20, "the runners")
        # The server tries for long by itself: the link is given up before it says what it is.
        self.fill_and_recover(system, f"/proc/{system.db_pid()}/root{db}/data",
                              ["master1", "worker1"], ["storage_full", "unavailable"])


class OneFolder(DrillCase):
    def test_a_second_program_on_one_data_folder_is_told_and_harms_nobody(self):
        # The first goes on, its tasks and tokens too.
        system = self.standalone(runners=2)
        task = system.submit(sh("sleep 2"))
        system.wait_status(task, "RUNNING")
        code, said = run_baton("standalone", env={"HOME": system.path}, settings={
            **system.settings, "http.port": free_port()})
        self.assertNotEqual(code, 0)
        self.assertIn("in use", said)
        self.assertIn(str(system.pid("standalone")), said)
        code, said = run_baton("standalone", env={"HOME": system.path}, settings={
            **system.settings, "standalone.data_dir": system.file("other")})
        self.assertNotEqual(code, 0)
        self.assertIn("taken", said)
        done = system.wait_task(task)
        self.assertEqual((done["status"], done["attempt"]), ("FINISHED", 1))


if __name__ == "__main__":
    unittest.main()
