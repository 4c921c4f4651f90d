"""What follows from an attempt's end: its times, the retry policy, and the timeout of a task."""

import time
import unittest

from baton_cluster import eventually
from protocol_case import H, ProtocolCase, seconds


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
