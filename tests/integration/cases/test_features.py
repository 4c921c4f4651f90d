"""Limits, order, retries and callbacks, end to end on one real standalone."""

import hashlib
import hmac
import json
import os
import time
import unittest

from case_support import DrillCase, Receiver, SharedCase, Standalone, eventually, sh

SECRET = "callback-signing-key-0123456789"


def seconds(stamp):
    """An RFC 3339 time as seconds; None stays."""
    import datetime
    return stamp and datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


class Limits(DrillCase):
    def test_past_queue_max_a_submit_is_told_when_to_come_again(self):
        # 503 with Retry-After, nothing of a bulk is taken, and room makes it go on.
        system = self.standalone(runners=1, settings={"queue.max": 10})
        ids = system.submit_bulk([{"command": ["true"], "hold": True}] * 9)
        answer = system.rest.once(system.rest.addresses[0], "POST", "/api/v1/tasks/bulk",
                                  {"tasks": [{"command": ["true"], "hold": True}] * 2})
        self.assertEqual((answer.status, answer.code), (503, "overloaded"), answer)
        self.assertGreaterEqual(int(answer.headers["retry-after"]), 1)
        self.assertEqual(system.get("/api/v1/tasks?total=true")["total"], 9)
        system.submit({"command": ["true"], "hold": True})
        answer = system.rest.once(system.rest.addresses[0], "POST", "/api/v1/tasks",
                                  {"command": ["true"]})
        self.assertEqual((answer.status, answer.code), (503, "overloaded"), answer)
        system.rest.act(ids[0], "stop")
        done = system.wait_task(system.submit({"command": ["true"]}))
        self.assertEqual(done["status"], "FINISHED")

    def test_running_max_keeps_the_order_and_says_why_the_others_wait(self):
        # One at a time though four runners are free: in the order of submission.
        system = self.standalone(runners=4, settings={"limits.running_max": 1})
        ledger = system.ledger()
        first = system.submit(ledger.task("sleep 1.5"))
        system.wait_status(first, "RUNNING")
        rest = [system.submit(ledger.task("sleep 0.05")) for _ in range(6)]
        for task in rest:
            self.assertEqual(system.task(task)["waiting_for"]["code"], "cluster_limit")
        self.assertEqual(system.stats()["waiting_by_reason"], {"cluster_limit": 6})
        system.wait_tasks([first, *rest])
        starts = ledger.starts()
        self.assertEqual([s.task for s in starts], [first, *rest])
        for before, after in zip(starts, starts[1:]):
            self.assertLessEqual(before.end, after.start)


