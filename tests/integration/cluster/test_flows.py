"""Flows on a real cluster whose active master is killed in the middle of the work."""

import collections
import http.client
import json
import os
import random
import threading
import time
import unittest
import uuid

import overlap_model
from baton_cluster import DrillCase, eventually, long_run
from flow_calls import FlowCalls
from flow_model import ALWAYS, expect, expect_rerun, random_plan

STATUS = ["WAITING", "RUNNING", "PAUSED", "TERMINATING", "FINISHED", "FAILED", "TERMINATED",
          "SKIPPED"]
FINISHED = STATUS.index("FINISHED")
TASK_STATUS = ["CREATED", "QUEUED", "DISPATCHED", "RUNNING", "CALLBACK", "FINISHED", "FAILED",
               "SKIPPED", "TERMINATING", "TERMINATED", "RETRYING"]
REASON = ["", "task_failed", "timeout", "stop_asked", "overlap_skip", "queue_full",
          "overlap_cancel", "bad_spec", "flow_deleted", "backfill_stopped",
          "skipped_by_hand"]
SECOND = 1_000_000
FOLLOWED = "soak-1"  # Another flow follows this one.
# Flows whose runs are in each other's way: {name: overlap}. The last one begins by events.
CROWDED = {"queue-1": {"policy": "queue", "max_queued": 2},
           "parallel-1": {"policy": "parallel", "max_runs": 2, "max_queued": 1},
           "skip-1": {"policy": "skip"}, "cancel-1": {"policy": "cancel_running"},
           "hits": {"policy": "queue", "max_queued": 3}}


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


class Meddler(threading.Thread):
    """Stops, pauses, resumes and reruns runs at random while masters die; remembers the answers."""

    Order = collections.namedtuple("Order", "run verb scope asked answered done unsure")

    FITTING = {"stop": ("running", "paused", "waiting"), "pause": ("running",),
               "resume": ("paused",), "rerun": ("finished", "failed", "terminated")}

    def __init__(self, case, seed, pause):
        super().__init__(daemon=True)
        self.orders, self.error = [], None
        self._case, self._dice, self._pause = case, random.Random(seed), pause
        self._ended = threading.Event()
        self.start()

    def run(self):
        try:
            while not self._ended.wait(self._dice.uniform(0.2, 1.8) * self._pause):
                verb = self._dice.choice(("stop", "pause", "pause", "resume", "rerun"))
                among = [r for r in self._case.runs_in(*self.FITTING[verb])
                         if r["flow"].startswith("soak-") and r["flow"] != FOLLOWED or
                         # What the model of places needs is gone from the row of a rerun.
                         r["flow"] in CROWDED and verb != "rerun" and self._dice.random() < 0.2]
                if among:
                    self.order(self._dice.choice(among)["id"], verb)
        except Exception as error:
            self.error = error

    def order(self, run, verb):
        """Asks until a master answers; `unsure`: one that died may have carried it out before."""
        rest, asked, unsure = self._case.c.rest, time.time(), False
        scope = self._dice.choice(("all", "failed")) if verb == "rerun" else None
        while time.time() < asked + 40:
            for address in rest.addresses:
                try:
                    answer = rest.once(address, "POST", f"/api/v1/runs/{run}/{verb}",
                                       {"scope": scope} if scope else None)
                except (OSError, http.client.HTTPException):
                    unsure = True
                    continue
                if answer.status in (200, 409):
                    self.orders.append(self.Order(run, verb, scope, asked, time.time(),
                                                  answer.status == 200, unsure))
                    return
                assert answer.status == 503, answer
                unsure = unsure or answer.code != "not_active"
            time.sleep(0.05)
        raise AssertionError(f"nobody answered {verb} {run}")

    def stop(self):
        self._ended.set()
        self.join()

    def effective(self, run):
        """What was or may have been done to a run, in the order of time."""
        return [o for o in self.orders if o.run == run and (o.done or o.unsure)]


