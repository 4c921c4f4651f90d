"""What goes on and who ordered it (watch, followed outputs, audit), on one real standalone."""

import http.client
import json
import signal
import sqlite3
import subprocess
import threading
import unittest

from case_support import (PROGRAM, SharedCase, Standalone, environment_of, eventually, run_baton,
                          sh)
from event_stream import EventStream

# What each operation that is no read writes into the audit log; None: it changes nothing that
# people order.
AUDITED = {
    "submitTask": "task.submit", "submitTasks": "task.submit", "stopTask": "task.stop",
    "skipTask": "task.skip", "holdTask": "task.hold", "releaseTask": "task.release",
    "rerunTask": "task.rerun", "forceSuccessTask": "task.force-success",
    "applyCalendars": "calendar.apply",
    "applyFlow": "flow.apply", "applyFlows": "flow.apply", "deleteFlow": "flow.delete",
    "onlineFlow": "flow.online",
    "offlineFlow": "flow.offline", "triggerFlow": "flow.trigger", "backfillFlow": "flow.backfill",
    "stopRun": "run.stop", "pauseRun": "run.pause", "resumeRun": "run.resume",
    "rerunRun": "run.rerun", "skipRun": "run.skip", "forceSuccessRun": "run.force-success",
    "setRunPriority": "run.priority", "runMissed": "missed.run", "sendEvent": "event.send",
    "applyCalendar": "calendar.apply", "deleteCalendar": "calendar.delete",
    "setParam": "param.set", "deleteParam": "param.delete",
    "drainHost": "host.drain", "excludeHost": "host.exclude", "includeHost": "host.include",
    "labelHost": "host.label", "unregisterHost": "host.unregister", "setHostPolicy": "host.policy",
    "putGroup": "limit.set", "deleteGroup": "limit.remove", "putLimit": "limit.set",
    "deleteLimit": "limit.remove", "setClusterLimit": "limit.set", "degrade": "limit.set",
    "resendCallback": "callback.resend", "sync": "cluster.sync",
    "heartbeat": None, "verify": None, "validateFlow": None,
}
SECRET = "hush-5521"


