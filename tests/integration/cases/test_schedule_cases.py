"""Faults of schedules, with real masters that are killed and whose clock is faked, and a database in
another zone (BUG-080, 084, 090, 100 to 107 and 141).

The waits are scaled: slots of seconds in place of minutes; BATON_LONG=1 has those of the rows. Where
a row waits for hours, the clock of the masters is set instead."""

import datetime
import os
import re
import time
import unittest
import uuid

from baton_process import end_processes_of
from case_support import Cluster, SharedCase, eventually, is_alive, long_run, sh
from flow_calls import FlowCalls, moment, stamp_of

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
H_S = 10.0 if long_run() else 1.0
MINUTE = 60
HOUR = 3600


class Clocks(Cluster):
    """Masters with another zone each, whose wall clock the test sets; the database has a third."""

    ZONES = {"master1": "America/New_York", "master2": "Asia/Kathmandu"}

    def __init__(self, **options):
        self.offset = 0
        super().__init__(db_args="--default-time-zone=+09:00", **options)

    def start_master(self, node, env=None, settings=None):
        self.shift(self.offset)
        super().start_master(node, {
            "TZ": self.ZONES[node], "LD_PRELOAD": FAKETIME, "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_NO_CACHE": "1", "FAKETIME_TIMESTAMP_FILE": self.file("offset"),
            **(env or {})}, settings)

    def shift(self, seconds):
        """The masters' wall clocks are that many seconds ahead from now on."""
        with open(self.file("offset.new"), "w") as file:
            file.write(f"{seconds:+d}\n")
        os.rename(self.file("offset.new"), self.file("offset"))
        self.offset = seconds

    def now(self):
        """The wall clock of the masters."""
        return time.time() + self.offset

    def shift_before(self, instant, lead):
        """Sets the clocks `lead` to `lead` + 1 seconds before that instant."""
        self.shift(int(instant - lead - time.time()))


def cron_of(step):
    """A schedule of one fire each `step` seconds."""
    if step == MINUTE:
        return {"cron": "* * * * *", "timezone": "UTC"}
    return {"cron": f"0/{step} * * * * ?", "timezone": "UTC"}


