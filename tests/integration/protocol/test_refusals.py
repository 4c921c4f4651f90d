"""Heartbeats that are not answered with a command, and why."""

import http.client
import unittest

from baton_cluster import Rest, eventually
from protocol_case import ProtocolCase


class MissingFields(ProtocolCase):
    """heartbeat.plain_clients is off: nothing on which the rules rest may be left out."""

    def test_each_missing_field_is_named(self):
        runner = self.runner()
        for name in ("incarnation", "seq", "journal_id", "worker_id"):
            with self.subTest(name):
                answer = runner.send(runner.report(**{name: None}))
                self.assert_problem(answer, 400, "invalid_argument", name)
        self.assertIsNone(self.view(runner))

    def test_a_minimal_body_is_refused(self):
        runner = self.runner()
        answer = runner.send({"status": "IDLE"})
        self.assert_problem(answer, 400, "invalid_argument", "incarnation")
        self.assertIn("plain_clients", answer.json["detail"])

    def test_a_report_of_a_task_names_task_attempt_and_nonce(self):
        runner = self.runner()
        task = self.dispatched(runner)
        for name in ("current_task", "attempt", "nonce"):
            with self.subTest(name):
                answer = runner.send(runner.report("RUNNING", **{name: None}))
                self.assert_problem(answer, 400, "invalid_argument", name)
        self.assertEqual(self.status(task), "DISPATCHED")

    def test_a_missing_status_is_named(self):
        runner = self.runner()
        self.assert_problem(runner.send(runner.report(status=None)), 400, "invalid_argument",
                            "status")

    def test_an_absent_last_order_says_that_none_was_accepted_yet(self):
        runner = self.runner()
        report = runner.report()
        self.assertNotIn("last_order", report)
        self.assert_command(runner.send(report).json, "GO_ON")


class WrongFields(ProtocolCase):

    def test_wrong_types_and_values_are_named(self):
        runner = self.runner()
        wrong = {"status": "SLEEPING", "seq": "one", "incarnation": -1, "wait_ms": -5,
                 "current_task": "abc", "reason": "bad luck", "run_ms": -1}
        for name, value in wrong.items():
            with self.subTest(name):
                answer = runner.send(runner.report(**{name: value}))
                self.assert_problem(answer, 400, "invalid_argument", name)

    def test_another_runner_in_the_body_than_in_the_path_is_refused(self):
        runner = self.runner()
        answer = runner.send(runner.report(runner_id="someone:0"))
        self.assert_problem(answer, 400, "invalid_argument", "runner_id")

    def test_broken_json_is_refused(self):
        runner = self.runner()
        answer = runner.rest.request("POST", f"/api/v1/runners/{runner.runner_id}/heartbeat",
                                     b'{"status": ', accept=(400,))
        self.assertEqual(answer.code, "invalid_argument")

    def test_unknown_members_are_accepted(self):
        # Workers of the next version may talk to this master.
        runner = self.runner()
        self.assert_command(runner.beat(mood="fine", planets=[1, 2]), "GO_ON")

    def test_a_refused_heartbeat_does_not_count_as_seen(self):
        runner = self.runner()
        runner.beat()
        eventually(lambda: self.view(runner)["silent_ms"] >= 200, 5)
        runner.send(runner.report(status="SLEEPING"))
        self.assertGreaterEqual(self.view(runner)["silent_ms"], 200)


