"""Registration, last seen, and when the reply comes: held, not held, and for how long."""

import json
import socket
import time
import unittest

from baton_cluster import eventually
from protocol_case import H, Held, ProtocolCase, seconds


class Registration(ProtocolCase):

    def test_the_first_heartbeat_registers_the_runner(self):
        runner = self.runner(zone="a")
        self.assertIsNone(self.view(runner))
        self.assert_command(runner.beat(host="alpha", version="9.9"), "GO_ON")
        view = self.view(runner)
        self.assertEqual(view["state"], "idle")
        self.assertEqual((view["host"], view["version"], view["plain"]), ("alpha", "9.9", False))
        self.assertEqual(view["labels"], {**runner.labels, "zone": "a"})

    def test_the_registration_is_in_the_database_before_the_reply(self):
        runner = self.runner()
        runner.incarnation = 7
        runner.beat()
        rows = self.cluster.sql("SELECT journal_id, incarnation, plain FROM runner "
                                f"WHERE runner_id = '{runner.runner_id}'")
        self.assertEqual(rows, [[runner.journal_id, "7", "0"]])

    def test_a_newer_incarnation_is_in_the_database_before_the_reply(self):
        runner = self.runner()
        runner.beat()
        runner.restart()
        runner.beat()
        self.assertEqual(self.cluster.number(
            f"SELECT incarnation FROM runner WHERE runner_id = '{runner.runner_id}'"), 2)

    def test_every_heartbeat_renews_last_seen(self):
        runner = self.runner()
        runner.beat()
        first = self.view(runner)
        eventually(lambda: self.view(runner)["silent_ms"] >= 400, 5)
        runner.beat()
        second = self.view(runner)
        self.assertLess(second["silent_ms"], 400)
        self.assertGreaterEqual(seconds(second["last_seen"]) - seconds(first["last_seen"]), 0.4)

    def test_new_labels_count_from_the_next_heartbeat_on(self):
        runner = self.runner()
        runner.beat()
        task = self.submit(runner, labels={**runner.labels, "gpu": "yes"})
        self.assert_command(runner.beat(), "GO_ON")
        reply = runner.beat(runner_config={"labels": {**runner.labels, "gpu": "yes"}})
        self.assert_command(reply, "RUN_NEW")
        self.assertEqual(reply["task"]["task"], task)

    def test_figures_of_the_host_are_shown(self):
        runner = self.runner()
        runner.beat(figures={"load1": 1.5, "cpu_count": 8})
        host = [h for h in self.cluster.get("/api/v1/hosts")["items"]
                if h["worker_id"] == runner.identity["worker_id"]][0]
        self.assertEqual((host["figures"]["load1"], host["figures"]["cpu_count"]), (1.5, 8))
        self.assertEqual(host["health"], "healthy")

    def test_a_reply_names_cluster_epoch_and_the_request_that_it_answers(self):
        runner = self.runner()
        runner.incarnation, runner.seq = 5, 41
        reply = runner.beat()
        self.assertEqual((reply["incarnation"], reply["seq"]), (5, 42))
        view = self.cluster.get("/api/v1/cluster")
        self.assertEqual((reply["epoch"], reply["cluster_guid"]), (view["epoch"], view["guid"]))


class Pause(ProtocolCase):

    def test_every_reply_says_what_h_is(self):
        runner = self.runner()
        self.assertEqual(runner.beat()["heartbeat_ms"], 1000 * H)
        self.assertEqual(runner.beat(wait_ms=50)["heartbeat_ms"], 1000 * H)

    def test_the_pause_is_h_when_the_reply_was_not_held(self):
        runner = self.runner()
        runner.beat()
        self.assertEqual(runner.beat()["interval_ms"], 1000 * H)

    def test_the_pause_is_none_when_the_epoch_is_news_to_the_runner(self):
        runner = self.runner()
        reply = runner.beat()
        self.assertGreater(reply["epoch"], 0)
        self.assertEqual(reply["interval_ms"], 0)

    def test_the_pause_is_none_after_a_held_reply(self):
        runner = self.runner()
        runner.beat()
        self.assertEqual(runner.beat(wait_ms=50)["interval_ms"], 0)


