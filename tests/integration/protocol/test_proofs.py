"""Which heartbeats prove something: the pair (incarnation, seq) and last_order."""

import unittest

from baton_cluster import eventually
from protocol_case import QUEUED, UNDELIVERED_ATTEMPT, Held, ProtocolCase


class Order(ProtocolCase):

    def test_run_new_carries_all_that_the_runner_needs(self):
        runner = self.runner()
        task = self.submit(runner, command=["/bin/echo", "hello"], env={"A": "b"}, timeout="90s",
                           kill_grace="3s", dir="/tmp")
        order = runner.beat()["task"]
        self.assertEqual((order["task"], order["attempt"]), (task, 1))
        self.assertTrue(order["nonce"])
        self.assertEqual((order["timeout_ms"], order["kill_grace_ms"]), (90_000, 3_000))
        run = order["run"]
        self.assertEqual((run["kind"], run["command"]), ("command", ["/bin/echo", "hello"]))
        self.assertEqual((run["env"], run["dir"]), ({"A": "b"}, "/tmp"))

    def test_the_attempt_and_its_pair_are_in_the_database_when_the_order_arrives(self):
        runner = self.runner()
        runner.incarnation, runner.seq = 3, 70
        task = self.dispatched(runner)
        rows = self.cluster.sql(
            "SELECT t.status, a.status, a.runner_id, a.incarnation, a.seq, a.nonce FROM task t "
            f"JOIN attempt a USING (task_id) WHERE task_id = {task}")
        self.assertEqual(rows, [["2", "0", runner.runner_id, "3", "71", runner.order["nonce"]]])

    def test_a_runner_has_at_most_one_open_attempt(self):
        runner = self.runner()
        self.running(runner)
        second = self.submit(runner)
        self.assert_command(runner.beat("RUNNING", wait_ms=50), "GO_ON")
        self.assertEqual(self.status(second), "QUEUED")


class EqualPair(ProtocolCase):

    def test_a_doubled_request_gets_the_same_order_again(self):
        runner = self.runner()
        task, report, order = self.unheard_order(runner)
        self.assert_same_order(runner.send(report).json, order)
        self.assertEqual([a["status"] for a in self.attempts(task)], ["DISPATCHED"])

    def test_while_terminating_it_gets_reset(self):
        runner = self.runner()
        task, report, _ = self.unheard_order(runner)
        self.cluster.rest.act(task, "stop")
        self.assert_command(runner.send(report).json, "RESET")
        self.assertEqual(self.status(task), "TERMINATING")

    def test_a_doubled_result_gets_the_same_next_order_again(self):
        runner = self.runner()
        first = self.running(runner)
        second = self.submit(runner)
        report = runner.report("FINISHED", return_code=0, run_ms=1, ended_ms=0)
        reply = runner.send(report).json
        self.assert_command(reply, "RUN_NEW")
        self.assertEqual(reply["task"]["task"], second)
        self.assert_same_order(runner.send(report).json, reply["task"])
        self.assertEqual(self.status(first), "FINISHED")
        self.assertEqual(len(self.attempts(second)), 1)
        self.assertIsNone(self.attempts(first)[0]["late_report"])


