"""The table "What the master does", row by row, and the stamps, retries and refusals behind it."""

import time
import unittest

from baton_cluster import eventually
from protocol_case import H, ProtocolCase, seconds


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
        eventually(lambda: self.view(runner)["silent_ms"] >= 150, 5)
        self.assert_command(runner.beat("RUNNING"), "GO_ON")
        self.assertEqual(self.cluster.task(task), before)
        self.assertLess(self.view(runner)["silent_ms"], 150)

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


class Stamps(ProtocolCase):

    def beat_between(self, runner, **fields):
        begin = time.time()
        runner.beat("FINISHED", return_code=0, **fields)
        return begin, time.time()

    def test_the_times_are_receipt_minus_the_durations(self):
        runner = self.runner()
        task = self.running(runner)
        eventually(lambda: self.view(runner)["silent_ms"] >= 600, 5)
        begin, end = self.beat_between(runner, run_ms=300, ended_ms=200)
        attempt = self.attempts(task)[0]
        finished, started = seconds(attempt["finished_at"]), seconds(attempt["started_at"])
        self.assertGreaterEqual(finished, begin - 0.2 - 0.01)
        self.assertLessEqual(finished, end - 0.2 + 0.01)
        self.assertAlmostEqual(finished - started, 0.3, places=3)
        ended = self.cluster.task(task)
        self.assertEqual((ended["started_at"], ended["finished_at"]),
                         (attempt["started_at"], attempt["finished_at"]))

    def test_neither_lies_before_the_dispatch(self):
        runner = self.runner()
        task = self.running(runner)
        self.beat_between(runner, run_ms=3_600_000, ended_ms=3_600_000)
        attempt = self.attempts(task)[0]
        self.assertEqual(attempt["started_at"], attempt["dispatched_at"])
        self.assertEqual(attempt["finished_at"], attempt["dispatched_at"])

    def test_without_a_measure_of_the_runner_the_first_running_is_the_start(self):
        runner = self.runner()
        task = self.running(runner)
        started = self.cluster.task(task)["started_at"]
        eventually(lambda: self.view(runner)["silent_ms"] >= 100, 5)
        self.beat_between(runner)
        ended = self.cluster.task(task)
        self.assertEqual(ended["started_at"], started)
        self.assertGreater(ended["finished_at"], started)

    def test_the_queue_time_comes_before_the_dispatch(self):
        runner = self.runner()
        task = self.dispatched(runner)
        self.assertLessEqual(seconds(self.cluster.task(task)["queued_at"]),
                             seconds(self.attempts(task)[0]["dispatched_at"]))


class Retries(ProtocolCase):

    def next_attempt(self, runner, timeout=5):
        eventually(lambda: runner.beat()["command"] == "RUN_NEW", timeout, "the next attempt")
        return runner.order["attempt"]

    def test_retry_max_counts_extra_attempts(self):
        runner = self.runner()
        task = self.dispatched(runner, retry={"max": 2, "delay": "0s"})
        runner.finish(code=1)
        self.assertEqual(self.next_attempt(runner), 2)
        runner.finish(code=1)
        self.assertEqual(self.next_attempt(runner), 3)
        runner.finish(code=1)
        self.assertEqual(self.status(task), "FAILED")
        self.assertEqual([a["attempt"] for a in self.attempts(task)], [1, 2, 3])

    def test_without_retry_the_first_failure_is_the_end(self):
        runner = self.runner()
        task = self.dispatched(runner)
        runner.finish(code=1)
        self.assertEqual(self.status(task), "FAILED")

    def test_a_success_after_a_failure_is_finished_and_forgets_the_reason(self):
        runner = self.runner()
        task = self.dispatched(runner, retry={"max": 1, "delay": "0s"})
        runner.finish(code=1)
        self.next_attempt(runner)
        runner.finish()
        ended = self.cluster.task(task)
        self.assertEqual((ended["status"], ended["reason"]), ("FINISHED", None))

    def test_the_delay_grows_by_the_backoff_up_to_its_cap(self):
        runner = self.runner()
        task = self.dispatched(runner, retry={"max": 3, "delay": "100ms", "backoff": 3,
                                              "max_delay": "400ms"})
        for attempt, expected in ((1, 0.1), (2, 0.3), (3, 0.4)):
            runner.finish(code=1)
            waits = self.cluster.sql("SELECT t.not_before - a.finished_at FROM task t JOIN attempt"
                                     f" a USING (task_id) WHERE task_id = {task} AND a.number = "
                                     f"{attempt} AND t.status = 10")
            if waits:  # Else the delay is over already.
                self.assertAlmostEqual(int(waits[0][0]) / 1e6, expected, delta=0.02)
            begin = time.monotonic()
            self.assertEqual(self.next_attempt(runner), attempt + 1)
            dispatched = [seconds(a["dispatched_at"]) for a in self.attempts(task)]
            ended = seconds(self.attempts(task)[-2]["finished_at"])
            self.assertGreaterEqual(dispatched[-1] - ended, expected - 0.01)
            self.assertLess(time.monotonic() - begin, expected + 3)

    def test_while_it_waits_for_its_retry_it_says_so(self):
        runner = self.runner()
        task = self.dispatched(runner, retry={"max": 1, "delay": "1h", "max_delay": "1h"})
        runner.finish(code=1)
        shown = self.cluster.task(task)
        self.assertEqual((shown["status"], shown["waiting_for"]["code"]),
                         ("RETRYING", "retry_delay"))
        self.cluster.rest.act(task, "stop")
        self.assertEqual(self.status(task), "TERMINATED")

    def test_reasons_that_are_retried(self):
        reasons = ("exit_code", "signal", "timeout", "oom", "start_failed", "resource_failed",
                   "runner_reset", "disconnected")
        for reason in reasons:
            with self.subTest(reason):
                runner = self.runner()
                task = self.dispatched(runner, retry={"max": 1, "delay": "1h",
                                                      "max_delay": "1h"})
                runner.beat("FAILED", reason=reason, return_code=1)
                shown = self.cluster.task(task)
                self.assertEqual((shown["status"], shown["reason"]), ("RETRYING", reason))

    def test_reasons_that_are_not_retried(self):
        # dispatch_timeout and runner_lost come from the master itself.
        runner = self.runner()
        task = self.dispatched(runner, retry={"max": 3, "delay": "0s"})
        runner.beat("FAILED", reason="bad_spec")
        ended = self.cluster.task(task)
        self.assertEqual((ended["status"], ended["reason"]), ("FAILED", "bad_spec"))

    def test_a_lost_start_and_a_lost_run_are_retried(self):
        runner = self.runner()
        task = self.dispatched(runner, retry={"max": 2, "delay": "0s"})
        runner.beat()
        self.assertEqual(self.next_attempt(runner), 2)
        runner.beat("RUNNING")
        runner.beat()
        self.assertEqual(self.next_attempt(runner), 3)
        self.assertEqual([a["reason"] for a in self.attempts(task)][:2],
                         ["start_failed", "runner_reset"])

    def test_dispatch_timeout_is_not_retried(self):
        runner = self.runner()
        task = self.submit(runner, dispatch_timeout="100ms", retry={"max": 3, "delay": "0s"})
        ended = self.cluster.wait_task(task, 5)
        self.assertEqual((ended["status"], ended["reason"]), ("FAILED", "dispatch_timeout"))
        self.assert_command(runner.beat(), "GO_ON")

    def test_a_rerun_goes_on_counting_attempts(self):
        runner = self.runner()
        task = self.dispatched(runner)
        runner.finish(code=1)
        self.cluster.rest.act(task, "rerun")
        self.assertEqual(self.next_attempt(runner), 2)
        runner.finish()
        self.assertEqual(self.status(task), "FINISHED")