class Outside(threading.Thread):
    """Sends events while masters die: `hit` begins runs, some sent again; `go` ends the wait of a
    run of `waiter`, sent before or behind its begin."""

    def __init__(self, case, seed, pause):
        super().__init__(daemon=True)
        self.hits, self.waiters, self.error = 0, {}, None
        self._case, self._dice, self._pause = case, random.Random(seed), pause
        self._ended, self._later = threading.Event(), []
        self.start()

    def run(self):
        try:
            while not self._ended.wait(self._dice.uniform(0.1, 1.1) * self._pause):
                self.hits += 1
                self.hit(self.hits)
                if self._dice.random() < 0.3:
                    self.hit(self._dice.randint(1, self.hits))
                halves = [(self.wait_for, self.hits), (self.go, self.hits)]
                self._dice.shuffle(halves)
                self.do(halves[0])
                self._later.append(halves[1])
                if self._dice.random() < 0.7:
                    self.do(self._later.pop(self._dice.randrange(len(self._later))))
            for half in self._later:
                self.do(half)
        except Exception as error:
            self.error = error

    def do(self, half):
        half[0](half[1])

    def send(self, name, key, number):
        self._case.c.rest.post("/api/v1/events", {"name": name, "key": key,
                                                  "data": {"n": str(number)}}, timeout=40)

    def hit(self, number):
        self.send("hit", f"h-{number}", number)

    def go(self, number):
        self.send("go", f"n-{number}", number)

    def wait_for(self, number):
        self.waiters[number] = self._case.c.rest.post(
            "/api/v1/flows/waiter/trigger", {"params": {"n": str(number)}}, uuid.uuid4().hex,
            timeout=40)["id"]

    def stop(self):
        self._ended.set()
        self.join()


