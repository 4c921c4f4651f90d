"""What is too large for a database, a master or a worker is refused or cut where it comes in."""

import unittest

from case_support import Cluster, DrillCase, run_baton, sh


class TooLarge(DrillCase):
    """What the database can't take is refused at the door; the term goes on."""

    def check(self, db_args, script_bytes, fits_bytes):
        system = self._keep_if_failed(Cluster(masters=2, workers=1, runners=1, heartbeat="500ms",
                                              db_args=db_args))
        system.wait_active(20)
        epoch = system.epoch()
        rest = system.rest
        active = system.address(system.active())
        key = "large"
        for _ in range(2):  # A client repeats with its key.
            answer = rest.once(active, "POST", "/api/v1/tasks", sh("\n" * script_bytes), key, 60)
            self.assertEqual((answer.status, answer.code), (413, "too_large"), answer)
            bulk = {"tasks": [sh("true"), sh('"' * script_bytes)]}
            answer = rest.once(active, "POST", "/api/v1/tasks/bulk", bulk, key, 60)
            self.assertEqual((answer.status, answer.code), (413, "too_large"), answer)
        runner = system.runner("odd:0", {"only": "odd"})
        for field, value in [("worker_address", "a" * 280), ("host", "h" * 256),
                             ("version", "v" * 65), ("journal_id", "j" * 65),
                             ("runner_config", {"labels": {"a": "x" * 70_000}}),
                             ("outputs", {"a": "x" * 70_000})]:
            answer = runner.send(runner.report(**{field: value}), active)
            self.assertEqual((answer.status, answer.code), (400, "invalid_argument"), field)
        # Up to the limit it is accepted, stored, sent and run.
        fits = sh("#" + "'" * fits_bytes + "\necho well")
        done = system.wait_task(system.submit(fits, timeout=60, once_timeout=60), 60)
        self.assertEqual(done["status"], "FINISHED", done)
        self.assertEqual(runner.beat()["command"], "GO_ON")
        self.assertEqual(system.epoch(), epoch)
        self.assertEqual(len(system.history()), 1)

    def test_with_the_packet_of_a_default_server(self):
        # Escaping makes 22 MB of 15 MB, the server takes 16.
        self.check("", 7_500_000, 7_000_000)

    def test_with_a_packet_of_one_megabyte(self):
        self.check("--max-allowed-packet=1M", 400_000, 500_000)

    def test_a_server_with_a_smaller_packet_is_refused_at_the_start(self):
        system = self._keep_if_failed(Cluster(masters=1, workers=1,
                                              db_args="--max-allowed-packet=512K", start=False))
        code, said = run_baton("master", "--config", system.file("master1", "config.yaml"))
        self.assertNotEqual(code, 0)
        self.assertIn("max_allowed_packet", said)


class Reports(DrillCase):
    """A task ends and its slot is free, whatever it makes its runner report."""

    def test_more_outputs_than_a_master_takes_are_cut(self):
        system = self.standalone(runners=1)
        done = system.wait_task(system.submit(sh("seq 1 10940 | sed 's/$/=/' > $BATON_OUTPUT")))
        self.assertEqual(done["status"], "FINISHED", done)
        self.assertEqual(len(done["outputs"]), 10_000)
        done = system.wait_task(system.submit(sh("echo a=1 > $BATON_OUTPUT")))
        self.assertEqual(done["outputs"], {"a": "1"})

    def test_a_command_of_more_than_a_report_may_have_is_not_lost(self):
        # The limit of a report is 1 MB; the runner would be lost after three intervals.
        system = self.standalone(runners=1, heartbeat="300ms")
        words = ["x" * 100_000] * 14
        done = system.wait_task(system.submit({"command": ["sh", "-c", "sleep 3", *words]}))
        self.assertEqual((done["status"], done["attempt"]), ("FINISHED", 1), done)
        self.assertEqual(system.wait_task(system.submit(sh("true")))["status"], "FINISHED")


if __name__ == "__main__":
    unittest.main()