class LowerPair(ProtocolCase):

    def test_a_late_idle_proves_nothing(self):
        runner = self.runner()
        late = runner.report()
        task = self.running(runner)
        self.assert_command(runner.send(late).json, "GO_ON")
        self.assertEqual(self.status(task), "RUNNING")

    def test_a_late_idle_proves_nothing_while_terminating(self):
        runner = self.runner()
        late = runner.report()
        task = self.terminating(runner)
        self.assert_command(runner.send(late).json, "GO_ON")
        self.assertEqual(self.status(task), "TERMINATING")

    def test_a_late_result_of_the_open_attempt_proves_nothing(self):
        runner = self.runner()
        task = self.dispatched(runner)
        late = runner.report("FAILED", return_code=3, reason="exit_code")
        runner.beat("RUNNING")
        self.assert_command(runner.send(late).json, "GO_ON")
        self.assertEqual(self.status(task), "RUNNING")

    def test_a_late_running_does_not_start_a_newer_attempt(self):
        runner = self.runner()
        task = self.running(runner, retry={"max": 1, "delay": "0s"})
        late = runner.report("RUNNING")
        runner.finish(code=1)
        eventually(lambda: runner.beat()["command"] == "RUN_NEW", 5)
        self.assert_command(runner.send(late).json, "GO_ON")
        self.assertEqual(self.status(task), "DISPATCHED")

    def test_it_does_not_count_as_seen(self):
        runner = self.runner()
        late = runner.report()
        runner.beat()
        eventually(lambda: self.view(runner)["silent_ms"] >= 200, 5)
        self.assert_command(runner.send(late).json, "GO_ON")
        self.assertGreaterEqual(self.view(runner)["silent_ms"], 200)

    def test_it_gets_no_order_and_takes_none_away(self):
        runner = self.runner()
        late = runner.report()
        runner.beat()
        task = self.submit(runner)
        self.assert_command(runner.send(late).json, "GO_ON")
        self.assertEqual(self.status(task), "QUEUED")

    def test_it_does_not_change_the_labels(self):
        runner = self.runner()
        late = runner.report(runner_config={"labels": {"only": "old"}})
        runner.beat()
        runner.send(late)
        self.assertEqual(self.view(runner)["labels"], runner.labels)

    def test_it_does_not_end_a_held_request(self):
        runner = self.runner()
        late = runner.report()
        runner.beat()
        held = Held(runner, runner.report(wait_ms=60_000))
        eventually(lambda: self.view(runner)["held"], 5, pause=0.01)
        self.assert_command(runner.send(late).json, "GO_ON")
        task = self.submit(runner)
        self.assertEqual(held.reply()["task"]["task"], task)


class HigherPairOrderLost(ProtocolCase):

    def test_the_same_order_goes_out_again_with_the_new_pair(self):
        runner = self.runner()
        task, report, order = self.unheard_order(runner)
        self.assertEqual(self.pair(task), (1, report["seq"]))
        self.assert_same_order(runner.beat(), order)
        self.assertEqual(self.pair(task), (1, report["seq"] + 1))
        self.assertEqual(len(self.attempts(task)), 1)

    def test_the_older_request_then_proves_nothing(self):
        runner = self.runner()
        task, report, order = self.unheard_order(runner)
        self.assert_same_order(runner.beat(), order)
        self.assert_command(runner.send(report).json, "GO_ON")
        self.assertEqual(self.status(task), "DISPATCHED")

    def test_an_older_last_order_says_so_too(self):
        runner = self.runner()
        self.running(runner)
        runner.finish()
        _, _, order = self.unheard_order(runner)
        self.assert_same_order(runner.beat(), order)

    def test_a_result_whose_answer_was_lost_gets_the_next_order_again(self):
        runner = self.runner()
        first = self.running(runner)
        second = self.submit(runner)
        fields = dict(return_code=0, run_ms=1, ended_ms=0)
        order = runner.send(runner.report("FINISHED", **fields)).json["task"]
        self.assertEqual(order["task"], second)
        self.assert_same_order(runner.beat("FINISHED", **fields), order)
        self.assertEqual(self.pair(second), (1, runner.seq))
        self.assertEqual(self.status(first), "FINISHED")
        self.assertIsNone(self.attempts(first)[0]["late_report"])

    def test_another_result_is_kept_as_late_and_the_order_goes_out_again(self):
        # First the result is dealt with, then the rules decide about the open attempt.
        runner = self.runner()
        first = self.running(runner)
        second = self.submit(runner)
        order = runner.send(runner.report("FINISHED", return_code=0)).json["task"]
        self.assert_same_order(runner.beat("FAILED", return_code=1, reason="exit_code"), order)
        self.assertEqual(self.status(first), "FINISHED")
        self.assertEqual(self.attempts(first)[0]["late_report"]["return_code"], 1)
        self.assertEqual(self.status(second), "DISPATCHED")

    def test_a_restarted_daemon_has_the_higher_pair(self):
        runner = self.runner()
        runner.seq = 500
        task, _, order = self.unheard_order(runner)
        runner.restart()
        self.assert_same_order(runner.beat(), order)
        self.assertEqual(self.pair(task), (2, 1))

    def test_while_terminating_the_stop_is_proved(self):
        runner = self.runner()
        task, _, _ = self.unheard_order(runner)
        self.cluster.rest.act(task, "stop")
        self.assert_command(runner.beat(), "GO_ON")
        ended = self.cluster.task(task)
        self.assertEqual((ended["status"], ended["unproven"]), ("TERMINATED", False))

    def test_while_terminating_it_is_then_answered_as_idle(self):
        runner = self.runner()
        task, _, _ = self.unheard_order(runner)
        following = self.submit(runner)
        self.cluster.rest.act(task, "stop")
        self.assertEqual(runner.beat()["task"]["task"], following)
        self.assertEqual(self.status(task), "TERMINATED")

    def test_a_runner_no_longer_fit_gives_it_back_without_a_retry_used(self):
        runner = self.runner()
        task, _, _ = self.unheard_order(runner)
        self.assert_command(runner.beat(runner_config={"labels": {"only": "other"}}), "GO_ON")
        self.assertEqual(self.stored(task), (QUEUED, 1, 0))
        self.assertEqual(self.cluster.number(
            f"SELECT status FROM attempt WHERE task_id = {task}"), UNDELIVERED_ATTEMPT)
        shown = self.attempts(task)[0]
        self.assertEqual((shown["status"], shown["started_at"]), ("UNDELIVERED", None))
        counts = self.cluster.stats()["workers"].get(runner.identity["worker_id"], {})
        self.assertEqual(counts.get("failed", 0), 0)
        # The next attempt has the next number: none is used twice.
        other = self.cluster.runner(runner.runner_id + "b", runner.labels)
        self.assertEqual(other.beat()["task"]["attempt"], 2)
        other.beat("RUNNING")
        other.finish()
        self.assertEqual(self.status(task), "FINISHED")