class ScheduleCases(FlowCalls, SharedCase):
    @classmethod
    def make(cls):
        if not os.path.exists(FAKETIME):
            raise unittest.SkipTest("NOT TESTED: libfaketime is not installed")
        return Clocks(masters=2, workers=2, runners=5, heartbeat=f"{int(H_S)}s")

    def setUp(self):
        super().setUp()
        self.name = "s-" + uuid.uuid4().hex[:8]
        self.led = self.system.ledger(self.id())
        self.addCleanup(self.put_right)

    def put_right(self):
        for flow in self.system.get("/api/v1/flows?limit=1000")["items"]:
            self.delete_flow(flow["name"])
        self.system.shift(0)
        for node in (*self.system.masters, *self.system.workers):
            if not self.system.running(node):
                (self.system.start_master if node in self.system.masters
                 else self.system.start_worker)(node)
        self.system.wait_active(20)
        self.system.wait_standby(20)

    def schedule(self, schedule, tasks=None, online=True, **fields):
        """A flow with that schedule (a map); returns its name."""
        name = f"{self.name}-{uuid.uuid4().hex[:4]}"
        self.apply({"flow": name, "schedule": schedule, "tasks": tasks or {"t": {"noop": True}},
                    "overlap": {"policy": "parallel", "max_runs": 1000}, **fields}, online)
        return name

    def node(self, body="", **fields):
        return {"script": self.led.script(body), "interpreter": ["/bin/sh"], **fields}

    def instants(self, flow):
        """Plan times of the runs that its schedule began, in the order of the runs."""
        return [moment(r["plan_time"]) for r in self.runs_of(flow, trigger="schedule")]

    def missed(self, flow):
        return sorted(moment(m["plan_time"]) for m in self.missed_of(flow))

    def fail_over(self):
        """kill -9 of the active; returns its name and when another one was seen to lead."""
        old = self.system.wait_active()
        self.system.wait_standby()
        self.system.kill(old)
        self.system.wait_active(15, besides=old)
        return old, time.time()

    def assert_grid(self, times, step):
        self.assertEqual(times, [times[0] + i * step for i in range(len(times))])
        self.assertEqual(times[0] % step, 0)

    # Failover -------------------------------------------------------------------------------

    def test_bug_080_schedules_go_on_after_every_takeover(self):
        # Each slot has exactly one run; after a takeover the next one fires within 2 s of its time.
        step, kills, spell = (MINUTE, 10, 180) if long_run() else (3, 3, 3)
        misfire = "none" if long_run() else {"policy": "all", "max": 1000, "within": "1h"}
        flow = self.schedule({**cron_of(step), "misfire": misfire})
        lateness = []
        for kill in range(kills):
            began = time.monotonic()
            time.sleep(kill % 3 * 0.4)  # Before, at and behind a slot.
            old, led = self.fail_over()
            self.system.start_master(old)
            after = (led // step + 1) * step
            run = eventually(lambda: next((r for r in self.runs_of(flow, trigger="schedule")
                                           if moment(r["plan_time"]) == after), None),
                             step + 10, "the next slot")
            lateness.append(moment(run["created_at"]) - after)
            self.system.wait_standby(15)
            time.sleep(max(0, began + spell - time.monotonic()))
        self.set_online(flow, False)
        times = self.instants(flow)
        self.assert_grid(sorted(times), step)
        self.assertGreaterEqual(len(times), kills * spell // step)
        self.assertEqual(self.missed_of(flow), [])
        self.say(f"{len(times)} slots, {kills} takeovers, latest fire behind one "
                 f"{max(lateness) * 1000:.0f} ms after its time")
        self.assertLess(max(lateness), 2.0)
        self.assertGreaterEqual(min(lateness), 0)

    def test_bug_084_a_run_on_a_dead_host_blocks_the_schedule_no_longer_than_it_must(self):
        # Active master and the host of the task lose power together; one run at a time.
        step = 5 * MINUTE if long_run() else 5
        gone = self.system.file("gone")
        schedule = ({"cron": "*/5 * * * *", "timezone": "UTC"} if long_run() else cron_of(step))
        flow = self.schedule({**schedule, "misfire": "all"}, overlap="queue", tasks={
            "t": self.node(f"[ -e {gone} ] || sleep 1000")})
        first = eventually(lambda: self.runs_of(flow), step + 5, "the first slot")[0]["id"]
        task = self.wait_node(first, "t", "RUNNING")
        worker = task["runner_id"].partition(":")[0]
        active, folder = self.system.wait_active(), self.system.worker_data(worker)
        self.system.wait_standby()
        open(gone, "w").close()
        self.system.processes[active].kill()
        self.system.processes[worker].kill()
        end_processes_of(folder)
        self.system.wait_active(15, besides=active)
        lost = self.wait_node(first, "t", "FAILED", "TERMINATED", "FINISHED", timeout=12 * H_S)
        led = moment(self.system.get("/api/v1/cluster")["active"]["since"])
        after = moment(lost["finished_at"]) - led
        self.assertEqual((lost["status"], lost["reason"], lost["attempt"]),
                         ("FAILED", "runner_lost", 1))
        self.say(f"lost {after:.1f} s after the takeover, H is {H_S:g} s")
        self.assertGreater(after, 3 * H_S - 0.1)
        self.assertLess(after, 7 * H_S)
        self.assertEqual(self.run_of(first)["status"], "FAILED")
        following = eventually(lambda: (lambda runs: len(runs) > 1 and runs)(self.runs_of(flow)),
                               step + 5, "the next slot")[1]["id"]
        self.assertEqual(self.wait_run(following)["status"], "FINISHED")
        self.assertNotEqual(self.tasks_of(following)["t"]["runner_id"].partition(":")[0], worker)
        times = sorted(self.instants(flow))
        self.assert_grid(times, step)

    def test_bug_103_a_schedule_that_was_switched_off_stays_off(self):
        # 200 ms before its slot, then the active dies at once; five slots pass. Then it is switched on.
        step = MINUTE if long_run() else 1
        leads = (0.2,) if long_run() else (0.2, 0.1, 0.05, 0.02)
        flows = [self.schedule({**cron_of(step), "misfire": "all"}) for _ in leads]
        eventually(lambda: all(self.instants(f) for f in flows), step + 5, "the first slots")
        slot = (self.system.now() // step + 2) * step
        answered = {}
        for flow, lead in zip(flows, leads):
            time.sleep(max(0, slot - lead - self.system.now()))
            self.set_online(flow, False)
            answered[flow] = self.system.now()
        old, _ = self.fail_over()
        self.system.start_master(old)
        time.sleep(max(0, slot + 5 * step + 0.5 - self.system.now()))
        for flow, at in answered.items():
            runs = self.runs_of(flow)
            self.assertLess(max(moment(r["created_at"]) for r in runs), at)
            times = self.instants(flow)
            self.assertLess(max(times), at)
            self.assert_grid(sorted(times), step)
            self.assertFalse(self.flow(flow)["online"])
            self.assertIsNone(self.flow(flow)["next_at"])
        back = self.system.now()
        self.set_online(flows[0], True)
        eventually(lambda: max(self.instants(flows[0])) > back, step + 5, "the next slot")
        fresh = [t for t in self.instants(flows[0]) if t > answered[flows[0]]]
        self.assertEqual(fresh[0], back // step * step + step)
        self.assertEqual([m for f in flows for m in self.missed_of(f)], [])

    def test_bug_104_a_deleted_flow_starts_nothing_any_more(self):
        # One run runs, one waits for its retry, one is queued; the active dies behind the answer.
        delay = 60 if long_run() else 2
        failing = self.system.file(self.name)
        flow = self.schedule(
            {**cron_of(MINUTE if long_run() else 2), "misfire": "all"}, online=False,
            overlap={"policy": "parallel", "max_runs": 2},
            tasks={"t": self.node(f'[ -e {failing}.$BATON_RUN_ID ] && exit 1\nsleep 1000',
                                  retry={"max": 5, "delay": f"{delay}s", "backoff": 1})})
        running = self.trigger(flow)
        self.wait_node(running, "t", "RUNNING")
        retrying = self.trigger(flow)
        # Its number is known before its process looks.
        open(f"{failing}.{retrying}", "w").close()
        if self.wait_node(retrying, "t", "RUNNING", "RETRYING")["status"] == "RUNNING":
            self.order(retrying, "stop")
            self.wait_run(retrying, "TERMINATED")
            self.order(retrying, "rerun", scope="all")
            self.wait_node(retrying, "t", "RETRYING")
        queued = self.trigger(flow)
        self.assertEqual(self.run_of(queued)["status"], "WAITING")
        self.set_online(flow, True)
        starts = len(self.led.starts())
        alive = [s.pid for s in self.led.running()]
        self.assertEqual(len(alive), 1)
        code, _, err = self.verb("flow", "delete", flow, "-y")
        self.assertEqual(code, 0, err)
        old, _ = self.fail_over()
        self.system.start_master(old)
        for run in (running, retrying, queued):
            done = self.wait_run(run, timeout=15)
            self.assertEqual((done["status"], done["reason"]), ("TERMINATED", "flow_deleted"))
        runs = len(self.runs_of(flow))
        eventually(lambda: not any(map(is_alive, alive)), 12, "the end of what ran")
        time.sleep(delay + 1.5)
        self.assertEqual(len(self.led.starts()), starts)
        self.assertEqual(len(self.runs_of(flow)), runs)
        for method, path in (("GET", ""), ("POST", "/trigger"), ("POST", "/online"),
                             ("GET", "/versions"), ("DELETE", "")):
            self.assertEqual(self.system.rest.request(
                method, f"/api/v1/flows/{flow}{path}", accept=(404,)).code, "not_found", path)
        self.assertEqual(self.verb("flow", "get", flow)[0], 3)
        self.assertEqual(self.system.get(f"/api/v1/flows?q={flow}")["items"], [])

    def test_bug_107_a_backfill_moves_nothing_and_makes_nothing_before_the_start(self):
        day = 24 * HOUR
        today = self.system.now() // day * day
        flow = self.schedule({"cron": "0 2 * * *", "timezone": "UTC",
                              "start": stamp_of(today - 6 * day)})
        before = self.flow(flow)
        made = self.system.post(f"/api/v1/flows/{flow}/backfill", {
            "from": stamp_of(today - 5 * day), "to": stamp_of(today - 1)}, key=self.name)
        expected = [today - d * day + 2 * HOUR for d in (5, 4, 3, 2, 1)]
        self.assertEqual([moment(i["plan_time"]) for i in made["items"]], expected)
        for item in made["items"]:
            self.assertEqual(self.wait_run(item["run_id"])["status"], "FINISHED")
        # Reaching back behind the start: what the schedule has from its start on, no more.
        reaching = self.system.post(f"/api/v1/flows/{flow}/backfill", {
            "from": stamp_of(today - 30 * day), "to": stamp_of(today - 5 * day)}, key=self.name + "2")
        self.assertEqual([moment(i["plan_time"]) for i in reaching["items"]],
                         [today - 6 * day + 2 * HOUR])
        self.wait_run(reaching["items"][0]["run_id"])
        nothing = self.system.rest.request("POST", f"/api/v1/flows/{flow}/backfill", {
            "from": stamp_of(today - 30 * day), "to": stamp_of(today - 7 * day)}, accept=(400,))
        self.assertTrue(nothing.json["detail"])
        named = self.system.rest.request("POST", f"/api/v1/flows/{flow}/backfill", {
            "plan_times": [stamp_of(today - 10 * day)]}, accept=(201, 400))
        self.assertEqual(named.status, 400, named)
        fields = ("next_at", "next_instants", "last_instant", "online")
        old, _ = self.fail_over()
        self.system.start_master(old)
        after = self.flow(flow)
        self.assertEqual({f: after[f] for f in fields}, {f: before[f] for f in fields})
        runs = self.runs_of(flow)
        self.assertEqual(sorted(moment(r["plan_time"]) for r in runs),
                         [today - 6 * day + 2 * HOUR, *expected])
        self.assertEqual({r["trigger"] for r in runs}, {"backfill"})

    # Clocks ---------------------------------------------------------------------------------

    def test_bug_090_the_clock_goes_back_an_hour_and_forward_again(self):
        step, spell = (MINUTE, 600) if long_run() else (2, 7)
        everything = {"policy": "all", "max": 1000, "within": "2h"}
        flows = {name: self.schedule({**cron_of(step), "misfire": policy}) for name, policy in
                 (("all", everything), ("latest", "latest"), ("none", "none"))}
        manual = self.schedule(cron_of(MINUTE), online=False, tasks={"t": self.node()})
        for flow in flows.values():
            eventually(lambda f=flow: self.instants(f), step + 5, "the first slot")
        gate = self.system.file(self.name)
        wait = f"until [ -e {gate} ]; do sleep 0.1; done"
        long_ones = self.system.submit_bulk([self.led.task(wait) for _ in range(5)])
        for task in long_ones:
            self.system.wait_status(task, "RUNNING")
        timed = self.system.submit(sh("sleep 600", timeout="3s", kill_grace="500ms"))
        retried = self.system.submit(sh('[ "$BATON_ATTEMPT" = 3 ]',
                                        retry={"max": 5, "delay": "1s", "backoff": 1}))
        self.system.wait_status(timed, "RUNNING")
        active = self.system.wait_active()
        logged = len(self.system.log(active))
        set_back = self.system.now()
        self.system.shift(self.system.offset - HOUR)
        began = time.monotonic()
        manual_runs = []
        while time.monotonic() - began < spell:
            asked = time.monotonic()
            run = self.trigger(manual)
            self.assertEqual(self.wait_run(run, timeout=5)["status"], "FINISHED")
            manual_runs.append(run)
            stopped = self.system.submit(sh("sleep 600"))
            self.system.wait_status(stopped, "RUNNING", timeout=5)
            self.system.rest.act(stopped, "stop")
            self.assertEqual(self.system.wait_task(stopped, 5)["status"], "TERMINATED")
            self.assertLess(time.monotonic() - asked, 5)
            time.sleep(spell / 10)
        meanwhile = {policy: self.instants(flow) for policy, flow in flows.items()}
        ended = {name: self.system.wait_task(task, 10) for name, task in
                 (("timed", timed), ("retried", retried))}
        self.assertEqual((ended["timed"]["status"], ended["timed"]["reason"]),
                         ("FAILED", "timeout"))
        self.assertEqual((ended["retried"]["status"], ended["retried"]["attempt"]),
                         ("FINISHED", 3))
        self.system.shift(self.system.offset + HOUR)
        right = self.system.now()
        next_slot = (right // step + 1) * step
        for flow in flows.values():
            eventually(lambda f=flow: next_slot in self.instants(f), 60, "the next slot")
        done_at = self.system.now()
        self.assertLess(done_at - right, step + 3)
        open(gate, "w").close()
        for task in long_ones:
            done = self.system.wait_task(task)
            self.assertEqual((done["status"], done["attempt"]), ("FINISHED", 1))
            times = [moment(done[n]) for n in ("created_at", "started_at", "finished_at")]
            self.assertEqual(times, sorted(times), done)
        for flow in flows.values():
            self.set_online(flow, False)
        for policy, flow in flows.items():
            # While the clock was wrong nothing was begun that had been begun before.
            self.assertLessEqual(max(meanwhile[policy]), set_back, policy)
            runs, missed = sorted(self.instants(flow)), self.missed(flow)
            self.assertEqual(len(set(runs)), len(runs), policy)
            self.assert_grid(sorted(runs + missed), step)
            passed = [t for t in runs + missed if set_back < t <= right - 0.1]
            self.assertGreaterEqual(len(passed), spell // step - 1)
            compensated = [r for r in self.runs_of(flow) if r["compensates"]]
            late = [t for t in passed if t in missed]
            if policy == "all":
                self.assertEqual(missed, [])
                self.assertGreater(len(compensated), 0)
            elif policy == "none":
                self.assertEqual(compensated, [])
                self.assertGreater(len(late), 0)
            else:
                self.assertLessEqual(len(compensated), 1)
        self.assertEqual(len({moment(self.run_of(r)["plan_time"]) for r in manual_runs}),
                         len(manual_runs))
        self.assertEqual([line for line in self.system.log(active)[logged:].splitlines()
                          if "runner_lost" in line], [])
        self.assertEqual(self.system.wait_active(), active)
        self.assertEqual(len(self.led.twice()), 0)

    def test_bug_100_a_schedule_that_was_off_for_three_hours_fires_again(self):
        # Each minute; the hours pass on the masters' clocks, and another master leads at their end.
        flow = self.schedule({"cron": "* * * * *", "timezone": "UTC", "misfire": "all"})
        on = self.flow(flow)
        self.assertTrue(on["online"])
        self.set_online(flow, False)
        for hour in (1, 2, 3):
            self.system.shift_before(self.system.now() // MINUTE * MINUTE + HOUR, 3)
            time.sleep(0.3)
        old, _ = self.fail_over()
        self.system.start_master(old)
        self.system.shift_before((self.system.now() // MINUTE + 1) * MINUTE + MINUTE, 3)
        due = (self.system.now() // MINUTE + 1) * MINUTE
        self.set_online(flow, True)
        self.assertEqual(moment(self.flow(flow)["next_at"]), due)
        eventually(lambda: self.instants(flow), 10, "the next minute")
        [run] = self.runs_of(flow)
        self.assertEqual(moment(run["plan_time"]), due)
        self.assertLess(moment(run["created_at"]) - due, 2)
        self.assertEqual(self.missed_of(flow), [])

    def test_bug_101_with_policy_none_nothing_missed_is_run(self):
        # Each minute; no master for five minutes (of the masters' clocks).
        flows = {policy: self.schedule({"cron": "* * * * *", "timezone": "UTC", "misfire": policy})
                 for policy in ("none", "latest", "all")}
        self.system.shift_before((self.system.now() // MINUTE + 1) * MINUTE, 2)
        for flow in flows.values():
            eventually(lambda f=flow: self.instants(f), 10, "a slot")
        last = max(self.instants(flows["none"]))
        self.system.wait_standby()
        for node in self.system.masters:
            self.system.kill(node)
        due = last + 7 * MINUTE
        self.system.shift_before(due, 40)
        for node in self.system.masters:
            self.system.start_master(node)
        self.system.wait_active(20)
        eventually(lambda: len(self.missed_of(flows["none"])) == 6, 10, "the missed instants")
        self.assertEqual(self.instants(flows["none"])[-1], last)
        self.system.shift_before(due, 2)
        passed = [last + i * MINUTE for i in range(1, 7)]
        for policy, ran in (("none", []), ("latest", passed[-1:]), ("all", passed)):
            flow = flows[policy]
            eventually(lambda: due in self.instants(flow), 15, "the next slot")
            self.assertEqual([t for t in sorted(self.instants(flow)) if t > last], [*ran, due])
            self.assertEqual(self.missed(flow), [t for t in passed if t not in ran])
        self.assertEqual({m["reason"] for m in self.missed_of(flows["none"])}, {"policy_none"})
        # By hand such an instant can be run, once.
        missed = stamp_of(passed[2])
        code, out, err = self.verb("missed", "run", flows["none"], missed)
        self.assertEqual(code, 0, err)
        self.assertEqual(self.verb("missed", "run", flows["none"], missed)[0], 4)
        self.assertEqual(self.instants(flows["none"]).count(passed[2]) +
                         len([r for r in self.runs_of(flows["none"], trigger="manual")]), 1)

    def test_bug_141_zones_of_database_and_master_change_no_time(self):
        # Database at +09:00, masters in New York and Kathmandu: 0 12 * * * UTC fires at 12:00Z.
        [[zone, shift]] = self.system.sql(
            "SELECT @@global.time_zone, TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(), NOW())")
        self.assertEqual((zone, shift), ("+09:00", "540"))
        day = 24 * HOUR
        noon = (self.system.now() // day) * day + day / 2
        noon += day if noon < self.system.now() + 10 else 0
        self.system.shift_before(noon, 3)
        flows = {zone: self.schedule({"cron": cron, "timezone": zone}, tasks={"t": self.node()})
                 for zone, cron in (("UTC", "0 12 * * *"), ("Asia/Tokyo", "0 21 * * *"),
                                    ("America/New_York", "0 12 * * *"))}
        local = datetime.datetime.fromtimestamp(noon, datetime.timezone.utc)
        text = local.strftime("%Y-%m-%dT12:00:00Z")
        self.assertEqual(self.flow(flows["UTC"])["next_at"], text)
        self.assertEqual(self.flow(flows["Asia/Tokyo"])["next_at"], text)
        self.assertGreater(moment(self.flow(flows["America/New_York"])["next_at"]), noon)
        due = self.system.submit({"command": ["true"], "not_before": text})
        runs = [eventually(lambda f=flows[z]: self.runs_of(f), 10, "noon")[0]["id"]
                for z in ("UTC", "Asia/Tokyo")]
        for run in runs:
            done = self.wait_run(run)
            self.assertEqual((done["status"], done["plan_time"]), ("FINISHED", text))
            self.assertGreaterEqual(moment(done["created_at"]), noon)
            self.assertLess(moment(done["created_at"]), noon + 2)
        started = moment(self.system.wait_task(due)["started_at"])
        self.assertLess(abs(started - noon - 1), 1.1)
        self.assertEqual(self.instants(flows["America/New_York"]), [])
        paths = ["cluster/history", f"tasks/{due}", f"tasks/{due}/attempts", "runs", "tasks",
                 *(f"flows/{f}" for f in flows.values()),
                 *(f"runs/{r}{tail}" for r in runs for tail in ("", "/tasks", "/explain"))]
        first = {path: self.system.get(f"/api/v1/{path}") for path in paths}
        old, _ = self.fail_over()
        self.system.start_master(old)
        again = {path: self.system.get(f"/api/v1/{path}") for path in paths}
        for path in paths:
            if path == "cluster/history":
                again[path]["items"] = again[path]["items"][1:]
                self.assertEqual(again[path]["items"], first[path]["items"][:len(again[path]["items"])])
            else:
                self.assertEqual(again[path], first[path], path)
            for stamp in times_in(again[path]):
                self.assertRegex(stamp, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$", path)
        for run in runs:
            for stamp in times_in([again[f"runs/{run}"], again[f"runs/{run}/tasks"]]):
                self.assertLess(abs(moment(stamp) - noon), 10, stamp)


def times_in(value):
    """All texts that look like a time, in members at any depth and in sentences."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [stamp for item in value for stamp in times_in(item)]
    return re.findall(r"\d{4}-\d\d-\d\dT[0-9:.]+\S*?(?=[\s,\"]|$)", value) if isinstance(value, str) else []


if __name__ == "__main__":
    unittest.main()
