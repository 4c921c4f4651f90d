"""The watchdog: what becomes of the tasks of a runner that says nothing for three intervals."""

import signal
import time
import unittest

from baton_cluster import eventually
from protocol_case import LOST_AFTER, Held, ProtocolCase, seconds

_SLACK = 7.0  # The watchdog looks every 0.3 s; the rest is for a busy machine.
_LEAVING_MS = 60_000


class Silence(ProtocolCase):
    """All runners fall silent together before the first test, so that the wait is paid once."""

    RETRY = {"max": 3, "delay": "0s"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.runners = {name: cls.runner() for name in
                       ("running", "dispatched", "unheard", "stopped", "overtime", "leaving",
                        "heard", "conflict", "idle", "back", "back_running")}
        r, cls.tasks = cls.runners, {}
        for name in ("running", "heard", "conflict", "back", "back_running"):
            cls.tasks[name] = cls.running(r[name], retry=cls.RETRY)
        cls.tasks["dispatched"] = cls.dispatched(r["dispatched"], retry=cls.RETRY)
        cls.tasks["unheard"] = cls.unheard_order(r["unheard"], retry=cls.RETRY)[0]
        cls.tasks["stopped"] = cls.terminating(r["stopped"], retry=cls.RETRY)
        cls.tasks["overtime"] = cls.running(r["overtime"], timeout="50ms", kill_grace="50ms",
                                            retry=cls.RETRY)
        cls.tasks["leaving"] = cls.running(r["leaving"])
        assert r["leaving"].beat("RUNNING", leaving_ms=_LEAVING_MS)["command"] == "GO_ON"
        r["idle"].beat()
        # One that is heard all the time; and a second daemon beside a silent one.
        cls.stranger = cls.cluster.runner(r["conflict"].runner_id, r["conflict"].labels)
        cls.refusals = []
        assert r["conflict"].beat("RUNNING")["command"] == "GO_ON"
        silent_since = time.monotonic()
        end = silent_since + LOST_AFTER + _SLACK
        while time.monotonic() < end:
            assert r["heard"].beat("RUNNING", wait_ms=200)["command"] == "GO_ON"
            answer = cls.stranger.send(cls.stranger.report(wait_ms=0))
            cls.refusals.append((time.monotonic() - silent_since, answer))
            if answer.status == 200 and all(
                    cls.cluster.task(cls.tasks[n])["status"] in ("FAILED", "TERMINATED")
                    for n in ("running", "dispatched", "unheard", "stopped", "overtime", "back",
                              "back_running")):
                break

    def ended(self, name):
        return self.cluster.task(self.tasks[name])

    def assert_lost(self, name):
        ended = self.ended(name)
        self.assertEqual((ended["status"], ended["reason"]), ("FAILED", "runner_lost"))
        attempts = self.attempts(self.tasks[name])
        self.assertEqual([a["reason"] for a in attempts], ["runner_lost"])
        return ended

    def test_a_running_task_is_runner_lost_and_not_retried(self):
        # Exception 5 of the table of exceptions.
        ended = self.assert_lost("running")
        self.assertEqual(ended["retries_used"], 0)

    def test_not_before_three_intervals(self):
        attempt = self.attempts(self.tasks["running"])[0]
        self.assertGreaterEqual(seconds(attempt["finished_at"]) - seconds(attempt["started_at"]),
                                LOST_AFTER)

    def test_a_dispatched_task_is_runner_lost(self):
        self.assert_lost("dispatched")

    def test_an_order_that_nobody_heard_is_runner_lost_too(self):
        # Nothing proves that it did not arrive.
        self.assert_lost("unheard")

    def test_a_stopped_task_is_terminated_but_unproven_and_its_rerun_needs_force(self):
        task = self.tasks["stopped"]
        ended = self.ended("stopped")
        self.assertEqual((ended["status"], ended["unproven"]), ("TERMINATED", True))
        refused = self.cluster.rest.act(task, "rerun", accept=(409,))
        self.assertEqual(refused.code, "conflict")
        self.assertEqual(self.status(task), "TERMINATED")
        self.cluster.rest.act(task, "rerun", {"force": True})
        self.assertEqual(self.status(task), "QUEUED")
        self.cluster.rest.act(task, "stop")

    def test_over_time_and_lost_is_runner_lost_and_never_timeout(self):
        self.assert_lost("overtime")

    def test_a_leaving_runner_is_not_lost_before_its_time(self):
        self.assertEqual(self.ended("leaving")["status"], "RUNNING")
        self.assertEqual(self.view(self.runners["leaving"])["state"], "leaving")
        # Its daemon is back.
        runner = self.runners["leaving"]
        runner.restart()
        self.assert_command(runner.beat("RUNNING"), "GO_ON")
        runner.finish()
        self.assertEqual(self.ended("leaving")["status"], "FINISHED")

    def test_a_runner_that_is_heard_keeps_its_task(self):
        self.assertEqual(self.ended("heard")["status"], "RUNNING")

    def test_a_silent_idle_runner_is_shown_as_lost(self):
        self.assertEqual(self.view(self.runners["idle"])["state"], "lost")
        runner = self.runners["idle"]
        self.assert_command(runner.beat(), "GO_ON")
        self.assertEqual(self.view(runner)["state"], "idle")

    def test_a_lost_runner_that_comes_back_running_is_reset(self):
        runner = self.runners["back_running"]
        self.assert_command(runner.beat("RUNNING"), "RESET")
        self.assert_lost("back_running")
        self.assert_command(runner.beat(), "GO_ON")
        following = self.submit(runner)
        self.assertEqual(runner.beat()["task"]["task"], following)

    def test_its_result_is_kept_as_a_late_report(self):
        runner = self.runners["back"]
        self.assert_command(runner.finish(), "RESET")
        self.assert_lost("back")
        attempt = self.attempts(self.tasks["back"])[0]
        self.assertEqual(attempt["late_report"]["status"], "FINISHED")

    def test_a_second_daemon_is_refused_until_the_first_was_silent_long_enough(self):
        early = [answer for at, answer in self.refusals if at < LOST_AFTER - 0.1]
        self.assertGreater(len(early), 3)
        for answer in early:
            self.assert_problem(answer, 409, "runner_conflict")
        at, last = self.refusals[-1]
        self.assertEqual(last.status, 200, last)

    def test_the_second_daemons_arrival_ends_the_first_ones_attempt_as_runner_lost(self):
        self.assert_lost("conflict")
        # The first one is the stranger now.
        first = self.runners["conflict"]
        self.assert_problem(first.send(first.report("RUNNING")), 409, "runner_conflict")


class HearingGap(ProtocolCase):

    def test_a_pause_of_the_master_is_not_held_against_the_runners(self):
        runner = self.runner()
        task = self.running(runner)
        begin = time.monotonic()
        active = self.cluster.wait_active()
        self.cluster.kill(active, signal.SIGSTOP)
        try:  # Shorter than the session at ZooKeeper.
            paused = time.monotonic()
            eventually(lambda: time.monotonic() - paused > 1.3, 5)
        finally:
            self.cluster.kill(active, signal.SIGCONT)
        eventually(lambda: time.monotonic() - begin > LOST_AFTER + 0.8, 10)
        self.assert_command(runner.beat("RUNNING"), "GO_ON")
        self.assertEqual(self.status(task), "RUNNING")

    def test_an_outage_of_the_database_is_not_held_against_the_runners(self):
        silent, heard = self.runner(), self.runner()
        tasks = [self.running(silent), self.running(heard)]
        active, epoch = self.cluster.active(), silent.epoch
        address = self.cluster.address(active)
        self.cluster.stop_db("kill")
        try:
            end = time.monotonic() + LOST_AFTER + 0.7
            while time.monotonic() < end:
                # It is heard, but no answer leaves while nothing can be made durable.
                unanswered = Held(heard, heard.report("RUNNING", wait_ms=100), address)
                unanswered.join(0.3)
        finally:
            self.cluster.start_db()

        def answered():
            answer = silent.send(silent.report("RUNNING"), address)
            return answer.status == 200 and answer.json
        reply = eventually(answered, 10, "the heartbeat to be answered")
        self.assert_command(reply, "GO_ON")
        self.assertEqual([self.status(task) for task in tasks], ["RUNNING", "RUNNING"])
        self.assertEqual(self.cluster.epoch(), epoch)
        # Time is given back, not given: nobody is seen in the future.
        self.assertIsNotNone(self.view(heard)["silent_ms"])


if __name__ == "__main__":
    unittest.main()
