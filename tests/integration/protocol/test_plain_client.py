"""heartbeat.plain_clients: a shell script with curl can be a runner."""

import threading
import unittest

from baton_cluster import Standalone, eventually


class PlainClient:
    """Sends what a shell script would: the status, and the task if there is one."""

    def __init__(self, rest, runner_id):
        self.rest = rest
        self.path = f"/api/v1/runners/{runner_id}/heartbeat"

    def say(self, status="IDLE", task=None, attempt=None, **fields):
        body = {"status": status, **fields}
        if task:
            body.update(current_task=task, attempt=attempt)
        return self.rest.request("POST", self.path, body, accept=range(200, 600))

    def beat(self, *words, **fields):
        answer = self.say(*words, **fields)
        assert answer.status == 200, answer
        return answer.json


class PlainClients(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.baton = Standalone(runners=1)
        cls.addClassCleanup(cls.baton.close)
        cls.addClassCleanup(cls.hang_up)
        cls.count = 0

    @classmethod
    def hang_up(cls):
        cls.baton.rest.close()
        cls.baton.worker_rest.close()

    def setUp(self):
        type(self).count += 1
        self.runner_id = f"shell{self.count}:0"
        self.labels = {"shell": str(self.count)}
        self.client = PlainClient(self.baton.worker_rest, self.runner_id)

    def submit(self, **fields):
        return self.baton.submit({"name": "plain", "command": ["true"], "labels": self.labels,
                                  **fields})

    def idle(self, **fields):
        return self.client.beat("IDLE", runner_config={"labels": self.labels}, **fields)

    def order(self, **fields):
        task = self.submit(**fields)
        reply = self.idle()
        self.assertEqual(reply["command"], "RUN_NEW", reply)
        self.assertEqual(reply["task"]["task"], task)
        return task, reply["task"]["attempt"]

    def status(self, task):
        return self.baton.task(task)["status"]

    def view(self):
        return [r for r in self.baton.get("/api/v1/runners")["items"]
                if r["runner_id"] == self.runner_id][0]

    def test_a_whole_life_with_bodies_of_one_line(self):
        self.assertEqual(self.client.beat("IDLE")["command"], "GO_ON")
        task, attempt = self.order()
        self.assertEqual(self.status(task), "DISPATCHED")
        self.assertEqual(self.client.beat("RUNNING", task, attempt)["command"], "GO_ON")
        self.assertEqual(self.status(task), "RUNNING")
        reply = self.client.beat("FINISHED", task, attempt, return_code=0)
        self.assertEqual(reply["command"], "RESET")
        ended = self.baton.task(task)
        self.assertEqual((ended["status"], ended["runner_id"]), ("FINISHED", self.runner_id))
        self.assertLess(ended["started_at"], ended["finished_at"])

    def test_the_return_code_alone_says_why_it_failed(self):
        task, attempt = self.order()
        self.client.beat("FAILED", task, attempt, return_code=3)
        ended = self.baton.task(task)
        self.assertEqual((ended["status"], ended["reason"], ended["return_code"]),
                         ("FAILED", "exit_code", 3))

    def test_the_signal_alone_says_why_it_failed(self):
        task, attempt = self.order()
        self.client.beat("FAILED", task, attempt, signal=9)
        self.assertEqual(self.baton.task(task)["reason"], "signal")

    def test_it_is_shown_as_plain(self):
        self.client.beat("IDLE")
        self.assertTrue(self.view()["plain"])
        hosts = {h["worker_id"]: h for h in self.baton.get("/api/v1/hosts")["items"]}
        self.assertTrue(hosts[self.runner_id]["plain"])

    def test_replies_are_numbered_by_arrival(self):
        first, second = self.client.beat("IDLE"), self.client.beat("IDLE")
        self.assertEqual((first["incarnation"], second["seq"]), (0, first["seq"] + 1))

    def test_wait_ms_holds_its_requests_too(self):
        self.client.beat("IDLE", runner_config={"labels": self.labels})
        replies = []

        def wait():
            replies.append(self.idle(wait_ms=500))
            self.baton.worker_rest.close()
        waiting = threading.Thread(target=wait)
        waiting.start()
        eventually(lambda: self.view()["held"], 5, pause=0.01)
        task = self.submit()
        waiting.join(10)
        self.assertEqual(replies[0]["task"]["task"], task)

    def test_idle_before_the_first_report_of_an_order_gets_it_again(self):
        # last_order is the newest attempt that it named: this one it never did.
        task, attempt = self.order()
        reply = self.idle()
        self.assertEqual((reply["command"], reply["task"]["task"], reply["task"]["attempt"]),
                         ("RUN_NEW", task, attempt))

    def test_idle_after_running_is_runner_reset(self):
        task, attempt = self.order()
        self.client.beat("RUNNING", task, attempt)
        self.idle()
        self.assertEqual(self.baton.task(task)["reason"], "runner_reset")

    def test_a_stop_reaches_it_as_reset(self):
        task, attempt = self.order()
        self.client.beat("RUNNING", task, attempt)
        self.baton.rest.act(task, "stop")
        self.assertEqual(self.client.beat("RUNNING", task, attempt)["command"], "RESET")
        self.idle()
        self.assertEqual(self.status(task), "TERMINATED")

    def test_a_repeated_result_is_acknowledged(self):
        task, attempt = self.order()
        for _ in range(2):
            reply = self.client.beat("FINISHED", task, attempt, return_code=0)
            self.assertEqual(reply["command"], "RESET")
        self.assertIsNone(self.baton.rest.attempts(task)[0]["late_report"])

    def test_a_failed_attempt_is_retried_with_the_next_number(self):
        task, attempt = self.order(retry={"max": 1, "delay": "0s"})
        self.client.beat("FAILED", task, attempt, return_code=1)
        eventually(lambda: self.status(task) == "QUEUED", 5)
        self.assertEqual(self.idle()["task"]["attempt"], 2)

    def test_a_report_still_names_task_and_attempt(self):
        task, attempt = self.order()
        for fields, missing in (({"attempt": attempt}, "current_task"),
                                ({"current_task": task}, "attempt")):
            answer = self.client.say("RUNNING", **fields)
            self.assertEqual((answer.status, answer.json["field"]), (400, missing))

    def test_another_runners_attempt_is_403(self):
        task, attempt = self.order()
        other = PlainClient(self.baton.worker_rest, self.runner_id + "b")
        self.assertEqual(other.say("FINISHED", task, attempt, return_code=0).status, 403)
        self.assertEqual(self.status(task), "DISPATCHED")

    def test_a_restart_of_the_master_neither_loses_nor_repeats_its_task(self):
        task, attempt = self.order()
        self.client.beat("RUNNING", task, attempt)
        unheard = PlainClient(self.baton.worker_rest, self.runner_id + "b")
        labels = {"shell": f"{self.count}b"}
        second = self.baton.submit({"command": ["true"], "labels": labels})
        config = {"labels": labels}
        order = unheard.beat("IDLE", runner_config=config)["task"]
        self.hang_up()
        self.baton.kill("standalone")
        self.baton.start()
        self.client.rest = unheard.rest = self.baton.worker_rest
        self.assertEqual(self.client.beat("RUNNING", task, attempt)["command"], "GO_ON")
        self.client.beat("FINISHED", task, attempt, return_code=0)
        self.assertEqual(self.status(task), "FINISHED")
        self.assertEqual(unheard.beat("IDLE", runner_config=config)["task"], order)
        self.assertEqual([a["attempt"] for a in self.baton.rest.attempts(second)], [1])

    def test_who_once_sent_incarnation_and_seq_may_not_leave_them_out(self):
        full = self.baton.runner(self.runner_id, self.labels)
        full.beat()
        answer = self.client.say("IDLE")
        self.assertEqual((answer.status, answer.json["field"]), (400, "incarnation"))

    def test_half_a_pair_is_no_plain_client(self):
        answer = self.client.say("IDLE", incarnation=1)
        self.assertEqual((answer.status, answer.json["field"]), (400, "seq"))


if __name__ == "__main__":
    unittest.main()