class Audit(SharedCase):
    @classmethod
    def make(cls):
        return Standalone(runners=2, heartbeat="1s")

    def setUp(self):
        super().setUp()
        self.rest = self.system.rest

    def order(self, method, path, body=None, headers=None):
        return self.rest.once(self.rest.addresses[0], method, path, body, None, 20, headers)

    def rows(self, **filters):
        query = "&".join(f"{k}={v}" for k, v in {"limit": 1000, **filters}.items())
        return self.rest.get(f"/api/v1/audit?{query}")["items"]

    def row_of(self, answer):
        """The one row that the order of this answer left."""
        rows = self.rows(request_id=answer.headers["x-request-id"])
        self.assertEqual(len(rows), 1, rows)
        self.assertEqual((rows[0]["principal"], rows[0]["remote"]), ("client", "127.0.0.1"))
        return rows[0]

    def done(self, method, path, body=None, action=None):
        """An order that is carried out, and its row."""
        answer = self.order(method, path, body)
        self.assertIn(answer.status, (200, 201), answer)
        row = self.row_of(answer)
        self.assertEqual((row["action"], row["outcome"]), (action, "done"))
        return answer.json, row

    def apply(self, name, **fields):
        return self.done("PUT", f"/api/v1/flows/{name}", {"flow": name, **fields}, "flow.apply")

    def test_every_operation_is_in_the_table_of_this_test(self):
        # Whoever adds an address that changes something says here what its row is.
        document = self.rest.get("/api/v1/openapi.json")
        changing = {operation["operationId"]
                    for path in document["paths"].values()
                    for method, operation in path.items() if method != "get"}
        self.assertEqual(changing, set(AUDITED))

    def test_every_order_leaves_one_row_that_tells_no_secret(self):
        seen = set()

        def done(*arguments):
            answer, row = self.done(*arguments)
            seen.add(row["action"])
            return answer, row

        held = {**sh("exit 3", params={"token": SECRET}), "hold": True}
        task, row = done("POST", "/api/v1/tasks", held, "task.submit")
        path = f"/api/v1/tasks/{task['id']}"
        self.assertEqual((row["object"], row["params"]["name"]), (task["id"], "case"))
        answer, row = done("POST", "/api/v1/tasks/bulk", {"tasks": [held, held]}, "task.submit")
        self.assertEqual(row["params"], {"count": 2, "last": answer["ids"][1]})
        done("POST", f"{path}/hold", None, "task.hold")
        _, row = done("POST", f"{path}/release", None, "task.release")
        self.assertEqual((row["before"]["hold"], "hold" in row["after"]), (True, False))
        self.system.wait_task(task["id"])
        _, row = done("POST", f"{path}/rerun", None, "task.rerun")
        self.assertEqual(row["before"], {"status": "FAILED"})
        self.system.wait_task(task["id"])
        _, row = done("POST", f"{path}/force-success", None, "task.force-success")
        self.assertEqual(row["after"], {"status": "FINISHED", "forced": True})
        done("POST", f"/api/v1/tasks/{answer['ids'][0]}/skip", None, "task.skip")
        done("POST", f"/api/v1/tasks/{answer['ids'][1]}/stop", None, "task.stop")

        _, row = self.apply("f", params={"token": SECRET}, overlap={"policy": "queue"},
                            tasks={"a": {"event": {"name": "never"}, "hold": False},
                                   "b": {"noop": True, "needs": ["a"]}})
        seen.add(row["action"])
        self.assertEqual((row["before"], row["after"]), (None, {"version": 1, "online": False}))
        done("POST", "/api/v1/flows/f/online", None, "flow.online")
        done("POST", "/api/v1/flows/f/offline", None, "flow.offline")
        run, row = done("POST", "/api/v1/flows/f/trigger", {"params": {"token": SECRET}},
                        "flow.trigger")
        self.assertEqual((row["params"], row["after"]["run_id"]), ({"params": ["token"]}, run["id"]))
        waits, _ = done("POST", "/api/v1/flows/f/trigger", {}, "flow.trigger")
        done("POST", f"/api/v1/runs/{waits['id']}/skip", None, "run.skip")
        at = f"/api/v1/runs/{run['id']}"
        done("POST", f"{at}/pause", None, "run.pause")
        done("POST", f"{at}/resume", None, "run.resume")
        _, row = done("POST", f"{at}/priority", {"priority": "high"}, "run.priority")
        self.assertEqual((row["before"]["priority"], row["after"]["priority"]), ("normal", "high"))
        done("POST", f"{at}/stop", None, "run.stop")
        eventually(lambda: self.rest.get(at)["status"] == "TERMINATED", 10, "the end of the run")
        _, row = done("POST", f"{at}/rerun", {"scope": "all"}, "run.rerun")
        self.assertEqual(row["params"], {"scope": "all"})
        _, row = done("POST", "/api/v1/flows/f/backfill",
                      {"plan_times": ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]},
                      "flow.backfill")
        self.assertEqual(row["after"]["runs"], 2)

        self.apply("bad", tasks={"a": {"script": "exit 1"}})
        failed, _ = done("POST", "/api/v1/flows/bad/trigger", {}, "flow.trigger")
        eventually(lambda: self.rest.get(f"/api/v1/runs/{failed['id']}")["status"] == "FAILED", 15,
                   "the failed run")
        done("POST", f"/api/v1/runs/{failed['id']}/force-success", {"task": "a"},
             "run.force-success")

        _, row = done("POST", "/api/v1/events",
                      {"name": "e", "key": "k", "data": {"token": SECRET}}, "event.send")
        self.assertEqual(row["params"], {"key": "k", "data": ["token"]})
        done("DELETE", "/api/v1/flows/f", None, "flow.delete")
        self.steer(done)
        # A missed instant needs a schedule that was not served, and a callback that is sent again one
        # that was given up; the unit tests have them.
        self.assertEqual(seen | {"missed.run", "callback.resend", "cluster.sync"},
                         set(AUDITED.values()) - {None})
        self.assertNotIn(SECRET, json.dumps(self.rows()))

    def steer(self, done):
        """Orders about hosts, limits, calendars and parameters of the project."""
        host = "/api/v1/hosts/elsewhere"
        done("POST", f"{host}/exclude", {"reason": "disk"}, "host.exclude")
        done("POST", f"{host}/labels", {"labels": {"pool": "etl"}}, "host.label")
        done("POST", f"{host}/drain", {}, "host.drain")
        done("POST", f"{host}/include", {}, "host.include")
        done("POST", f"{host}/unregister", None, "host.unregister")
        done("POST", "/api/v1/hosts/policy", {"white_list": False}, "host.policy")
        done("PUT", "/api/v1/groups/g", {"limit": 2}, "limit.set")
        done("DELETE", "/api/v1/groups/g", None, "limit.remove")
        done("PUT", "/api/v1/limits/flow/f", {"limit": 2}, "limit.set")
        done("DELETE", "/api/v1/limits/flow/f", None, "limit.remove")
        _, row = done("POST", "/api/v1/cluster/limit", {"running_max": 99}, "limit.set")
        self.assertEqual((row["object"], row["after"]), ("cluster", {"limit": 99}))
        done("POST", "/api/v1/cluster/degrade", {"min_priority": "low"}, "limit.set")
        done("POST", "/api/v1/cluster/degrade", {"min_priority": None}, "limit.set")
        _, row = done("PUT", "/api/v1/calendars/c", {"calendar": "c"}, "calendar.apply")
        self.assertEqual(row["after"], {"version": 1})
        _, row = done("DELETE", "/api/v1/calendars/c", None, "calendar.delete")
        self.assertEqual(row["before"], {"version": 1})
        _, row = done("PUT", "/api/v1/params/p", {"value": SECRET}, "param.set")
        self.assertEqual((row["before"], row["after"]), (None, {"version": 1}))
        done("DELETE", "/api/v1/params/p", None, "param.delete")

    def test_sync_reads_again_what_somebody_changed_by_hand(self):
        self.order("PUT", "/api/v1/groups/restored", {"limit": 2})
        task = self.system.submit(sh("sleep 30"))
        self.system.wait_status(task, "RUNNING")
        rows = sqlite3.connect(self.system.file("data", "baton.db"), timeout=20)
        with rows:
            rows.execute("UPDATE run_limit SET max_units = 7 WHERE name = 'restored'")
        rows.close()
        self.assertEqual(self.rest.get("/api/v1/groups/restored")["limit"], 2)
        env = {"BATON_MASTERS": self.rest.addresses[0], "BATON_TOKEN": self.system.token}
        code, out = run_baton("cluster", "sync", env=env)
        self.assertEqual(code, 0, out)
        self.assertRegex(out, r"^all is read again: epoch \d+, active ")
        self.assertEqual(self.rest.get("/api/v1/groups/restored")["limit"], 7)
        self.assertEqual(self.rest.task(task)["attempt"], 1)
        self.rest.act(task, "stop")
        self.assertEqual(self.system.wait_task(task)["status"], "TERMINATED")
        row = self.rows(action="cluster.sync")[0]
        self.assertEqual((row["principal"], row["object"]), ("client", "standalone"))

    def test_refusals_by_state_are_kept_and_other_errors_are_not(self):
        task = self.run_task(sh("true"))
        path = f"/api/v1/tasks/{task['id']}"
        refused = self.order("POST", f"{path}/hold", None, {"X-Request-Id": "by-hand-7"})
        self.assertEqual((refused.status, refused.headers["x-request-id"]), (409, "by-hand-7"))
        row = self.row_of(refused)
        self.assertEqual((row["outcome"], row["after"]), ("refused", None))
        self.assertIn("FINISHED", row["detail"])
        before = len(self.rows())
        for method, where, body in [("POST", "/api/v1/tasks/99999999/stop", None),
                                    ("POST", f"{path}/stop", {"x": 1}),
                                    ("POST", "/api/v1/tasks", {"command": "no list"}),
                                    ("POST", "/api/v1/flows/none/trigger", {}),
                                    ("PUT", "/api/v1/flows/g?dry_run=true",
                                     {"flow": "g", "tasks": {"a": {"noop": True}}})]:
            self.order(method, where, body)
        self.assertEqual(len(self.rows()), before)

    def test_the_list_is_paged_and_filtered_and_a_verb_shows_it(self):
        task = self.system.submit({**sh("true"), "hold": True})
        self.system.rest.act(task, "stop")
        mine = self.rows(kind="task", object=task)
        self.assertEqual([r["action"] for r in mine], ["task.stop", "task.submit"])
        first = self.rest.get("/api/v1/audit?limit=1")
        second = self.rest.get(f"/api/v1/audit?limit=1&cursor={first['next_cursor']}")
        self.assertGreater(int(first["items"][0]["id"]), int(second["items"][0]["id"]))
        env = {"BATON_MASTERS": self.rest.addresses[0], "BATON_TOKEN": self.system.token}
        code, said = run_baton("audit", "list", "--object", task, "--since", "1h", env=env)
        self.assertEqual(code, 0, said)
        self.assertIn("task.stop", said)
        self.assertIn("127.0.0.1", said)
        code, said = run_baton("audit", "list", "--object", task, "-o", "json", env=env)
        self.assertEqual([r["object"] for r in json.loads(said)["items"]], [task, task])
        code, said = run_baton("audit", "list", "--since", "soon", env=env)
        self.assertEqual(code, 2, said)

    def test_the_log_outlives_a_restart(self):
        task = self.system.submit({**sh("true"), "hold": True})
        self.system.kill("standalone")
        self.system.start()
        self.rest = self.system.rest
        self.assertEqual([r["action"] for r in self.rows(object=task)], ["task.submit"])