class Features(SharedCase):
    @classmethod
    def make(cls):
        cls.receiver = Receiver()
        cls.addClassCleanup(cls.receiver.close)
        system = Standalone(runners=1, heartbeat="500ms", start=False)
        secret = system.file("callback_secret")
        with os.fdopen(os.open(secret, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(SECRET)
        system.settings.update({"callback.secret_file": secret, "callback.tries": 3,
                                "callback.timeout": "2s",
                                "callback.allow": f"127.0.0.1:{cls.receiver.port}"})
        system.start()
        return system

    def setUp(self):
        super().setUp()
        self.receiver.answer, self.receiver.location = 200, None
        self.receiver.requests.clear()

    def test_a_second_standalone_leaves_the_clients_to_the_first(self):
        # Verbs without settings go on to reach the one that runs; the second names its own way.
        def text(path):
            with open(path) as file:
                return file.read()
        first = self.system.rest.addresses[0]
        shared = self.system.file(".local", "state", "baton", "client.yaml")
        self.assertIn(first, text(shared))
        other = self.standalone(start=False)
        other.start(env={"HOME": self.system.path})
        eventually(lambda: "Another terminal" in other.log("standalone"), 10, "its greeting")
        own = other.file("data", "client.yaml")
        self.assertIn(f"to reach this one: BATON_CLIENT_CONFIG={own} baton",
                      other.log("standalone"))
        self.assertIn(other.rest.addresses[0], text(own))
        self.assertIn(first, text(shared))

    def test_higher_priorities_run_first_and_equals_in_their_order(self):
        # One runner that is busy while all are handed in.
        ledger = self.system.ledger("priorities")
        block = self.system.submit({"command": ["sleep", "1.2"]})
        self.system.wait_status(block, "RUNNING")
        handed_in = [(name, self.system.submit(ledger.task(priority=name)))
                     for name in ("low", "normal", "critical", "high", "low", "critical", "normal")]
        self.system.wait_tasks([task for _, task in handed_in])
        expected = [task for name in ("critical", "high", "normal", "low")
                    for given, task in handed_in if given == name]
        self.assertEqual([s.task for s in ledger.starts()], expected)

    def test_a_task_goes_only_to_a_runner_with_its_labels(self):
        # A runner by hand that has the label; the one without never gets it.
        task = self.system.submit({"command": ["true"], "labels": {"disk": "ssd"}})
        plain = self.system.submit({"command": ["true"]})
        self.assertEqual(self.system.wait_task(plain)["status"], "FINISHED")
        self.assertEqual(self.system.task(task)["waiting_for"]["code"], "no_runner_matches")
        runner = self.system.runner("lab:0", {"disk": "ssd", "zone": "a"})
        order = runner.await_order()
        self.assertEqual(order["task"], task)
        runner.finish()
        done = self.system.wait_task(task)
        self.assertEqual((done["status"], done["runner_id"]), ("FINISHED", "lab:0"))

    def test_retries_come_with_growing_delays_and_are_seen(self):
        # 0.3 s, then 0.9 s; each attempt is kept with its own result.
        task = self.system.submit(sh("exit 7", retry={"max": 2, "delay": "300ms", "backoff": 3}))
        waiting = self.system.wait_status(task, "RETRYING")
        self.assertEqual(waiting["waiting_for"]["code"], "retry_delay")
        done = self.system.wait_task(task)
        self.assertEqual((done["status"], done["reason"], done["attempt"], done["retries_used"]),
                         ("FAILED", "exit_code", 3, 2))
        attempts = self.system.rest.attempts(task)
        self.assertEqual([a["return_code"] for a in attempts], [7, 7, 7])
        gaps = [seconds(b["dispatched_at"]) - seconds(a["finished_at"])
                for a, b in zip(attempts, attempts[1:])]
        self.assertGreaterEqual(gaps[0], 0.29)
        self.assertGreaterEqual(gaps[1], 0.89)
        self.assertLess(gaps[0], 0.9)
        self.assertLess(gaps[1], 2.5)

    def test_a_task_that_heals_itself_finishes_with_a_retry(self):
        # The second attempt succeeds; the task is FINISHED and says that it took two.
        done = self.run_task(sh('[ "$BATON_ATTEMPT" = 2 ]', retry={"max": 3, "delay": "100ms"}))
        self.assertEqual((done["status"], done["attempt"], done["retries_used"]),
                         ("FINISHED", 2, 1))

    # Callbacks ------------------------------------------------------------------------------

    def test_a_callback_is_delivered_once_and_signed(self):
        # The receiver can check who sent it and which event it was.
        task = self.system.submit(sh("exit 5", callback={"url": self.receiver.url("/signed?a=b")}))
        self.assertEqual(self.system.wait_task(task)["status"], "FAILED")
        def received():
            return [r for r in self.receiver.requests if r["path"] == "/signed?a=b"]
        eventually(received, 5, "the callback")
        time.sleep(1.2)  # A repetition would come after a second.
        (got,) = received()
        headers, body = got["headers"], json.loads(got["body"])
        self.assertEqual((body["task_id"], body["event"], body["reason"], body["return_code"]),
                         (task, "failed", "exit_code", 5))
        self.assertEqual(headers["baton-delivery-id"], f"{task}/1/failed")
        text = "\n".join([headers["baton-delivery-id"], headers["baton-event-seq"],
                          headers["baton-epoch"], headers["baton-attempt"], ""]).encode()
        signature = hmac.new(SECRET.encode(), text + got["body"], hashlib.sha256).hexdigest()
        self.assertEqual(headers["baton-signature"], "sha256=" + signature)
        self.assertNotIn("authorization", headers)
        self.assertNotIn(self.system.token.encode(), got["body"])

    def test_an_awaited_callback_keeps_the_task_until_it_is_accepted(self):
        # CALLBACK while the receiver answers 500, FINISHED with the first 2xx.
        self.receiver.answer = 500
        task = self.system.submit({"command": ["true"], "callback": {
            "url": self.receiver.url("/awaited"), "wait": True}})
        self.system.wait_status(task, "CALLBACK")
        eventually(lambda: "/awaited" in self.receiver.paths(), 5, "a try")
        self.assertEqual(self.system.task(task)["status"], "CALLBACK")
        # Whoever waits for its callback holds up no runner.
        self.assertEqual(self.run_task({"command": ["true"]})["status"], "FINISHED")
        self.receiver.answer = 204
        self.assertEqual(self.system.wait_task(task)["status"], "FINISHED")
        ids = {r["headers"]["baton-delivery-id"] for r in self.receiver.requests
               if r["path"] == "/awaited"}
        self.assertEqual(ids, {f"{task}/1/finished"})

    def test_a_callback_given_up_fails_the_task_if_it_was_told_so(self):
        # Three tries, then the dead-letter list; on_failure decides about the task.
        self.receiver.answer = 500
        ids = {how: self.system.submit({"command": ["true"], "callback": {
            "url": self.receiver.url("/" + how), "wait": True, "on_failure": how}})
            for how in ("fail", "finish")}
        failed = self.system.wait_task(ids["fail"], 30)
        self.assertEqual((failed["status"], failed["reason"]), ("FAILED", "callback_failed"))
        self.assertEqual(self.system.wait_task(ids["finish"], 30)["status"], "FINISHED")
        # Three tries each; the end as FAILED is an event of its own, which is told too.
        tries = [r["headers"]["baton-delivery-id"] for r in self.receiver.requests]
        for how in ids:
            self.assertEqual(tries.count(f"{ids[how]}/1/finished"), 3)
        eventually(lambda: f"{ids['fail']}/1/failed" in
                   [r["headers"]["baton-delivery-id"] for r in self.receiver.requests], 5,
                   "the event failed")
        dead = {d["task_id"] for d in self.system.get("/api/v1/callbacks/dead")["items"]}
        self.assertLessEqual(set(ids.values()), dead)

    def test_a_callback_reaches_no_inner_address_that_is_not_listed(self):
        # BUG-167: other spellings, other ports, names, redirects: no connection is made.
        inner = Receiver()
        self.addCleanup(inner.close)
        self.receiver.answer, self.receiver.location = 302, inner.url("/redirected")
        port = inner.port
        urls = [f"http://127.0.0.1:{port}/", f"http://[::1]:{port}/", f"http://0x7f000001:{port}/",
                f"http://2130706433:{port}/", f"http://127.1:{port}/", f"http://localhost:{port}/",
                f"http://localhost.:{port}/", f"http://[::ffff:127.0.0.1]:{port}/",
                f"http://0.0.0.0:{port}/", f"http://017700000001:{port}/",
                f"http://{os.uname().nodename}:{port}/",
                "http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://[fe80::1]/",
                f"http://127.0.0.1:{self.receiver.port}@127.0.0.1:{port}/",
                self.receiver.url("/302")]
        ids = []
        for url in urls:
            answer = self.system.rest.once(
                self.system.rest.addresses[0], "POST", "/api/v1/tasks",
                {"command": ["true"], "callback": {"url": url, "on": ["finished"]}})
            self.assertIn(answer.status, (201, 400), answer)
            if answer.status == 201:
                ids.append(answer.json["id"])
        for url in ("file:///etc/passwd", f"gopher://127.0.0.1:{port}/x", "ftp://127.0.0.1/", ""):
            answer = self.system.rest.once(self.system.rest.addresses[0], "POST", "/api/v1/tasks",
                                           {"command": ["true"], "callback": {"url": url}})
            self.assertEqual(answer.status, 400, url)

        def dead():
            items = self.system.get("/api/v1/callbacks/dead?limit=1000")["items"]
            return {d["task_id"] for d in items} >= set(ids)
        eventually(dead, 25, "the end of all those callbacks", pause=0.2)
        self.assertEqual(inner.connections, 0)
        self.assertIn("callback_dead", self.system.log("standalone"))
        for request in self.receiver.requests:
            self.assertNotIn("authorization", request["headers"])

    def test_a_slow_receiver_holds_up_nobody_else(self):
        # The other receiver's callbacks and all tasks go on.
        self.receiver.answer = lambda r: time.sleep(1.5) or 200 if r["path"] == "/slow" else 200
        for _ in range(4):
            self.system.submit({"command": ["true"],
                                "callback": {"url": self.receiver.url("/slow")}})
        began = time.monotonic()
        self.assertEqual(self.run_task({"command": ["true"]})["status"], "FINISHED")
        self.assertLess(time.monotonic() - began, 1.5)
        eventually(lambda: self.receiver.paths().count("/slow") == 4, 15, "all callbacks")


if __name__ == "__main__":
    unittest.main()