class ForeignAttempts(ProtocolCase):

    def foreign(self, status, owner, stranger, **fields):
        order = owner.last_order
        return stranger.send(stranger.report(status, current_task=order["task"],
                                             attempt=order["attempt"], nonce=order["nonce"],
                                             **fields))

    def test_a_report_about_another_runners_open_attempt_is_403(self):
        owner, stranger = self.runner(), self.runner()
        stranger.beat()
        task = self.running(owner)
        for status in ("RUNNING", "FINISHED", "FAILED"):
            with self.subTest(status):
                self.assert_problem(self.foreign(status, owner, stranger), 403,
                                    "permission_denied")
        self.assertEqual(self.status(task), "RUNNING")

    def test_a_result_of_another_runners_closed_attempt_is_403(self):
        owner, stranger = self.runner(), self.runner()
        stranger.beat()
        task = self.running(owner)
        owner.finish()
        self.assert_problem(self.foreign("FAILED", owner, stranger, return_code=1), 403,
                            "permission_denied")
        self.assertIsNone(self.attempts(task)[0]["late_report"])

    def test_running_another_runners_closed_attempt_is_reset(self):
        # "RUNNING, anything else: RESET": whoever runs it, it has to end.
        owner, stranger = self.runner(), self.runner()
        stranger.beat()
        self.running(owner)
        owner.finish()
        answer = self.foreign("RUNNING", owner, stranger)
        self.assertEqual(answer.status, 200)
        self.assert_command(answer.json, "RESET")


class Tokens(ProtocolCase):

    def beat_with(self, token):
        runner = self.cluster.runner("token:0")
        runner.rest = Rest(self.cluster.rest.addresses, token)
        self.addCleanup(runner.rest.close)
        return runner.send(runner.report())

    def test_the_client_token_is_no_worker_token(self):
        self.assert_problem(self.beat_with(self.cluster.token), 403, "permission_denied")

    def test_an_unknown_token_is_401(self):
        self.assert_problem(self.beat_with("f" * 40), 401, "unauthenticated")


class OtherClusters(ProtocolCase):

    def test_a_runner_of_another_cluster_is_refused(self):
        runner = self.runner()
        answer = runner.send(runner.report(cluster_guid="00000000-0000-4000-8000-000000000000"))
        self.assert_problem(answer, 403, "permission_denied")
        self.assertIsNone(self.view(runner))

    def test_the_right_cluster_guid_is_taken(self):
        runner = self.runner()
        guid = runner.beat()["cluster_guid"]
        self.assert_command(runner.beat(cluster_guid=guid), "GO_ON")


class WhoLeads(ProtocolCase):

    def test_a_standby_answers_503_with_the_address_of_the_active(self):
        standby = self.cluster.wait_standby()
        active = self.cluster.active()
        runner = self.runner()
        answer = runner.send(runner.report(), address=self.cluster.address(standby))
        self.assert_problem(answer, 503, "not_active")
        self.assertEqual(answer.json["active"], {"node_id": active,
                                                 "address": self.cluster.address(active)})
        self.assertIn("retry-after", answer.headers)

    def test_every_master_tells_a_worker_who_leads(self):
        active = self.cluster.active()
        for master in (active, self.cluster.wait_standby()):
            with self.subTest(master):
                answer = self.cluster.worker_rest.once(self.cluster.address(master), "GET",
                                                       "/api/v1/cluster")
                self.assertEqual(answer.status, 200)
                self.assertEqual(answer.json["active"]["node_id"], active)
                self.assertEqual(answer.json["epoch"], self.cluster.epoch())

    def test_a_higher_epoch_makes_the_master_verify_itself_and_carry_on(self):
        runner, witness = self.runner(), self.runner()
        task = self.running(witness)
        epoch = runner.beat()["epoch"]
        active = self.cluster.active()
        answer = runner.send(runner.report(epoch=epoch + 1000),
                             address=self.cluster.address(active))
        self.assert_problem(answer, 503, "not_active")

        def answered():
            try:
                return witness.send(witness.report("RUNNING"), address=self.cluster.address(active)
                                    ).status == 200
            except (OSError, http.client.HTTPException):
                return False
        # The database says that it still leads: nobody takes over, nothing is lost.
        eventually(answered, 10, "the master to carry on")
        self.assertEqual((self.cluster.active(), self.cluster.epoch()), (active, epoch))
        self.assertEqual(self.status(task), "RUNNING")


if __name__ == "__main__":
    unittest.main()