class Watch(SharedCase):
    @classmethod
    def make(cls):
        return Standalone(runners=2, heartbeat="1s")

    def stream(self, query="", last=None):
        stream = EventStream(self.system.rest.addresses[0], self.system.token,
                             f"/api/v1/watch{query}", last)
        self.addCleanup(stream.close)
        self.assertEqual(stream.status, 200)
        return stream

    def opened(self, query="", last=None):
        """A stream, and what its first event says."""
        stream = self.stream(query, last)
        _, event, data = next(stream)
        return stream, event, data

    def test_the_life_of_a_task_is_told_and_a_lost_stream_goes_on(self):
        stream, event, data = self.opened()
        self.assertEqual((event, data), ("ready", {"resumed": False}))
        task = self.system.submit(sh("exit 3"))
        seen = stream.until(lambda e, d: e == "task" and d["id"] == task and
                            d["status"] == "FAILED")
        mine = [d for _, e, d in seen if e == "task" and d["id"] == task]
        self.assertEqual((mine[0]["name"], mine[-1]["return_code"]), ("case", 3))
        order = ["QUEUED", "DISPATCHED", "RUNNING", "FAILED"]
        told = [d["status"] for d in mine]
        self.assertEqual(told, sorted(told, key=order.index))
        # From the first event of the task on, another connection tells the same.
        first = next(i for i, (_, e, d) in enumerate(seen) if e == "task" and d["id"] == task)
        again, event, data = self.opened(f"?task={task}", seen[first][0])
        self.assertEqual((event, data), ("ready", {"resumed": True}))
        rest = again.until(lambda e, d: d["status"] == "FAILED")
        self.assertEqual([d for _, _, d in rest], mine[1:])

    def test_a_run_and_its_tasks_are_told_by_flow(self):
        rest = self.system.rest
        rest.request("PUT", "/api/v1/flows/Big", {"flow": "Big", "tasks": {
            "a": {"script": "true"}, "b": {"noop": True, "needs": ["a"]}}})
        stream, _, _ = self.opened("?flow=big")
        other, _, _ = self.opened("?flow=small")
        run = rest.post("/api/v1/flows/Big/trigger", {}, key="once")["id"]
        seen = stream.until(lambda e, d: e == "run" and d["status"] == "FINISHED")
        runs = [d for _, e, d in seen if e == "run"]
        self.assertEqual((runs[0]["id"], runs[0]["trigger"], runs[0]["flow"]),
                         (run, "manual", "Big"))
        tasks = [d for _, e, d in seen if e == "task"]
        self.assertEqual({(d["run_id"], d["flow"]) for d in tasks}, {(run, "Big")})
        self.assertEqual({d["name"] for d in tasks if "name" in d}, {"a", "b"})
        rest.request("PUT", "/api/v1/flows/small?online=true",
                     {"flow": "small", "tasks": {"a": {"noop": True}}})
        _, event, data = next(other)
        self.assertEqual((event, data["name"], data["online"]), ("flow", "small", True))

    def test_hundreds_of_changes_reach_many_watchers_whole(self):
        streams = [self.opened("?kind=task")[0] for _ in range(20)]
        ids = self.system.rest.submit_bulk([{**sh("true"), "hold": True}] * 300)
        for task in ids[::3]:
            self.system.rest.act(task, "stop")
        last = ids[::3][-1]
        told = []

        def read(stream):
            told.append(stream.until(lambda e, d: d["id"] == last and d["status"] == "TERMINATED"))
        readers = [threading.Thread(target=read, args=(stream,)) for stream in streams]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(30)
        self.assertEqual(len(told), len(streams))
        wanted = set(ids)
        for seen in told:
            mine = [d for _, _, d in seen if d["id"] in wanted]
            self.assertEqual({d["id"] for d in mine}, wanted)
            self.assertEqual(sum(d["status"] == "TERMINATED" for d in mine), 100)

    def test_a_restart_ends_the_stream_and_is_said_to_who_comes_back(self):
        stream, _, _ = self.opened()
        self.system.kill("standalone")
        with self.assertRaises((StopIteration, OSError, http.client.HTTPException)):
            while True:
                next(stream)
        self.system.start()
        back, event, data = self.opened("", stream.last)
        self.assertEqual((event, data), ("reset", {"reason": "takeover"}))
        task = self.system.submit({**sh("true"), "hold": True})
        self.assertEqual(back.until(lambda e, d: e == "task")[-1][2]["id"], task)
        # An orderly end is said; a stop does not wait for its watchers.
        ending = threading.Thread(target=self.system.kill, args=("standalone", signal.SIGTERM))
        ending.start()
        _, event, data = next(s for s in back if s[1] == "end")
        self.assertIn(data["reason"], ("stopping", "not_active"))
        ending.join(20)
        self.assertFalse(self.system.running("standalone"))
        self.system.start()


