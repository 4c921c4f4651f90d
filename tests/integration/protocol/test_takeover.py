"""The same table under a new epoch: what a change of master does to runners and their tasks."""

import signal
import time
import unittest

from baton_cluster import eventually
from protocol_case import H, LOST_AFTER, Held, ProtocolCase, TableLock, seconds


class Takeover(ProtocolCase):
    """One kill -9 of the active master for all tests; what runners hear after it is noted down."""

    NAMES = ("running", "silent", "lost_reply", "doubled", "late", "start_failed", "reset",
             "finished", "short", "acknowledged", "changed", "stopped", "stopped_unheard",
             "unfit", "held", "recovering", "journal", "retried")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.runners = {name: cls.runner() for name in cls.NAMES}
        cls.tasks, cls.orders, cls.replies, cls.answers = {}, {}, {}, {}
        cls.old = cls.cluster.wait_active()
        cls.new = cls.cluster.wait_standby()
        cls.old_epoch = cls.cluster.epoch()
        cls.before()
        cls.change_masters()
        try:
            cls.after()
        finally:
            cls.cluster.start_master(cls.old)

    @classmethod
    def before(cls):
        r = cls.runners
        for name in ("held", "recovering"):
            r[name].beat()
        cls.late_report = r["late"].report()
        for name in ("running", "silent", "late", "reset", "finished", "acknowledged", "changed",
                     "journal"):
            cls.tasks[name] = cls.running(r[name])
        for name in ("start_failed", "short"):
            cls.tasks[name] = cls.dispatched(r[name])
        for name in ("lost_reply", "doubled", "stopped_unheard", "unfit"):
            cls.tasks[name], report, cls.orders[name] = cls.unheard_order(r[name])
            if name == "doubled":
                cls.doubled_report = report
        cls.tasks["stopped"] = cls.terminating(r["stopped"])
        cls.cluster.rest.act(cls.tasks["stopped_unheard"], "stop")
        cls.tasks["retried"] = cls.running(r["retried"], retry={"max": 1, "delay": "0s"})
        # Their results are recorded, and the replies are lost.
        for name in ("acknowledged", "changed"):
            r[name].send(r[name].report("FINISHED", return_code=0, run_ms=1, ended_ms=0))

    @classmethod
    def change_masters(cls):
        r, address = cls.runners, cls.cluster.address
        not_yet = TableLock(cls.cluster, "ha_epoch")
        lock = TableLock(cls.cluster, "attempt")
        try:
            held = eventually(cls.held_by_a_halted_master, 10, "a heartbeat that is held")
            cls.cluster.kill(cls.old)
            held.join(10)
            cls.held_error, cls.held_answer = held.error, held.answer
            # The new master is elected and can't bump the epoch.
            eventually(lambda: cls.cluster.view(cls.new)["state"] != "STANDBY", 20, "a successor")
            cls.early = r["running"].send(r["running"].report("RUNNING"), address(cls.new))
            not_yet.release()
            eventually(lambda: cls.cluster.epoch() > cls.old_epoch, 20, "the next epoch")
            # The new master has bumped the epoch and can't read the attempts.
            report = r["recovering"].report()

            def is_held():
                waiting = Held(r["recovering"], report, address(cls.new))
                waiting.join(0.5)
                return waiting if waiting.is_alive() else None
            cls.waiting = eventually(is_held, 10, "a heartbeat that the recovering master holds")
            cls.was_recovering = cls.cluster.view(cls.new)["state"]
        finally:
            not_yet.release()
            lock.release()
        cls.cluster.wait_active(20, besides=cls.old)
        cls.new_epoch = cls.cluster.epoch()

    @classmethod
    def held_by_a_halted_master(cls):
        """A heartbeat whose reply the old master holds while it stands still; None: too late."""
        runner = cls.runners["held"]
        cls.held_report = runner.report(wait_ms=60_000)
        held = Held(runner, cls.held_report, cls.cluster.address(cls.old))
        eventually(lambda: cls.cluster_holds(runner), 5, pause=0.005)
        cls.cluster.kill(cls.old, signal.SIGSTOP)
        eventually(lambda: cls.cluster.stopped(cls.old), 5, pause=0.002)
        held.join(0.05)
        if held.is_alive():
            return held
        cls.cluster.kill(cls.old, signal.SIGCONT)
        return None

    @classmethod
    def cluster_holds(cls, runner):
        return any(r["held"] for r in cls.cluster.get("/api/v1/runners")["items"]
                   if r["runner_id"] == runner.runner_id)

    @classmethod
    def after(cls):
        r, replies, answers = cls.runners, cls.replies, cls.answers
        replies["running"] = r["running"].beat("RUNNING")
        answers["late"] = r["late"].send(cls.late_report)
        r["late"].beat("RUNNING")
        answers["doubled"] = r["doubled"].send(cls.doubled_report)
        replies["lost_reply"] = r["lost_reply"].beat()
        replies["unfit"] = r["unfit"].beat(runner_config={"labels": {}})
        for name in ("start_failed", "reset", "stopped_unheard"):
            replies[name] = r[name].beat()
        for name in ("finished", "short", "acknowledged"):
            replies[name] = r[name].finish()
        replies["changed"] = r["changed"].finish(code=4)
        replies["stopped"] = r["stopped"].beat("RUNNING")
        replies["stopped_idle"] = r["stopped"].beat()
        replies["retried"] = r["retried"].finish(code=1)
        stranger = cls.cluster.runner(r["journal"].runner_id, r["journal"].labels)
        answers["journal"] = stranger.send(stranger.report())
        r["journal"].beat("RUNNING")
        answers["held"] = r["held"].send(cls.held_report)

    def ended(self, name):
        task = self.cluster.task(self.tasks[name])
        return task["status"], task["reason"]

    def one_attempt(self, name):
        attempts = self.attempts(self.tasks[name])
        self.assertEqual(len(attempts), 1, attempts)
        return attempts[0]

    # What was held ----------------------------------------------------------------------------

    def test_a_recovering_master_holds_heartbeats_and_answers_when_it_is_whole(self):
        reply = self.waiting.reply()
        self.assert_command(reply, "GO_ON")
        self.assertEqual(reply["epoch"], self.new_epoch)
        self.assertNotIn(self.was_recovering, ("ACTIVE", "STANDBY"))

    def test_what_is_sent_before_the_epoch_is_bumped_is_refused(self):
        # It could not be evidence under the new epoch.
        self.assert_problem(self.early, 503, "not_active")

    def test_a_heartbeat_held_by_the_killed_master_breaks_off(self):
        self.assertTrue(self.held_error is not None or self.held_answer.status == 503,
                        self.held_answer)

    def test_it_can_be_sent_again_to_the_new_master(self):
        reply = self.answers["held"].json
        self.assert_command(reply, "GO_ON")
        self.assertEqual((reply["seq"], reply["epoch"]),
                         (self.held_report["seq"], self.new_epoch))

    def test_the_new_epoch_ends_the_pause(self):
        self.assertGreater(self.new_epoch, self.old_epoch)
        self.assertEqual(self.replies["running"]["epoch"], self.new_epoch)
        self.assertEqual(self.replies["running"]["interval_ms"], 0)

    # Runners that report again ----------------------------------------------------------------

    def test_a_running_task_stays_and_nothing_is_run_again(self):
        # Exception 8 of the table of exceptions.
        self.assert_command(self.replies["running"], "GO_ON")
        attempt = self.one_attempt("running")
        self.assertEqual(attempt["epoch"], self.old_epoch)
        self.assertEqual(attempt["reason"], None)

    def test_a_result_of_the_old_term_is_taken(self):
        self.assert_command(self.replies["finished"], "RESET")
        self.assertEqual(self.ended("finished"), ("FINISHED", None))
        self.one_attempt("finished")

    def test_a_task_dispatched_in_the_old_term_may_end_at_once(self):
        self.assertEqual(self.ended("short"), ("FINISHED", None))

    def test_a_result_recorded_in_the_old_term_is_acknowledged_and_not_late(self):
        self.assert_command(self.replies["acknowledged"], "RESET")
        self.assertEqual(self.ended("acknowledged"), ("FINISHED", None))
        self.assertIsNone(self.one_attempt("acknowledged")["late_report"])

    def test_another_result_than_the_recorded_one_is_late(self):
        self.assert_command(self.replies["changed"], "RESET")
        self.assertEqual(self.ended("changed"), ("FINISHED", None))
        self.assertEqual(self.one_attempt("changed")["late_report"]["return_code"], 4)

    def test_idle_while_dispatched_and_accepted_is_start_failed(self):
        self.assertEqual(self.ended("start_failed"), ("FAILED", "start_failed"))

    def test_idle_while_running_is_runner_reset(self):
        self.assertEqual(self.ended("reset"), ("FAILED", "runner_reset"))

    def test_a_stop_of_the_old_term_is_carried_through(self):
        self.assert_command(self.replies["stopped"], "RESET")
        self.assert_command(self.replies["stopped_idle"], "GO_ON")
        self.assertEqual(self.ended("stopped"), ("TERMINATED", None))

    def test_a_failure_is_retried_under_the_new_master(self):
        self.assert_command(self.replies["retried"], "RESET")
        runner = self.runners["retried"]
        eventually(lambda: runner.beat()["command"] == "RUN_NEW", 5)
        runner.finish()
        attempts = self.attempts(self.tasks["retried"])
        self.assertEqual([a["epoch"] for a in attempts], [self.old_epoch, self.new_epoch])
        self.assertEqual(self.cluster.task(self.tasks["retried"])["status"], "FINISHED")

    # Orders whose reply was lost --------------------------------------------------------------

    def test_an_order_whose_reply_was_lost_goes_out_again_as_the_same_attempt(self):
        self.assert_same_order(self.replies["lost_reply"], self.orders["lost_reply"])
        self.one_attempt("lost_reply")
        self.assertEqual(self.pair(self.tasks["lost_reply"]),
                         (1, self.runners["lost_reply"].seq))

    def test_the_very_request_of_the_old_term_gets_the_same_order(self):
        self.assert_same_order(self.answers["doubled"].json, self.orders["doubled"])
        self.one_attempt("doubled")

    def test_a_request_older_than_the_order_proves_nothing(self):
        # The stored pair, not the memory of the old master, says that it is old.
        self.assert_command(self.answers["late"].json, "GO_ON")
        self.assertIsNone(self.one_attempt("late")["reason"])

    def test_an_unheard_order_of_a_stopped_task_is_terminated(self):
        self.assert_command(self.replies["stopped_unheard"], "GO_ON")
        self.assertEqual(self.ended("stopped_unheard"), ("TERMINATED", None))

    def test_an_unheard_order_of_an_unfit_runner_goes_back_to_the_queue(self):
        self.assert_command(self.replies["unfit"], "GO_ON")
        self.assertEqual(self.ended("unfit"), ("QUEUED", None))
        self.assertEqual(self.one_attempt("unfit")["status"], "UNDELIVERED")

    # Who is who -------------------------------------------------------------------------------

    def test_the_journal_of_a_runner_is_known_to_the_new_master(self):
        self.assert_problem(self.answers["journal"], 409, "runner_conflict")
        self.assertIsNone(self.one_attempt("journal")["reason"])

    # Silence ----------------------------------------------------------------------------------

    def test_a_runner_that_never_reports_is_lost_between_3_h_and_7_h_after_the_takeover(self):
        task = self.tasks["silent"]
        eventually(lambda: self.ended("silent") == ("FAILED", "runner_lost"), 7 * H + 3)
        bumped = self.cluster.number(
            f"SELECT bumped_at FROM ha_epoch_log WHERE epoch = {self.new_epoch}") / 1e6
        after = seconds(self.attempts(task)[0]["finished_at"]) - bumped
        self.assertGreaterEqual(after, LOST_AFTER)
        self.assertLessEqual(after, 7 * H)

