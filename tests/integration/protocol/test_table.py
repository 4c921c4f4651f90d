"""The table "What the master does", row by row."""

import unittest

from baton_cluster import eventually
from protocol_case import Held, ProtocolCase, TableLock


class IdleRows(ProtocolCase):

    def test_idle_with_nothing_open_picks(self):
        runner = self.runner()
        self.assert_command(runner.beat(), "GO_ON")
        task = self.submit(runner)
        reply = runner.beat()
        self.assert_command(reply, "RUN_NEW")
        self.assertEqual((reply["task"]["task"], reply["task"]["attempt"]), (task, 1))
        self.assertEqual(self.status(task), "DISPATCHED")

    def test_idle_while_dispatched_and_accepted_is_start_failed(self):
        runner = self.runner()
        task = self.dispatched(runner)
        self.assert_command(runner.beat(), "GO_ON")
        ended = self.cluster.task(task)
        self.assertEqual((ended["status"], ended["reason"]), ("FAILED", "start_failed"))
        self.assertIsNone(self.attempts(task)[0]["started_at"])

    def test_idle_while_running_is_runner_reset(self):
        runner = self.runner()
        task = self.running(runner)
        self.assert_command(runner.beat(), "GO_ON")
        ended = self.cluster.task(task)
        self.assertEqual((ended["status"], ended["reason"]), ("FAILED", "runner_reset"))

    def test_the_idle_that_loses_one_task_is_answered_with_the_next(self):
        runner = self.runner()
        lost = self.running(runner)
        following = self.submit(runner)
        self.assertEqual(runner.beat()["task"]["task"], following)
        self.assertEqual(self.status(lost), "FAILED")

    def test_idle_while_terminating_is_terminated(self):
        runner = self.runner()
        task = self.terminating(runner)
        self.assert_command(runner.beat(), "GO_ON")
        ended = self.cluster.task(task)
        self.assertEqual((ended["status"], ended["reason"], ended["unproven"]),
                         ("TERMINATED", None, False))

    def test_a_stop_before_the_first_running_is_carried_through_too(self):
        runner = self.runner()
        task = self.dispatched(runner)
        self.cluster.rest.act(task, "stop")
        self.assert_command(runner.beat("RUNNING"), "RESET")
        self.assert_command(runner.beat(), "GO_ON")
        self.assertEqual(self.status(task), "TERMINATED")

    def test_the_closing_idle_carries_the_stopped_attempts_result(self):
        runner = self.runner()
        task = self.terminating(runner)
        last = runner.last_order
        runner.beat(current_task=last["task"], attempt=last["attempt"], nonce=last["nonce"],
                    signal=15, run_ms=70, ended_ms=0, stdout={"bytes": 12}, stderr={"bytes": 3})
        attempt = self.attempts(task)[0]
        self.assertEqual((attempt["status"], attempt["signal"]), ("TERMINATED", 15))
        self.assertEqual((attempt["stdout_bytes"], attempt["stderr_bytes"]), (12, 3))
        self.assertEqual(self.status(task), "TERMINATED")


class RunningRows(ProtocolCase):

    def test_running_while_dispatched_is_running(self):
        runner = self.runner()
        task = self.dispatched(runner)
        self.assert_command(runner.beat("RUNNING"), "GO_ON")
        self.assertEqual(self.status(task), "RUNNING")
        self.assertIsNotNone(self.cluster.task(task)["started_at"])

    def test_running_while_running_changes_nothing_but_last_seen(self):
        runner = self.runner()
        task = self.running(runner)
        before = self.cluster.task(task)
        eventually(lambda: self.view(runner)["silent_ms"] >= 400, 5)
        self.assert_command(runner.beat("RUNNING"), "GO_ON")
        self.assertEqual(self.cluster.task(task), before)
        self.assertLess(self.view(runner)["silent_ms"], 400)

    def test_running_while_terminating_is_reset(self):
        runner = self.runner()
        task = self.terminating(runner)
        self.assert_command(runner.beat("RUNNING"), "RESET")
        self.assert_command(runner.beat("RUNNING", wait_ms=0), "RESET")
        self.assertEqual(self.status(task), "TERMINATING")

    def test_running_an_unknown_task_is_reset(self):
        runner = self.runner()
        runner.beat()
        reply = runner.beat("RUNNING", current_task="999999999", attempt=1, nonce="00")
        self.assert_command(reply, "RESET")

    def test_running_what_has_ended_is_reset(self):
        runner = self.runner()
        task = self.running(runner)
        runner.finish()
        self.assert_command(runner.beat("RUNNING"), "RESET")
        self.assertEqual(self.status(task), "FINISHED")

    def test_running_an_older_attempt_is_reset(self):
        runner = self.runner()
        task = self.running(runner, retry={"max": 1, "delay": "0s"})
        old = dict(current_task=task, attempt=1, nonce=runner.last_order["nonce"])
        runner.finish(code=1)
        eventually(lambda: runner.beat()["command"] == "RUN_NEW", 5)
        self.assert_command(runner.beat("RUNNING", **old), "RESET")
        shown = self.cluster.task(task)
        self.assertEqual((shown["status"], shown["attempt"]), ("DISPATCHED", 2))