class HigherPairOrderAccepted(ProtocolCase):

    def test_an_idle_is_judged_as_the_loss_of_the_task(self):
        runner = self.runner()
        task = self.dispatched(runner)
        self.assert_command(runner.beat(), "GO_ON")
        self.assertEqual(self.cluster.task(task)["reason"], "start_failed")

    def test_a_restart_of_the_daemon_does_not_lose_the_task(self):
        runner = self.runner()
        task = self.running(runner)
        runner.restart()
        self.assert_command(runner.beat("RUNNING"), "GO_ON")
        runner.finish()
        self.assertEqual(self.status(task), "FINISHED")

    def test_a_result_is_stored_even_if_last_order_is_not_told(self):
        # Whoever reports the result of an attempt, nonce and all, has had its order.
        runner = self.runner()
        task = self.dispatched(runner)
        reply = runner.beat("FINISHED", return_code=0, last_order=None)
        self.assert_command(reply, "RESET")
        self.assertEqual(self.status(task), "FINISHED")

    def test_another_nonce_is_another_attempt(self):
        runner = self.runner()
        task = self.running(runner)
        self.assert_command(runner.beat("RUNNING", nonce="0123456789abcdef"), "RESET")
        self.assert_command(runner.beat("FINISHED", return_code=0, nonce="0123456789abcdef"),
                            "RESET")
        self.assertEqual(self.status(task), "RUNNING")
        self.assert_command(runner.beat("RUNNING"), "GO_ON")


class Incarnation(ProtocolCase):

    def test_an_older_incarnation_is_refused_as_a_conflict(self):
        # Two rules speak of it: "lower proves nothing" and "409 until the old one was silent".
        # The second is the more specific one: a daemon that counts from the past has lost its
        # journal.
        runner = self.runner()
        runner.incarnation = 5
        task = self.running(runner)
        answer = runner.send(runner.report(incarnation=4, seq=1000))
        self.assert_problem(answer, 409, "runner_conflict")
        self.assertEqual(self.status(task), "RUNNING")
        self.assertEqual(self.view(runner)["state"], "conflict")

    def test_the_alarm_ends_with_the_next_heartbeat_of_the_rightful_one(self):
        runner = self.runner()
        runner.incarnation = 5
        runner.beat()
        runner.send(runner.report(incarnation=4, seq=1000))
        self.assert_command(runner.beat(), "GO_ON")
        self.assertEqual(self.view(runner)["state"], "idle")

    def test_another_journal_is_refused_as_a_conflict(self):
        runner = self.runner()
        task = self.running(runner)
        stranger = self.cluster.runner(runner.runner_id, runner.labels)
        stranger.incarnation = 99
        answer = stranger.send(stranger.report())
        self.assert_problem(answer, 409, "runner_conflict")
        self.assertEqual(self.status(task), "RUNNING")
        self.assert_command(runner.beat("RUNNING"), "GO_ON")


if __name__ == "__main__":
    unittest.main()