class NoMaster(ProtocolCase):

    def test_the_runner_carries_on_and_its_result_is_taken_when_a_master_is_back(self):
        # Exception 6 of the table of exceptions.
        runner, ended = self.runner(), self.runner()
        tasks = [self.running(runner), self.running(ended)]
        waiting = Held(runner, runner.report("RUNNING", wait_ms=60_000),
                       self.cluster.address(self.cluster.wait_active()))
        masters = [m for m in self.cluster.masters if self.cluster.running(m)]
        masters.sort(key=lambda m: m == self.cluster.active())
        eventually(lambda: self.view(runner)["held"], 5, pause=0.005)
        for master in masters:
            self.cluster.kill(master, signal.SIGTERM if master == masters[-1] else signal.SIGKILL)
        # A master that leaves in an orderly way ends what it holds.
        self.assert_command(waiting.reply(), "GO_ON")
        since = time.monotonic()
        eventually(lambda: time.monotonic() - since > LOST_AFTER, 10)
        for master in masters:
            self.cluster.start_master(master)
        self.cluster.wait_active(20)
        self.assert_command(runner.beat("RUNNING", timeout=20), "GO_ON")
        ended.beat("FINISHED", return_code=0, run_ms=1, ended_ms=int(1000 * LOST_AFTER))
        self.assertEqual([self.status(task) for task in tasks], ["RUNNING", "FINISHED"])
        attempt = self.attempts(tasks[1])[0]
        self.assertLess(seconds(attempt["finished_at"]), time.time() - LOST_AFTER + 0.5)


if __name__ == "__main__":
    unittest.main()