class FinishedRows(ProtocolCase):

    def assert_finished(self, task, reply):
        self.assert_command(reply, "RESET")
        ended = self.cluster.task(task)
        self.assertEqual((ended["status"], ended["return_code"]), ("FINISHED", 0))
        self.assertEqual(self.attempts(task)[0]["status"], "FINISHED")

    def test_finished_while_dispatched_is_finished(self):
        runner = self.runner()
        task = self.dispatched(runner)
        self.assert_finished(task, runner.finish())

    def test_finished_while_running_is_finished(self):
        runner = self.runner()
        task = self.running(runner)
        self.assert_finished(task, runner.finish())

    def test_finished_while_terminating_wins_the_race(self):
        runner = self.runner()
        task = self.terminating(runner)
        self.assert_finished(task, runner.finish())
        self.assertIsNone(self.cluster.task(task)["stop_cause"])

    def test_a_result_is_answered_with_the_next_task(self):
        runner = self.runner()
        first = self.running(runner)
        second = self.submit(runner)
        reply = runner.finish()
        self.assert_command(reply, "RUN_NEW")
        self.assertEqual(reply["task"]["task"], second)
        self.assertEqual((self.status(first), self.status(second)), ("FINISHED", "DISPATCHED"))

    def test_the_result_is_in_the_database_when_the_reply_arrives(self):
        runner = self.runner()
        task = self.running(runner)
        runner.finish(outputs={"rows": "7"})
        rows = self.cluster.sql("SELECT t.status, t.phase, a.status, a.open_flag, t.outputs "
                                "FROM task t JOIN attempt a USING (task_id) "
                                f"WHERE task_id = {task}")
        self.assertEqual(rows, [["5", "5", "2", None, '{"rows":"7"}']])
        self.assertEqual(self.cluster.task(task)["outputs"], {"rows": "7"})

    def test_no_reply_leaves_before_the_result_is_in_the_database(self):
        runner = self.runner()
        task = self.running(runner)
        lock = TableLock(self.cluster, "attempt")
        try:
            waiting = Held(runner, runner.report("FINISHED", return_code=0))
            waiting.join(0.4)
            self.assertTrue(waiting.is_alive(), waiting.answer)
        finally:
            lock.release()
        self.assert_command(waiting.reply(), "RESET")
        self.assertEqual(self.status(task), "FINISHED")

    def test_no_order_leaves_before_the_attempt_is_in_the_database(self):
        runner = self.runner()
        runner.beat()
        task = self.submit(runner)
        lock = TableLock(self.cluster, "attempt")
        try:
            waiting = Held(runner, runner.report())
            waiting.join(0.4)
            self.assertTrue(waiting.is_alive(), waiting.answer)
        finally:
            lock.release()
        self.assertEqual(waiting.reply()["task"]["task"], task)

    def test_an_awaited_callback_leaves_it_in_callback(self):
        runner = self.runner()
        dead = {"url": "http://127.0.0.1:1/", "on": ["finished"], "wait": True}
        task = self.running(runner, callback=dead)
        self.assert_command(runner.finish(), "RESET")
        self.assertEqual(self.status(task), "CALLBACK")
        # The runner is free meanwhile.
        following = self.submit(runner)
        self.assertEqual(runner.beat()["task"]["task"], following)
        self.cluster.rest.act(task, "stop")
        self.assertEqual(self.status(task), "FINISHED")


class FailedRows(ProtocolCase):

    def test_failed_while_dispatched_is_failed(self):
        runner = self.runner()
        task = self.dispatched(runner)
        self.assert_command(runner.beat("FAILED", reason="start_failed",
                                        reason_text="no such program"), "RESET")
        ended = self.cluster.task(task)
        self.assertEqual((ended["status"], ended["reason"], ended["reason_text"]),
                         ("FAILED", "start_failed", "no such program"))

    def test_failed_while_running_is_failed_with_its_reason(self):
        runner = self.runner()
        task = self.running(runner)
        self.assert_command(runner.finish(code=3), "RESET")
        ended = self.cluster.task(task)
        self.assertEqual((ended["status"], ended["reason"], ended["return_code"]),
                         ("FAILED", "exit_code", 3))

    def test_a_signal_is_told(self):
        runner = self.runner()
        task = self.running(runner)
        runner.beat("FAILED", reason="signal", signal=9)
        ended = self.cluster.task(task)
        self.assertEqual((ended["reason"], ended["signal"], ended["return_code"]),
                         ("signal", 9, None))

    def test_failed_while_terminating_is_terminated(self):
        runner = self.runner()
        task = self.terminating(runner, retry={"max": 3, "delay": "0s"})
        self.assert_command(runner.beat("FAILED", reason="signal", signal=15), "RESET")
        ended = self.cluster.task(task)
        self.assertEqual((ended["status"], ended["reason"]), ("TERMINATED", None))
        self.assertEqual(self.attempts(task)[0]["status"], "TERMINATED")

    def test_a_failure_is_answered_with_the_next_task(self):
        runner = self.runner()
        first = self.running(runner)
        second = self.submit(runner)
        self.assertEqual(runner.finish(code=1)["task"]["task"], second)
        self.assertEqual(self.status(first), "FAILED")