class Follow(SharedCase):
    @classmethod
    def make(cls):
        return Standalone(runners=2, heartbeat="1s")

    def follow(self, task, query=""):
        """The whole of a followed output; fails if it was cut."""
        connection = http.client.HTTPConnection(self.system.rest.addresses[0], timeout=30)
        self.addCleanup(connection.close)
        connection.request("GET", f"/api/v1/tasks/{task}/logs?follow=true{query}",
                           headers={"Authorization": f"Bearer {self.system.token}"})
        reply = connection.getresponse()
        self.assertEqual(reply.status, 200)
        return reply

    def test_an_output_is_followed_while_it_grows_and_over_a_retry(self):
        # Followed from before the first attempt on: each byte once, as it is written.
        gate = self.system.file("gate")
        task = self.system.submit({**sh(
            f"echo try $BATON_ATTEMPT; while [ ! -e {gate} ]; do sleep 0.05; done; "
            "for i in 1 2 3; do echo $i; sleep 0.1; done; [ $BATON_ATTEMPT = 2 ]"), "hold": True,
            "retry": {"max": 1, "delay": "100ms"}})
        reply = self.follow(task)
        self.system.rest.act(task, "release")
        self.assertEqual(reply.readline(), b"try 1\n")
        with open(gate, "w"):  # The first line came while the attempt ran.
            pass
        self.assertEqual(reply.read(), b"1\n2\n3\ntry 2\n1\n2\n3\n")
        self.assertEqual(self.system.rest.task(task)["status"], "FINISHED")
        # One attempt alone, from a byte on.
        self.assertEqual(self.follow(task, "&attempt=1&offset=6").read(), b"1\n2\n3\n")
        self.assertEqual(self.follow(task, "&tail=1").read(), b"3\n")
        self.assertEqual(self.follow(task, "&stream=stderr").read(), b"")

    def test_much_output_is_followed_whole(self):
        task = self.system.submit(sh("seq 1 200000; echo end >&2"))
        wanted = "".join(f"{i}\n" for i in range(1, 200001)).encode()
        self.assertEqual(self.follow(task).read(), wanted)
        self.assertEqual(self.follow(task, "&stream=stderr").read(), b"end\n")

    def test_the_verb_follows_to_the_end(self):
        # Aim: both outputs as they were written, over an attempt that failed, and no others.
        def followed(task):
            done = subprocess.run(
                [PROGRAM, "task", "logs", task, "--follow"], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30,
                env=environment_of(None, {"BATON_MASTERS": self.system.rest.addresses[0],
                                          "BATON_TOKEN": self.system.token}))
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout, done.stderr
        task = self.system.submit(sh("echo one; sleep 0.5; echo two; echo three >&2"))
        self.assertEqual(followed(task), (b"one\ntwo\n", b"three\n"))
        task = self.system.submit(sh("echo try; sleep 0.2; exit 1",
                                     retry={"max": 1, "delay": "100ms"}))
        out, err = followed(task)
        self.assertEqual((out, err), (b"try\ntry\n", f"baton: attempt 2 of task {task}\n".encode()))
        large = self.system.submit(sh("seq 1 100000"))
        self.assertEqual(followed(large)[0],
                         "".join(f"{i}\n" for i in range(1, 100001)).encode())


