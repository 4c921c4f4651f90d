"""Flow control end to end: groups with weights, windows, limits that change, a degraded cluster."""

import datetime
import time
import unittest

from case_support import (DrillCase, SharedCase, Standalone, eventually, long_run, run_baton, sh)
from flow_calls import FlowCalls


def put(system, path, **row):
    return system.rest.request("PUT", path, row).json


def in_use_over_time(starts, weights):
    """The most units of weight that ever ran at a time, by the ledger's own times."""
    events = []
    for start in (s for s in starts if s.task in weights):
        events += [(start.start, weights[start.task]), (start.end, -weights[start.task])]
    most = now = 0
    for _, change in sorted(events):  # Ends before starts of the same instant.
        now += change
        most = max(most, now)
    return most


def hours(begin, end):
    """The window from so many hours from now to so many."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return "-".join(f"{now + datetime.timedelta(hours=h):%H:%M}" for h in (begin, end))


class Takeover(FlowCalls, DrillCase):
    def test_flow_control_holds_over_a_kill_of_the_active_master(self):
        # Aim: limits of group and flow count attempts in doubt too and run full, hours and a
        # degraded cluster go on holding back; nothing runs twice, nothing is left behind.
        cluster = self.system = self.cluster(masters=2, workers=2, runners=4)
        ledger = cluster.ledger()
        put(cluster, "/api/v1/groups/warehouse", limit=4)
        put(cluster, "/api/v1/limits/flow/LOADS", limit=1)
        cluster.post("/api/v1/cluster/degrade", {"min_priority": "normal"})
        step = {"script": ledger.script("sleep 0.4"), "interpreter": ["/bin/sh"]}
        self.apply({"flow": "loads", "overlap": {"policy": "parallel", "max_runs": 9},
                    "tasks": {"load": {**step, "group": "warehouse", "weight": 2},
                              "beside": step}})
        self.apply({"flow": "night", "window": hours(2, 3), "tasks": {"a": step}})
        night = self.trigger("night")
        loads = [self.trigger("loads") for _ in range(3)]
        tasks = [ledger.task("sleep 0.4", group="warehouse", weight=1 + n % 3) for n in range(16)]
        weights = dict(zip(cluster.submit_bulk(tasks), (t["weight"] for t in tasks)))
        low = cluster.submit({"command": ["true"], "priority": "low"})
        other = cluster.submit({"command": ["true"]})
        self.assertEqual(cluster.wait_task(other)["status"], "FINISHED")
        eventually(lambda: len(ledger.starts()) >= 3, 10, "some of it run")
        old = cluster.active()
        cluster.kill(old)
        cluster.wait_active(10, besides=old)
        group = cluster.get("/api/v1/groups/warehouse")
        self.assertEqual(group["limit"], 4)
        self.assertLessEqual(group["weight_in_use"], 4)
        done = cluster.wait_tasks(list(weights), 90)
        self.assertEqual({t["status"] for t in done.values()}, {"FINISHED"})
        for run in loads:
            self.wait_run(run, "FINISHED")
            weights[self.tasks_of(run)["load"]["id"]] = 2
        of_flow = {self.tasks_of(run)[name]["id"]: 1 for run in loads
                   for name in ("load", "beside")}
        starts = ledger.starts()
        self.assertEqual(sorted(s.task for s in starts), sorted({*weights, *of_flow}))
        most = in_use_over_time(starts, weights)
        self.assertLessEqual(most, 4)
        self.assertGreaterEqual(most, 3)
        self.assertEqual(in_use_over_time(starts, of_flow), 1)
        self.assertEqual(cluster.task(low)["waiting_for"]["code"], "degraded")
        waiting = self.tasks_of(night)["a"]["waiting_for"]
        self.assertEqual(waiting["code"], "window")
        self.assertIn("its flow starts tasks at ", waiting["text"])
        reasons = cluster.get(f"/api/v1/runs/{night}/explain")["reasons"]
        self.assertIn("its flow starts tasks at ", " ".join(reasons))
        cluster.post("/api/v1/cluster/degrade", {"min_priority": None})
        self.assertEqual(cluster.wait_task(low)["status"], "FINISHED")


class Limits(FlowCalls, SharedCase):
    @classmethod
    def make(cls):
        return Standalone(runners=4)

    def test_limits_change_while_tasks_wait(self):
        # Aim: 0 stops new starts, a raise lets on at once, the reasons are told.
        system = self.system
        put(system, "/api/v1/groups/g", limit=0)
        tasks = system.submit_bulk([sh("sleep 60", group="g", weight=2) for _ in range(2)])
        first, second = tasks
        waiting = system.task(first)
        self.assertEqual(waiting["waiting_for"]["code"], "group_limit")
        self.assertIn("can never run", waiting["waiting_for"]["text"])
        self.assertEqual((waiting["group"], waiting["weight"]), ("g", 2))
        put(system, "/api/v1/groups/g", limit=3)
        system.wait_status(first, "RUNNING")
        self.assertEqual(system.task(second)["waiting_for"]["text"],
                         "group g: 2 of 3 units are in use, this task needs 2")
        self.assertEqual(system.stats()["groups"], {"g": {"running": 1, "queued": 1}})
        self.assertEqual({t["id"] for t in system.get("/api/v1/tasks?group=g")["items"]},
                         set(tasks))
        self.assertEqual(system.get("/api/v1/tasks?group=G")["items"], [])
        system.rest.request("DELETE", "/api/v1/groups/g")
        system.wait_status(second, "RUNNING")
        for task in tasks:
            system.rest.act(task, "stop")

    def test_bug_147_a_weight_that_can_never_run_is_refused(self):
        # Aim: 400 names the field when the limit is known; else the task says it.
        system = self.system
        heavy = system.submit({"command": ["true"], "group": "later", "weight": 4, "hold": True})
        put(system, "/api/v1/groups/later", limit=2)
        answer = system.rest.once(system.rest.addresses[0], "POST", "/api/v1/tasks",
                                  {"command": ["true"], "group": "later", "weight": 4})
        self.assertEqual((answer.status, answer.json["field"]), (400, "weight"), answer)
        system.rest.act(heavy, "release")
        self.assertEqual(system.task(heavy)["waiting_for"]["text"],
                         "can never run: its weight is 4 and group later has a limit of 2")
        put(system, "/api/v1/groups/later", limit=4)
        self.assertEqual(system.wait_task(heavy)["status"], "FINISHED")

    def test_a_flow_is_told_what_can_never_run_and_waits_for_its_hours(self):
        # Aim: warnings when it is applied, words in explain (BUG-147), hours of flow and task.
        system = self.system
        put(system, "/api/v1/groups/narrow", limit=2)
        put(system, "/api/v1/groups/shut", limit=0)
        work = {"command": ["true"]}
        applied = self.apply({"flow": "wide", "tasks": {
            "heavy": {**work, "group": "narrow", "weight": 4},
            "shut": {**work, "group": "shut"},
            "new": {**work, "group": "nobody-set-it"},
            "well": {**work, "group": "narrow", "weight": 2}}})
        self.assertEqual(sorted(w["key"] for w in applied["warnings"]),
                         ["tasks.heavy.weight", "tasks.new.group", "tasks.shut.group"])
        run = self.trigger("wide")
        for name in ("new", "well"):
            self.wait_node(run, name, "FINISHED")
        reasons = "\n".join(system.get(f"/api/v1/runs/{run}/explain")["reasons"])
        self.assertIn("can never run: its weight is 4 and group narrow has a limit of 2", reasons)
        self.assertIn("can never run: group shut has a limit of 0: nothing of it runs", reasons)
        put(system, "/api/v1/groups/narrow", limit=4)
        put(system, "/api/v1/groups/shut", limit=1)
        self.wait_run(run, "FINISHED", timeout=10)
        self.apply({"flow": "hours", "window": hours(-1, 2), "tasks": {
            "now": work, "later": {**work, "window": hours(1, 3)}}})
        run = self.trigger("hours")
        self.wait_node(run, "now", "FINISHED")
        later = self.tasks_of(run)["later"]
        self.assertEqual((later["status"], later["waiting_for"]["code"]), ("QUEUED", "window"))
        self.assertRegex(later["waiting_for"]["text"], r"^it starts at ..:..-..:.. \(UTC\), next")
        self.order(run, "stop")

    def test_a_window_opens(self):
        # Aim: nothing starts outside of it; changed, it counts at once. Long: it opens by itself,
        # and all starts at the minute.
        system = self.system
        put(system, "/api/v1/groups/night", window=hours(2, 3), time_zone="UTC")
        task = system.submit({"command": ["true"], "group": "night"})
        self.assertEqual(system.task(task)["waiting_for"]["code"], "window")
        self.assertFalse(system.get("/api/v1/groups/night")["open"])
        if not long_run():
            put(system, "/api/v1/groups/night", window=hours(-1, 3), time_zone="UTC")
            self.assertEqual(system.wait_task(task)["status"], "FINISHED")
            return
        now = datetime.datetime.now(datetime.timezone.utc)
        if now.second > 45:
            time.sleep(61 - now.second)
            now = datetime.datetime.now(datetime.timezone.utc)
        opens = (now + datetime.timedelta(minutes=1)).replace(second=0, microsecond=0)
        closes = opens + datetime.timedelta(hours=2)
        put(system, "/api/v1/groups/night", window=f"{opens:%H:%M}-{closes:%H:%M}",
            time_zone="UTC")
        done = system.wait_task(task, 75)
        started = datetime.datetime.fromisoformat(done["started_at"].replace("Z", "+00:00"))
        late = (started - opens).total_seconds()
        self.assertGreaterEqual(late, 0)
        self.assertLess(late, 3)

    def test_the_command_line_sets_and_shows_limits(self):
        # Aim: every verb; what is not named stays; degrade and its end.
        system = self.system

        env = {"BATON_MASTERS": system.rest.addresses[0], "BATON_TOKEN": system.token}

        def say(*words, code=0):
            got, text = run_baton(*words, env=env)
            self.assertEqual(got, code, text)
            return text
        say("group", "set", "g", "--limit", "4", "--description", "the warehouse")
        say("group", "set", "g", "--min-priority", "high")
        row = system.get("/api/v1/groups/g")
        self.assertEqual((row["limit"], row["min_priority"], row["description"]),
                         (4, "high", "the warehouse"))
        self.assertIn("the warehouse", say("group", "list"))
        task = say("task", "submit", "--group", "g", "--weight", "2", "--", "true").strip()
        self.assertEqual(system.task(task)["waiting_for"]["code"], "degraded")
        say("cluster", "degrade", "--off", "--group", "g")
        self.assertEqual(system.wait_task(task)["status"], "FINISHED")
        say("cluster", "degrade", "--min-priority", "high")
        self.assertIn("only tasks of priority high", say("cluster", "status"))
        self.assertEqual(system.get("/api/v1/cluster")["min_priority"], "high")
        task = say("task", "submit", "--", "true").strip()
        self.assertEqual(system.task(task)["waiting_for"]["code"], "degraded")
        urgent = say("task", "submit", "--priority", "high", "--", "true").strip()
        self.assertEqual(system.wait_task(urgent)["status"], "FINISHED")
        self.assertEqual(system.task(task)["status"], "QUEUED")
        say("cluster", "degrade", "--off")
        self.assertIsNone(system.get("/api/v1/cluster")["min_priority"])
        self.assertEqual(system.wait_task(task)["status"], "FINISHED")
        say("cluster", "limit", "1")
        self.assertEqual(system.get("/api/v1/cluster/limits")["running_max"], 1)
        say("cluster", "limit", "default")
        self.assertIn("running_max", say("cluster", "limit"))
        host = system.get("/api/v1/hosts")["items"][0]["host"]
        say("limit", "set", "host", host, "0")
        task = say("task", "submit", "--", "true").strip()
        eventually(lambda: (system.task(task)["waiting_for"] or {}).get("code") == "host_limit",
                   5, "the host holds it back")
        self.assertIn(host, say("limit", "list"))
        self.assertIn(f"limit of host {host} deleted", say("limit", "delete", "host", host))
        self.assertEqual(system.wait_task(task)["status"], "FINISHED")
        say("limit", "set", "user", "client", "0")
        task = say("task", "submit", "--", "true").strip()
        self.assertEqual(system.task(task)["waiting_for"]["code"], "user_limit")
        say("limit", "delete", "user", "client")
        self.assertEqual(system.wait_task(task)["status"], "FINISHED")
        say("limit", "delete", "user", "client", code=3)
        say("group", "set", "g", "--limit", "many", code=2)
        say("group", "set", "a b", "--limit", "1", code=2)
        say("cluster", "degrade", code=2)
        say("cluster", "degrade", "--min-priority", "urgent", code=2)
        say("limit", "set", "zone", "x", "1", code=2)
        file = self.written("wide.yaml", {"flow": "f", "tasks": {"t": {
            "command": ["x"], "group": "g", "weight": 5}}})
        self.assertIn("group g has a limit of 4: it can never run while that holds",
                      say("flow", "apply", "--dry-run", file))
        say("group", "delete", "g")
        say("group", "get", "g", code=3)


if __name__ == "__main__":
    unittest.main()