class RecordedRows(ProtocolCase):

    def assert_not_late(self, task):
        self.assertIsNone(self.attempts(task)[0]["late_report"])

    def test_finished_again_is_acknowledged_and_not_late(self):
        runner = self.runner()
        task = self.running(runner)
        runner.finish()
        self.assert_command(runner.finish(), "RESET")
        self.assertEqual(self.status(task), "FINISHED")
        self.assert_not_late(task)

    def test_failed_again_is_acknowledged_and_not_late(self):
        runner = self.runner()
        task = self.running(runner, retry={"max": 1, "delay": "1h", "max_delay": "1h"})
        runner.finish(code=2)
        self.assert_command(runner.finish(code=2), "RESET")
        self.assertEqual(self.stored(task), (10, 1, 1))
        self.assert_not_late(task)

    def test_an_acknowledged_result_may_be_answered_with_the_next_task(self):
        runner = self.runner()
        self.running(runner)
        runner.finish()
        following = self.submit(runner)
        self.assertEqual(runner.finish()["task"]["task"], following)

    def test_one_that_was_recorded_before_another_is_acknowledged_too(self):
        runner = self.runner()
        first = self.running(runner)
        old = dict(current_task=first, attempt=1, nonce=runner.last_order["nonce"])
        runner.finish()
        self.running(runner)
        runner.finish()
        self.assert_command(runner.finish(**old), "RESET")
        self.assert_not_late(first)


class LateRows(ProtocolCase):

    def test_another_result_is_kept_and_nothing_changes(self):
        runner = self.runner()
        task = self.running(runner)
        runner.finish()
        before = self.cluster.task(task)
        self.assert_command(runner.finish(code=9), "RESET")
        self.assertEqual(self.cluster.task(task), before)
        attempt = self.attempts(task)[0]
        self.assertEqual((attempt["status"], attempt["return_code"]), ("FINISHED", 0))
        self.assertEqual(attempt["late_report"]["status"], "FAILED")
        self.assertEqual(attempt["late_report"]["return_code"], 9)

    def test_a_late_result_is_answered_with_reset_even_if_a_task_waits(self):
        runner = self.runner()
        self.running(runner)
        runner.finish()
        following = self.submit(runner)
        self.assert_command(runner.finish(code=9), "RESET")
        self.assert_command(runner.beat(), "RUN_NEW")
        self.assertEqual(self.status(following), "DISPATCHED")

    def test_a_result_after_start_failed_is_late(self):
        runner = self.runner()
        task = self.dispatched(runner)
        runner.beat()
        self.assert_command(runner.finish(), "RESET")
        ended = self.cluster.task(task)
        self.assertEqual((ended["status"], ended["reason"]), ("FAILED", "start_failed"))
        self.assertEqual(self.attempts(task)[0]["late_report"]["status"], "FINISHED")

    def test_a_result_of_an_older_attempt_is_late_and_does_not_end_the_newer(self):
        runner = self.runner()
        task = self.running(runner, retry={"max": 1, "delay": "0s"})
        old = dict(current_task=task, attempt=1, nonce=runner.last_order["nonce"])
        runner.finish(code=1)
        eventually(lambda: runner.beat()["command"] == "RUN_NEW", 5)
        runner.beat("RUNNING")
        self.assert_command(runner.finish(**old), "RESET")
        self.assertEqual(self.status(task), "RUNNING")
        first, second = self.attempts(task)
        self.assertEqual(first["late_report"]["status"], "FINISHED")
        self.assertEqual((second["status"], second["late_report"]), ("RUNNING", None))

    def test_a_result_of_an_unknown_task_is_reset(self):
        runner = self.runner()
        runner.beat()
        reply = runner.beat("FINISHED", current_task="999999999", attempt=1, nonce="00",
                            return_code=0)
        self.assert_command(reply, "RESET")

    def test_a_late_report_never_overwrites_a_forced_success(self):
        runner = self.runner()
        task = self.running(runner)
        runner.finish(code=1)
        self.cluster.rest.act(task, "force-success")
        self.assert_command(runner.finish(code=5), "RESET")
        ended = self.cluster.task(task)
        self.assertEqual((ended["status"], ended["forced"]), ("FINISHED", True))


if __name__ == "__main__":
    unittest.main()