class SoakTest(FlowCase):
    FLOWS = 60
    SPELLS = 15 if long_run() else 3  # Each ends with a kill -9 of the active.
    SPELL = 20.0
    SEED = int(os.environ.get("BATON_SOAK_SEED", "1"))

    def plans(self):
        """{flow: plan}, by the seed: what each task of each flow does."""
        dice = random.Random(self.SEED)
        plans = {"part": {"x": {}, "y": {"noop": True, "needs": {"x": "success"}}},
                 "bad-part": {"x": {"fails": ALWAYS}, "y": {"needs": {"x": "done"}}}}
        for i in range(self.FLOWS):
            plans[f"soak-{i}"] = random_plan(dice, ["part", "bad-part"])
        plans[FOLLOWED] = {"a": {}}
        return plans

    def definition(self, name, plan):
        tasks = {}
        for task, spec in plan.items():
            fields = {"needs": spec.get("needs", {}),
                      "on_failure": "ignore" if spec.get("ignore") else "fail"}
            if spec.get("disabled"):
                fields["disabled"] = True
            if spec.get("part"):
                tasks[task] = {"flow": spec["part"], **fields}
            elif spec.get("noop"):
                tasks[task] = {"noop": True, **fields}
            else:
                failing = f"[ $BATON_ATTEMPT -gt {spec.get('fails', 0)} ]; code=$?\nsleep 0.1"
                tasks[task] = {"script": self.led.script(failing, "$code"),
                               "interpreter": ["/bin/sh"], **fields,
                               "retry": {"max": spec.get("retries", 0), "delay": "300ms"}}
        definition = {"flow": name, "tasks": tasks,
                      "overlap": {"policy": "parallel", "max_runs": 50, "max_queued": 1000}}
        if name.startswith("soak-"):
            # The schedules are slower than the machine, so that nothing waits for long.
            i = int(name.split("-")[1])
            definition["schedule"] = {
                "every": f"{self.every(name)}s", "misfire": {"policy": "all", "max": 1000, "within": "1h"}
                if i % 2 else {"policy": "latest"}}
        return definition

    def every(self, name):
        """Seconds between two instants of a flow."""
        if name in CROWDED:
            return 1
        return 12 + int(name.split("-")[1]) % 5

    def begin_crowded(self):
        """Flows whose runs last about as long as the time between two of them; returns a backfill."""
        for name, overlap in CROWDED.items():
            places = overlap.get("max_runs", 1)
            lasts = f"sleep $((BATON_RUN_ID % {2 * places})).$((BATON_RUN_ID % 7))"
            flow = {"flow": name, "overlap": overlap, "tasks": {"a": self.node(lasts)}}
            if name == "hits":
                flow.update(trigger={"event": "hit"}, params={"n": None})
            else:
                flow["schedule"] = {"every": "1s", "misfire": {"policy": "all", "max": 1000}}
            self.apply(flow, online=True)
        self.apply({"flow": "waiter", "params": {"n": None},
                    "overlap": {"policy": "parallel", "max_runs": 1000}, "tasks": {
                        "e": {"event": {"name": "go", "key": "n-${n}"}},
                        "t": {"noop": True, "needs": ["e"], "when": "${e.n} == ${n}"}}})
        self.c.post("/api/v1/flows/queue-1/backfill", {
            "plan_times": [f"2026-01-0{day}T00:00:00Z" for day in range(1, 5)], "parallel": 2,
            "keep_going": True}, key=uuid.uuid4().hex)

    def runs_in(self, *statuses):
        return self.c.get(f"/api/v1/runs?status={','.join(statuses)}&limit=1000")["items"]

    def test_every_instant_of_every_schedule_is_run_or_missed_once(self):
        # Aim: whoever is killed when and whatever is stopped or paused, (flow, instant) is exactly the
        # grid, each once, and each run ends as a model of its plan says.
        plans = self.plans()
        names = [name for name in plans if name.startswith("soak-")]
        for name, plan in plans.items():
            self.apply(self.definition(name, plan), online=name in names)
        self.apply({"flow": "follower", "trigger": {"event": {"flow": FOLLOWED}},
                    "overlap": {"policy": "parallel", "max_runs": 50, "max_queued": 1000},
                    "tasks": {"t": {"noop": True}}}, online=True)
        blocked = self.begin_blocked()
        self.begin_crowded()
        meddler, outside = Meddler(self, self.SEED, 0.5), Outside(self, self.SEED, 1)
        for _ in range(self.SPELLS):
            time.sleep(self.SPELL)  # The work itself: nothing to wait for.
            self.kill_active()
        time.sleep(self.SPELL / 2)
        meddler.stop()
        outside.stop()
        self.assertEqual((meddler.error, outside.error), (None, None))
        self.offline = {}  # When each flow was asked to go offline, and had.
        for name in [*names, *CROWDED]:
            asked = time.time()
            self.set_online(name, False)
            self.offline[name] = (asked, time.time())
        for run in self.runs_in("paused"):
            if run["flow"] in CROWDED:
                meddler.order(run["id"], "resume")
        self.check_waiting(blocked)
        for run in blocked:
            self.order(run, "stop")
        for run in self.runs_in("paused"):
            meddler.order(run["id"], "resume")
        eventually(lambda: self.c.number("SELECT COUNT(*) FROM run WHERE phase = 0") == 0, 60,
                   "the end of all runs")
        fired = sum(self.check_grid(name) for name in names)
        told = self.check_runs(plans, meddler)
        self.check_orders(meddler)
        crowded = {name: self.check_places(name) for name in CROWDED}
        self.check_outside(outside)
        followed = self.c.number("SELECT COUNT(*) FROM run WHERE flow_key = 'follower'")
        led = self.c.number(f"SELECT COUNT(*) FROM run WHERE flow_key = '{FOLLOWED}' AND "
                            f"status = {FINISHED}")
        self.assertGreater(led, 2)
        self.assertEqual(followed, led)
        verify = self.c.post("/api/v1/cluster/verify", timeout=60, once_timeout=30)
        self.assertEqual((verify["differences"], verify["differences_total"]), ([], 0))
        verbs = collections.Counter(o.verb for o in meddler.orders if o.done)
        self.say(f"seed {self.SEED}: {fired} instants of {len(names)} schedules, {self.SPELLS} "
                 f"kills, {dict(verbs)}, {told} runs ended as the model says; runs in each other's "
                 f"way: {crowded}; {outside.hits} events, {len(outside.waiters)} waits")

    # Waiting --------------------------------------------------------------------------------

    WAITS = {"held": "hold", "behind": "dependency", "nobody": "no_runner_matches",
             "event": "event"}

    def begin_blocked(self):
        """Two runs of a flow in which everything waits for what will not come."""
        self.apply({"flow": "blocked", "overlap": "queue", "tasks": {
            "held": self.node(hold=True), "behind": self.node(needs=["held"]),
            "nobody": self.node(labels={"nowhere": "x"}),
            "event": {"event": {"name": "never", "key": "x"}}}})
        return [self.trigger("blocked"), self.trigger("blocked")]

    def unexplained(self):
        """(run, task or nothing) of all that waits and does not say why."""
        found = set()
        for run in self.runs_in("waiting", "running", "paused", "terminating"):
            said = self.c.get(f"/api/v1/runs/{run['id']}/explain")
            reasons = " ".join(said["reasons"])
            if said["status"] in ("WAITING", "PAUSED") and "waits: " not in reasons:
                found.add((run["id"], ""))
            for name, task in self.tasks_of(run["id"]).items():
                if task["status"] not in ("CREATED", "QUEUED", "RETRYING"):
                    continue
                why = task["waiting_for"] or {"code": "", "text": ""}
                own = " ".join(self.c.get(f"/api/v1/tasks/{task['id']}/explain")["reasons"])
                if not why["code"] or not why["text"] or why["text"] not in own:
                    found.add((run["id"], name))
        return found

    def check_waiting(self, blocked):
        """What still waits says for what; what has no reason to wait has ended."""
        def settled():
            held = set(blocked) | {r["id"] for r in self.runs_in("paused")}
            return not [r for r in self.runs_in("waiting", "running", "terminating")
                        if r["id"] not in held and r["parent_run"] not in held]
        eventually(settled, 60, "the end of all that nobody holds", pause=0.3)
        first = self.unexplained()
        self.assertEqual(first and first & self.unexplained(), set())
        tasks = self.tasks_of(blocked[0])
        self.assertEqual({n: t["waiting_for"]["code"] for n, t in tasks.items()}, self.WAITS)
        self.assertEqual(self.run_of(blocked[1])["status"], "WAITING")
        self.assertIn(blocked[0], self.run_of(blocked[1])["waiting_text"])

    # What it came to ------------------------------------------------------------------------

    def check_grid(self, name):
        """The instants of the schedule, from going online to going offline: each run, or missed."""
        since = int(self.c.sql(f"SELECT online_since FROM flow WHERE flow_key = '{name}'")[0][0])
        runs = [int(r[0]) for r in self.c.sql(
            f"SELECT plan_time FROM run WHERE flow_key = '{name}' AND trigger_kind = 0")]
        missed = {int(r[0]): r[1] for r in self.c.sql(
            f"SELECT plan_time, reason FROM missed WHERE flow_key = '{name}'")}
        step = self.every(name) * SECOND
        # A grid counts from going online, in whole seconds.
        first = since // SECOND * SECOND + step
        asked, answered = self.offline[name]
        last = max(runs + list(missed))
        self.assertGreater(last, asked * SECOND - step, f"{name} fell silent")
        self.assertLessEqual(last, answered * SECOND)
        self.assertEqual(sorted([*runs, *missed]), list(range(first, last + 1, step)),
                         f"{name}: run or missed, and the grid")
        # What was due in the moment of going offline.
        at_the_end = [at for at, why in missed.items() if why == "offline"]
        self.assertLessEqual(len(at_the_end), 1 + (answered - asked) / self.every(name))
        in_gaps = [why for why in missed.values() if why != "offline"]
        if name in CROWDED or int(name.split("-")[1]) % 2:
            self.assertEqual(in_gaps, [], f"{name} runs all that it missed")
        else:
            # A failover is shorter than two steps and their newest instant is begun.
            self.assertEqual(set(in_gaps) - {"not_the_latest"}, set(), name)
            self.assertLessEqual(len(in_gaps), 2 * self.SPELLS, name)
        return len(runs) + len(missed)

    def check_runs(self, plans, meddler):
        """Every run against the model; returns how many it could tell."""
        rows = self.c.sql("SELECT run_id, flow_key, status, parent_run FROM run "
                          "WHERE flow_key IN ('part', 'bad-part') OR flow_key LIKE 'soak-%'")
        tasks = collections.defaultdict(dict)
        for run, name, status, attempt in self.c.sql(
                "SELECT r.run_id, t.name, t.status, t.attempt FROM run_task r JOIN task t "
                "ON t.task_id = r.task_id"):
            tasks[run][name] = (TASK_STATUS[int(status)], int(attempt))
        told = {}
        for run, flow, status, parent in sorted(rows, key=lambda row: int(row[0])):
            model, stopped = self.told(plans, flow, meddler.effective(run))
            above = [o for o in meddler.effective(parent) if o.verb == "rerun"]
            if parent != "0" and (above or not told[parent]):
                model = None  # What was done to the whole was done to its parts.
            told[run] = model is not None
            status, plan = STATUS[int(status)], plans[flow]
            if stopped:
                self.assertEqual(status, "TERMINATED", (run, flow, meddler.effective(run)))
            if model:
                ended = (status, {n: s for n, (s, _) in tasks[run].items()},
                         {n: a for n, (_, a) in tasks[run].items()
                          if not plan[n].get("noop") and not plan[n].get("part")})
                self.assertEqual(ended, model.shown(plan),
                                 f"run {run} of {flow}: {plan}; {meddler.effective(run)}")
            for name, (at, attempts) in tasks[run].items():
                reruns = len(above) + sum(o.verb == "rerun" for o in meddler.effective(run))
                self.assertIn(at, ("FINISHED", "FAILED", "TERMINATED", "SKIPPED"))
                self.assertLessEqual(attempts, (1 + plan[name].get("retries", 0)) * (1 + 2 * reruns))
        self.assertEqual(self.led.overlaps(), [])
        self.assertEqual(self.led.repeated(), [])
        return sum(told.values())

    def check_places(self, name):
        """Each run of a crowded flow began, waited, was refused or cancelled as its neighbours and
        the policy demand; returns how many ended how."""
        if name != "hits":
            self.check_grid(name)
        runs = [overlap_model.Run(
            row[0], overlap_model.BACKFILL if row[1] != "0" else
            overlap_model.MISSED if row[2] != "0" else overlap_model.CURRENT,
            *[int(cell) for cell in row[3:7]], STATUS[int(row[7])], REASON[int(row[8])], row[1])
            for row in self.c.sql(
                "SELECT run_id, backfill, compensates, plan_time, created_at, started_at, "
                f"finished_at, status, reason FROM run WHERE flow_key = '{name}'")]
        spec = CROWDED[name]
        found = overlap_model.faults(
            runs, 20 * SECOND, policy=spec["policy"], places=spec.get("max_runs", 1),
            max_queued=spec.get("max_queued", 100), parallel=2)
        self.assertEqual(found, [], "\n".join(found))
        for run in runs:
            self.assertIn((run.status, run.reason), (
                ("FINISHED", ""), ("TERMINATED", "stop_asked"), ("TERMINATED", "overlap_cancel"),
                ("SKIPPED", "overlap_skip"), ("SKIPPED", "queue_full"),
                ("SKIPPED", "overlap_cancel")), run)
        kinds = collections.Counter(run.kind for run in runs)
        if name == "queue-1":
            self.assertEqual(kinds[overlap_model.BACKFILL], 4)
        ends = collections.Counter(run.reason or run.status for run in runs)
        return {**ends, "missed": kinds[overlap_model.MISSED]}

    def check_outside(self, outside):
        """Each event was stored once and began one run with its data; each wait ended by its own."""
        began = [json.loads(row[0])["n"] for row in self.c.sql(
            "SELECT params FROM run WHERE flow_key = 'hits'")]
        self.assertEqual(sorted(map(int, began)), list(range(1, outside.hits + 1)))
        waiters = dict(self.c.sql("SELECT run_id, status FROM run WHERE flow_key = 'waiter'"))
        self.assertEqual(waiters, {run: str(FINISHED) for run in outside.waiters.values()})
        self.assertEqual({n: t["status"] for n, t in self.tasks_of(outside.waiters[1]).items()},
                         {"e": "FINISHED", "t": "FINISHED"})
        untold = self.c.number("SELECT COUNT(*) FROM run r JOIN run_task k ON k.run_id = r.run_id "
                               "JOIN task t ON t.task_id = k.task_id WHERE r.flow_key = 'waiter' "
                               f"AND t.status <> {TASK_STATUS.index('FINISHED')}")
        self.assertEqual(untold, 0, "an event's data is what the wait gives on")
        self.assertEqual(self.c.number("SELECT COUNT(*) FROM event WHERE name IN ('hit', 'go')"),
                         2 * outside.hits)

    def told(self, plans, flow, orders):
        """(what the model says or None if it can't, whether the last thing done was a stop)."""
        model, stopped = expect(plans, flow), False
        for order in orders:
            if order.verb == "stop":
                model, stopped = None, order.done
            elif order.verb == "rerun":
                stopped = False
                model = (expect_rerun(plans, flow, model, order.scope)
                         if model and not order.unsure else None)
        return model, stopped

    def check_orders(self, meddler):
        """Behind the answer to a stop nothing of a run was given to a runner, in a pause neither."""
        ordered = collections.defaultdict(list)
        for run, at in self.c.sql("SELECT r.run_id, a.dispatched_at FROM attempt a "
                                  "JOIN run_task r ON r.task_id = a.task_id"):
            ordered[run].append(int(at) / SECOND)
        ends = {"stop": ("rerun",), "pause": ("resume", "rerun")}
        for order in meddler.orders:
            if not order.done or order.verb not in ends:
                continue
            until = min((o.asked for o in meddler.effective(order.run)
                         if o.verb in ends[order.verb] and o.asked > order.asked),
                        default=float("inf"))
            late = [at for at in ordered[order.run] if order.answered < at < until]
            self.assertEqual(late, [], order)


if __name__ == "__main__":
    unittest.main()
