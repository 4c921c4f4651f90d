"""Flows on a real cluster whose active master is killed in the middle of the work."""

import time
import unittest

from baton_cluster import DrillCase, eventually, long_run
from flow_calls import FlowCalls

STATUS = ["WAITING", "RUNNING", "PAUSED", "TERMINATING", "FINISHED", "FAILED", "TERMINATED",
          "SKIPPED"]
FINISHED = STATUS.index("FINISHED")
SECOND = 1_000_000


class FlowCase(FlowCalls, DrillCase):
    def setUp(self):
        self.c = self.system = self.cluster(masters=2, workers=2, runners=4, heartbeat="1s")
        self.led = self.c.ledger()

    def node(self, body="", **fields):
        """A task of a flow that notes its start and end in the ledger."""
        return {"script": self.led.script(body), "interpreter": ["/bin/sh"], **fields}

    def kill_active(self):
        old = self.c.wait_active()
        self.c.kill(old)
        self.c.wait_active(15, besides=old)
        self.c.start_master(old)
        self.c.wait_standby(15)


class FlowTest(FlowCase):
    def test_a_run_goes_on_through_takeovers_and_each_task_runs_once(self):
        # Aim: diamond with a sub-flow; the active is killed with the first and the middle running.
        self.apply({"flow": "inner", "tasks": {"i": self.node("sleep 1"), "j": {
            "noop": True, "needs": ["i"]}}})
        self.apply({"flow": "outer", "tasks": {
            "a": self.node("sleep 2\necho n=3 >>$BATON_OUTPUT", outputs=["n"]),
            "b": self.node("sleep 3", needs=["a"], when="${a.n} == 3"),
            "c": {"flow": "inner", "needs": ["a"]},
            "d": self.node(needs=["b", "c"])}})
        run = self.trigger("outer")
        eventually(lambda: self.led.running(), 10, "the first task")
        self.kill_active()
        eventually(lambda: self.tasks_of(run)["b"]["status"] == "RUNNING", 20, "the middle")
        self.kill_active()
        self.assertEqual(self.wait_run(run, "FINISHED", "FAILED")["status"], "FINISHED")
        tasks = self.tasks_of(run)
        self.assertEqual({name: t["status"] for name, t in tasks.items()},
                         dict.fromkeys("abcd", "FINISHED"))
        self.assertEqual({t["attempt"] for t in tasks.values()}, {1})
        self.assertEqual(len(self.led.starts()), 4)
        self.assertEqual(self.led.overlaps(), [])

    def test_orders_given_just_before_the_death_are_carried_out(self):
        # Aim: stop and pause are rows; the next master does what they say.
        self.apply({"flow": "two", "tasks": {"a": self.node("sleep 4"),
                                             "b": self.node(needs=["a"])},
                    "overlap": {"policy": "parallel", "max_runs": 4}})
        stopped, paused = self.trigger("two"), self.trigger("two")
        eventually(lambda: len(self.led.running()) == 2, 10, "both running")
        self.c.post(f"/api/v1/runs/{paused}/pause")
        self.c.post(f"/api/v1/runs/{stopped}/stop")
        self.kill_active()
        self.assertEqual(self.wait_run(stopped, "TERMINATED")["reason"], "stop_asked")
        eventually(lambda: self.tasks_of(paused)["a"]["status"] == "FINISHED", 15, "what ran")
        waiting = self.tasks_of(paused)["b"]
        self.assertEqual((waiting["status"], waiting["waiting_for"]["code"]),
                         ("CREATED", "run_paused"))
        self.c.post(f"/api/v1/runs/{paused}/resume")
        self.wait_run(paused, "FINISHED")
        self.assertEqual(len(self.led.starts()), 3)