class TimeoutCause(ProtocolCase):
    """The runner enforces the timeout; one grace later the master does."""

    FIELDS = {"timeout": "100ms", "kill_grace": "50ms"}

    def over_time(self, **fields):
        runner = self.runner()
        task = self.running(runner, **self.FIELDS, **fields)
        reply = {"command": "GO_ON"}
        end = time.monotonic() + 5
        while reply["command"] == "GO_ON" and time.monotonic() < end:
            reply = runner.beat("RUNNING", wait_ms=500)
        self.assert_command(reply, "RESET")
        shown = self.cluster.task(task)
        self.assertEqual((shown["status"], shown["stop_cause"]), ("TERMINATING", "timeout"))
        return runner, task

    def test_the_runners_own_timeout_is_a_failure_timeout(self):
        runner = self.runner()
        task = self.running(runner, **self.FIELDS)
        runner.beat("FAILED", reason="timeout", signal=15)
        ended = self.cluster.task(task)
        self.assertEqual((ended["status"], ended["reason"]), ("FAILED", "timeout"))

    def test_the_master_waits_one_grace_longer(self):
        runner = self.runner()
        task = self.running(runner, **self.FIELDS)
        begin = time.monotonic()
        while self.status(task) == "RUNNING":
            runner.beat("RUNNING", wait_ms=20)
        self.assertGreaterEqual(time.monotonic() - begin, 0.1)
        self.assertLess(time.monotonic() - begin, 0.15 + H + 2)

    def test_idle_is_then_a_failure_timeout_and_not_terminated(self):
        runner, task = self.over_time()
        self.assert_command(runner.beat(), "GO_ON")
        ended = self.cluster.task(task)
        self.assertEqual((ended["status"], ended["reason"]), ("FAILED", "timeout"))
        self.assertEqual(self.attempts(task)[0]["reason"], "timeout")

    def test_failed_is_then_a_failure_timeout_under_the_retry_policy(self):
        runner, task = self.over_time(retry={"max": 1, "delay": "1h", "max_delay": "1h"})
        self.assert_command(runner.beat("FAILED", reason="signal", signal=15), "RESET")
        shown = self.cluster.task(task)
        self.assertEqual((shown["status"], shown["reason"]), ("RETRYING", "timeout"))

    def test_finished_is_then_still_finished(self):
        runner, task = self.over_time()
        runner.finish()
        self.assertEqual(self.status(task), "FINISHED")

    def test_a_stop_by_hand_outranks_the_timeout(self):
        runner, task = self.over_time(retry={"max": 1, "delay": "0s"})
        self.cluster.rest.act(task, "stop")
        runner.beat()
        self.assertEqual(self.status(task), "TERMINATED")


if __name__ == "__main__":
    unittest.main()