class Lists(SharedCase):
    """Every list has its filters, pages that fit together, and a total."""

    @classmethod
    def make(cls):
        return Standalone(runners=3, heartbeat="1s")

    def names(self, path, member, **filters):
        return [item[member] for item in self.system.rest.pages(path, **filters)]

    def page_by_page(self, path, member, count):
        """Pages of one item give the same as one page, and the total says how many they are."""
        whole = self.names(path, member)
        self.assertEqual(self.names(path, member, limit=1), whole)
        self.assertEqual(self.system.get(f"{path}?limit=1&total=true")["total"], len(whole))
        self.assertEqual(len(whole), count, whole)
        return whole

    def test_lists_are_filtered_paged_and_counted(self):
        rest = self.system.rest
        for name, owner, tags in (("a", "ann", ["x"]), ("b", "bob", ["x", "y"]), ("c", "ann", [])):
            definition = {"flow": name, "owner": owner, "tags": tags,
                          "tasks": {"t": {"noop": True}}}
            rest.request("PUT", f"/api/v1/flows/{name}?online={str(name == 'a').lower()}",
                         definition)
            rest.post(f"/api/v1/flows/{name}/trigger", {})
        self.assertEqual(self.page_by_page("/api/v1/flows", "name", 3), ["a", "b", "c"])
        self.assertEqual(self.names("/api/v1/flows", "name", owner="ann"), ["a", "c"])
        self.assertEqual(self.names("/api/v1/flows", "name", owner="ann", tag="x"), ["a"])
        self.assertEqual(self.names("/api/v1/flows", "name", tag="y", online="false"), ["b"])

        self.page_by_page("/api/v1/runs", "id", 3)
        self.assertEqual(self.names("/api/v1/runs", "flow", q="B"), ["b"])
        self.assertEqual(len(self.names("/api/v1/runs", "id", principal="client")), 3)
        self.assertEqual(self.names("/api/v1/runs", "id", reason="queue_full,timeout"), [])
        self.assertEqual(self.names("/api/v1/runs", "id", created_before="2020-01-01T00:00:00Z"),
                         [])
        self.page_by_page("/api/v1/missed", "flow", 0)

        for key in ("1", "2"):
            rest.post("/api/v1/events", {"name": "fx", "key": key,
                                         "happened_at": f"2026-0{key}-01T00:00:00Z"})
        self.page_by_page("/api/v1/events", "key", 2)
        self.assertEqual(self.names("/api/v1/events", "key", q="f",
                                    happened_from="2026-01-15T00:00:00Z"), ["2"])

        rest.request("PUT", "/api/v1/groups/etl", {"limit": 2})
        rest.request("PUT", "/api/v1/groups/dwh", {"limit": 1})
        rest.request("PUT", "/api/v1/limits/user/ann", {"limit": 2})
        rest.request("PUT", "/api/v1/limits/flow/a", {"limit": 2})
        self.assertEqual(self.page_by_page("/api/v1/groups", "name", 2), ["dwh", "etl"])
        self.assertEqual(self.page_by_page("/api/v1/limits", "name", 2), ["a", "ann"])
        self.assertEqual(self.names("/api/v1/limits", "name", kind="user"), ["ann"])

        eventually(lambda: len(self.names("/api/v1/runners", "runner_id", state="idle")) == 3, 15,
                   "three idle runners")
        self.page_by_page("/api/v1/runners", "runner_id", 3)
        rest.post("/api/v1/hosts/elsewhere/exclude", {})
        self.page_by_page("/api/v1/hosts", "worker_id", 2)
        self.assertEqual(self.names("/api/v1/hosts", "host", state="excluded"), ["elsewhere"])
        rows = len(self.names("/api/v1/audit", "id"))
        self.page_by_page("/api/v1/audit", "id", rows)

        code, said = run_baton("flow", "list", "--owner", "ann", "--total", "--no-header",
                               env={"BATON_MASTERS": rest.addresses[0],
                                    "BATON_TOKEN": self.system.token})
        self.assertEqual(code, 0, said)
        self.assertIn("2 in all", said)


if __name__ == "__main__":
    unittest.main()