class SoakTest(FlowCase):
    FLOWS = 60 if long_run() else 16
    SPELLS = 15 if long_run() else 3  # Each ends with a kill -9 of the active.
    SPELL = 20.0 if long_run() else 7.0

    def definitions(self):
        self.apply({"flow": "part", "tasks": {"x": self.node(), "y": {"noop": True, "needs": ["x"]}}})
        for i in range(self.FLOWS):
            tasks = {"a": self.node("sleep 0.1"), "b": self.node(needs=["a"]),
                     "c": self.node(needs=["a"]), "d": {"noop": True, "needs": ["b", "c"]}}
            if i % 4 == 0:
                tasks["s"] = {"flow": "part", "needs": ["a"]}
            # The schedules are slower than the machine, so that nothing waits for long.
            yield {"flow": f"soak-{i}", "tasks": tasks,
                   "schedule": {"every": f"{4 + i % 3 if self.FLOWS < 20 else 12 + i % 5}s",
                                "misfire": {"policy": "all", "max": 1000, "within": "1h"}
                                if i % 2 else {"policy": "latest"}},
                   "overlap": {"policy": "parallel", "max_runs": 50, "max_queued": 1000}}

    def test_every_instant_of_every_schedule_is_run_or_missed_once(self):
        # Aim: whoever is killed when, (flow, instant) is exactly the grid, each once.
        names = []
        for definition in self.definitions():
            self.apply(definition, online=True)
            names.append(definition["flow"])
        self.apply({"flow": "follower", "trigger": {"event": {"flow": "soak-1"}},
                    "overlap": {"policy": "parallel", "max_runs": 50, "max_queued": 1000},
                    "tasks": {"t": {"noop": True}}}, online=True)
        for _ in range(self.SPELLS):
            time.sleep(self.SPELL)  # The work itself: nothing to wait for.
            self.kill_active()
        time.sleep(self.SPELL / 2)
        for name in names:
            self.c.post(f"/api/v1/flows/{name}/offline")
        eventually(lambda: self.c.number("SELECT COUNT(*) FROM run WHERE phase = 0") == 0, 60,
                   "the end of all runs")
        fired = 0
        for name in names:
            fired += self.check_grid(name)
        self.check_runs()
        followed = self.c.number("SELECT COUNT(*) FROM run WHERE flow_key = 'follower'")
        led = self.c.number("SELECT COUNT(*) FROM run WHERE flow_key = 'soak-1'")
        self.assertEqual(followed, led)
        verify = self.c.post("/api/v1/cluster/verify", timeout=60, once_timeout=30)
        self.assertEqual((verify["differences"], verify["differences_total"]), ([], 0))
        self.say(f"{fired} instants of {len(names)} schedules, {self.SPELLS} kills")

    def check_grid(self, name):
        """The instants from going online to the last one dealt with: each run, or missed."""
        row = self.c.sql("SELECT online_since, last_instant FROM flow WHERE flow_key = "
                         f"'{name}'")[0]
        since, last = int(row[0]), int(row[1])
        runs = [int(r[0]) for r in self.c.sql(
            f"SELECT plan_time FROM run WHERE flow_key = '{name}' AND trigger_kind = 0")]
        missed = [int(r[0]) for r in self.c.sql(
            f"SELECT plan_time FROM missed WHERE flow_key = '{name}'")]
        definition = self.c.get(f"/api/v1/flows/{name}")
        self.assertGreater(len(runs), 2, definition)
        times = sorted(runs + missed)
        step = times[1] - times[0]
        grid = list(range(times[0], last + 1, step))
        self.assertEqual(times, grid, f"{name}: run or missed, and the grid")
        self.assertLessEqual(times[0] - since, step)
        if int(name.split("-")[1]) % 2:
            self.assertEqual(missed, [], f"{name} runs all that it missed")
        return len(times)

    def check_runs(self):
        states = self.c.sql("SELECT status, COUNT(*) FROM run GROUP BY status")
        self.assertEqual([int(s[0]) for s in states], [FINISHED], states)
        wrong = self.c.sql("SELECT t.task_id, t.name, t.status, t.attempt FROM task t "
                           "WHERE t.status <> 5 OR (t.kind = 'script' AND t.attempt <> 1)")
        self.assertEqual(wrong, [], "each task ended well at its first attempt")
        scripts = self.c.number("SELECT COUNT(*) FROM task WHERE kind = 'script'")
        self.assertEqual(len(self.led.starts()), scripts)
        self.assertEqual(self.led.overlaps(), [])


if __name__ == "__main__":
    unittest.main()
