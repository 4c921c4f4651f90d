"""The table of exceptions, as stories of one task each.

Rows 5 (runner silent), 6 (master silent) and 8 (the master changes) take their time and are in
test_silence and test_takeover."""

import threading
import unittest

from baton_cluster import eventually
from protocol_case import Held, ProtocolCase


class Exceptions(ProtocolCase):

    def ends(self, task):
        return [(a["attempt"], a["status"], a["reason"]) for a in self.attempts(task)]

    def test_1_a_runner_that_cannot_start_the_task_says_so_and_the_retry_succeeds(self):
        runner = self.runner()
        task = self.dispatched(runner, retry={"max": 2, "delay": "0s"})
        reply = runner.beat("FAILED", reason="start_failed", reason_text="no such folder")
        self.assert_command(reply, "RESET")
        self.assertEqual(self.attempts(task)[0]["reason_text"], "no such folder")
        eventually(lambda: runner.beat()["command"] == "RUN_NEW", 5)
        runner.beat()  # This time it says nothing but IDLE.
        eventually(lambda: runner.beat()["command"] == "RUN_NEW", 5)
        runner.finish()
        self.assertEqual(self.ends(task), [(1, "FAILED", "start_failed"),
                                           (2, "FAILED", "start_failed"), (3, "FINISHED", None)])

    def test_2_a_runner_that_lost_the_task_while_running_gets_it_again_as_a_new_attempt(self):
        runner = self.runner()
        task = self.running(runner, retry={"max": 1, "delay": "0s"})
        runner.restart()
        runner.beat()
        eventually(lambda: runner.beat()["command"] == "RUN_NEW", 5)
        runner.beat("RUNNING")
        runner.finish()
        self.assertEqual(self.ends(task), [(1, "FAILED", "runner_reset"), (2, "FINISHED", None)])

    def test_3_a_stop_by_hand_is_reset_and_then_terminated(self):
        runner = self.runner()
        task = self.running(runner, retry={"max": 3, "delay": "0s"})
        held = Held(runner, runner.report("RUNNING", wait_ms=60_000))
        eventually(lambda: self.view(runner)["held"], 5, pause=0.01)
        self.assertEqual(self.cluster.rest.act(task, "stop").json["status"], "TERMINATING")
        self.assert_command(held.reply(), "RESET")
        # It reports RUNNING while it stops the process.
        self.assert_command(runner.beat("RUNNING"), "RESET")
        self.assertEqual(self.status(task), "TERMINATING")
        runner.beat()
        self.assertEqual(self.status(task), "TERMINATED")
        self.assertEqual(self.ends(task), [(1, "TERMINATED", None)])

    def test_4_a_task_that_fails_is_retried_and_its_runner_reset(self):
        runner = self.runner()
        task = self.running(runner, retry={"max": 1, "delay": "0s"})
        self.assert_command(runner.finish(code=7), "RESET")
        eventually(lambda: runner.beat()["command"] == "RUN_NEW", 5)
        runner.beat("RUNNING")
        self.assert_command(runner.finish(code=8), "RESET")
        ended = self.cluster.task(task)
        self.assertEqual((ended["status"], ended["return_code"]), ("FAILED", 8))
        self.assertEqual(self.ends(task), [(1, "FAILED", "exit_code"), (2, "FAILED", "exit_code")])

    def test_7_every_request_lost_late_or_doubled_has_one_effect(self):
        runner = self.runner()
        task = self.submit(runner)
        sent = []

        def say(status="IDLE", **fields):
            """Sends a report three times at once, and all older ones again."""
            report = runner.report(status, **fields)
            sent.append(report)
            answers = []

            def send():
                answers.append(runner.send(report))
                runner.rest.close()
            threads = [threading.Thread(target=send) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for older in sent[:-1]:
                self.assert_command(runner.send(older).json, "GO_ON")
            replies = [answer.json for answer in answers]
            self.assertEqual({r["seq"] for r in replies}, {report["seq"]})
            self.assertEqual(len({r["command"] for r in replies}), 1, replies)
            return replies[0]
        order = say()["task"]
        self.assertEqual(say()["task"], order)  # The reply was lost.
        runner.last_order = {name: order[name] for name in ("task", "attempt", "nonce")}
        self.assert_command(say("RUNNING"), "GO_ON")
        self.assert_command(say("FINISHED", return_code=0, run_ms=1, ended_ms=0), "RESET")
        self.assert_command(say("FINISHED", return_code=0, run_ms=1, ended_ms=0), "RESET")
        self.assert_command(say(), "GO_ON")
        self.assertEqual(self.status(task), "FINISHED")
        self.assertEqual(self.ends(task), [(1, "FINISHED", None)])
        self.assertIsNone(self.attempts(task)[0]["late_report"])


if __name__ == "__main__":
    unittest.main()
