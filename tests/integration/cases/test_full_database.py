"""The database's disk full, and two programs on one data folder."""

import os
import unittest

from case_support import (DrillCase, WrappedStandalone, eventually, free_port,
                          may_unshare, run_baton, sh)


class FullDatabase(DrillCase):
    def test_a_full_disk_of_the_database_refuses_and_loses_nothing(self):
        # 503 while there is no room; what was accepted runs when there is.
        if not may_unshare("-m"):
            self.skipTest("NOT TESTED: no right to make a mount namespace")

        def small_disk(system):
            # The worker's files have a disk of their own: this is about the database.
            data, worker = system.file("data"), system.file("worker")
            os.makedirs(data)
            os.makedirs(worker)
            return ["unshare", "-m", "sh", "-c",
                    f'mount -t tmpfs -o size=6m none "{data}" && mkdir -m 700 "{data}/worker" && '
                    f'mount --bind "{worker}" "{data}/worker" && exec "$@"', "sh"]
        system = self._keep_if_failed(WrappedStandalone(small_disk, runners=2, heartbeat="500ms"))
        inside = f"/proc/{system.pid('standalone')}/root{system.file('data')}"
        running = system.submit(sh("sleep 2; echo done"))
        held = system.submit_bulk([{"command": ["true"], "hold": True}] * 20)
        system.wait_status(running, "RUNNING")
        ballast = os.path.join(inside, "ballast")
        with open(ballast, "wb", buffering=0) as file:
            for size in (65536, 4096, 1):
                try:
                    while file.write(b"x" * size):
                        pass
                except OSError:
                    pass

        def full():
            answer = system.rest.once(system.rest.addresses[0], "POST", "/api/v1/tasks",
                                      {"command": ["true"], "hold": True,
                                       "params": {"A": "x" * 60_000}}, timeout=3)
            if answer.status == 201:
                accepted.append(answer.json["id"])
                return None
            return answer.status == 503 and answer
        accepted = []

        def refused():
            try:
                return full()
            except OSError:
                return None  # It waits for room: neither accepted nor refused.
        answer = eventually(refused, 30, "a refusal", pause=0.05)
        self.assertGreaterEqual(int(answer.headers["retry-after"]), 1)
        self.say(f"refused with {answer.code} after {len(accepted)} more")
        self.assertTrue(system.running("standalone"))
        self.assertEqual(system.rest.once(system.rest.addresses[0], "GET", "/healthz").status, 200)
        os.unlink(ballast)
        done = system.wait_task(running, 20)
        self.assertEqual((done["status"], done["attempt"]), ("FINISHED", 1))
        for task in (*held, *accepted):
            system.rest.act(task, "release", timeout=20)
        for task in system.wait_tasks([*held, *accepted], 60).values():
            self.assertEqual(task["status"], "FINISHED")
        self.assertEqual(system.post("/api/v1/cluster/verify")["differences"], [])


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