class Waiting(ProtocolCase):

    def waited(self, runner, status="IDLE", **fields):
        begin = time.monotonic()
        reply = runner.beat(status, **fields)
        return reply, time.monotonic() - begin

    def held(self, runner, status="IDLE", wait_ms=60_000, **fields):
        """A heartbeat that the master holds by now."""
        held = Held(runner, runner.report(status, wait_ms=wait_ms, **fields))
        eventually(lambda: self.view(runner)["held"], 5, "the heartbeat to be held", pause=0.01)
        return held

    def test_without_wait_ms_the_reply_comes_at_once(self):
        runner = self.runner()
        runner.beat()
        reply = runner.beat()
        self.assert_command(reply, "GO_ON")
        self.assertEqual(reply["interval_ms"], 1000 * H)  # So it was not held.

    def test_an_idle_heartbeat_is_held_for_wait_ms(self):
        runner = self.runner()
        reply, took = self.waited(runner, wait_ms=200)
        self.assert_command(reply, "GO_ON")
        self.assertGreaterEqual(took, 0.2)

    def test_no_heartbeat_is_held_longer_than_half_of_h(self):
        runner = self.runner()
        reply, took = self.waited(runner, wait_ms=60_000)
        self.assert_command(reply, "GO_ON")
        self.assertGreaterEqual(took, H / 2)
        self.assertLess(took, H / 2 + 1)

    def test_a_held_idle_heartbeat_is_answered_with_the_task_when_it_comes(self):
        runner = self.runner()
        runner.beat()
        held = self.held(runner)
        task = self.submit(runner)
        reply = held.reply()
        self.assert_command(reply, "RUN_NEW")
        self.assertEqual(reply["task"]["task"], task)
        self.assertEqual(reply["seq"], runner.seq)

    def test_a_running_heartbeat_is_held_and_ends_with_go_on(self):
        runner = self.runner()
        self.running(runner)
        reply, took = self.waited(runner, "RUNNING", wait_ms=60_000)
        self.assert_command(reply, "GO_ON")
        self.assertGreaterEqual(took, H / 2)
        self.assertEqual(reply["interval_ms"], 0)

    def test_a_stop_resets_at_once_while_a_running_heartbeat_is_held(self):
        runner = self.runner()
        task = self.running(runner)
        held = self.held(runner, "RUNNING")
        self.cluster.rest.act(task, "stop")
        self.assert_command(held.reply(), "RESET")
        self.assertEqual(self.status(task), "TERMINATING")

    def test_the_master_side_timeout_resets_at_once_while_a_running_heartbeat_is_held(self):
        runner = self.runner()
        task = self.running(runner, timeout="200ms", kill_grace="50ms")
        end = time.monotonic() + 6
        reply = {"command": "GO_ON"}
        while time.monotonic() < end and reply["command"] == "GO_ON":
            reply = runner.beat("RUNNING", wait_ms=60_000)
        self.assert_command(reply, "RESET")
        self.assertEqual(self.cluster.task(task)["stop_cause"], "timeout")
        # No pause: it was held when the RESET came, and did not have to ask again for it.
        self.assertEqual(reply["interval_ms"], 0)

    def test_a_result_is_never_held(self):
        runner = self.runner()
        self.running(runner)
        reply = runner.finish(wait_ms=60_000)
        self.assert_command(reply, "RESET")
        self.assertEqual(reply["interval_ms"], 1000 * H)  # So it was not held.

    def test_a_newer_heartbeat_ends_the_held_one_with_go_on(self):
        runner = self.runner()
        runner.beat()
        older = self.held(runner)
        newer = runner.beat()
        self.assert_command(older.reply(), "GO_ON")
        self.assertEqual(older.reply()["seq"] + 1, newer["seq"])

    def test_of_a_doubled_heartbeat_one_is_held_and_the_order_goes_out_once(self):
        runner = self.runner()
        runner.beat()
        report = runner.report(wait_ms=60_000)
        first = Held(runner, report)
        eventually(lambda: self.view(runner)["held"], 5, pause=0.01)
        second = Held(runner, report)
        self.assert_command(first.reply(), "GO_ON")
        task = self.submit(runner)
        self.assert_command(second.reply(), "RUN_NEW")
        self.assertEqual(len(self.attempts(task)), 1)

    def test_a_held_heartbeat_whose_connection_is_gone_gets_no_order(self):
        runner = self.runner()
        runner.beat()
        host, _, port = self.cluster.address(self.cluster.active()).partition(":")
        body = json.dumps(runner.report(wait_ms=500)).encode()
        with socket.create_connection((host, int(port))) as link:
            link.sendall(f"POST /api/v1/runners/{runner.runner_id}/heartbeat HTTP/1.1\r\n"
                         f"Host: x\r\nAuthorization: Bearer {self.cluster.worker_token}\r\n"
                         f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
            eventually(lambda: self.view(runner)["held"], 5, pause=0.005)
        eventually(lambda: not self.view(runner)["held"], 5, pause=0.005)
        task = self.submit(runner)
        self.assertEqual(self.status(task), "QUEUED")

    def test_a_leaving_runner_is_held_but_gets_no_order(self):
        runner = self.runner()
        runner.beat()
        held = self.held(runner, leaving_ms=5000)
        task = self.submit(runner)
        self.assert_command(held.reply(), "GO_ON")
        self.assert_command(runner.beat(leaving_ms=5000), "GO_ON")
        self.assertEqual(self.status(task), "QUEUED")
        # It changed its mind.
        self.assert_command(runner.beat(), "RUN_NEW")


if __name__ == "__main__":
    unittest.main()
