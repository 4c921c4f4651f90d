"""Faults of workflow engines and of their callbacks, on a real standalone (BUG-147 to
BUG-160), and what they leave in the metrics (BUG-178).

Waits are scaled; BATON_LONG=1 has those of the rows."""

import collections
import json
import os
import re
import socket
import threading
import time
import unittest
import uuid

from case_support import Receiver, SharedCase, Standalone, eventually, long_run
from flow_calls import FlowCalls, moment, stamp_of

CALLBACK_TIMEOUT_S = 10.0 if long_run() else 0.1
BACK_OFF_S = 1.0  # After the first try; twice as long after each further one.


class Silent:
    """Accepts, reads and never answers; notes what came when, and when the other end gave up."""

    Try = collections.namedtuple("Try", "delivery began ended")

    def __init__(self):
        self.tries, self._lock = [], threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._read, args=(link, time.monotonic()), daemon=True).start()

    def _read(self, link, began):
        text = b""
        with link:
            try:
                while data := link.recv(65536):
                    text += data
            except OSError:
                pass
        head = [line.partition(":") for line in text.decode().split("\r\n")]
        delivery = next((v.strip() for n, _, v in head if n.lower() == "baton-delivery-id"), None)
        with self._lock:
            self.tries.append(self.Try(delivery, began, time.monotonic()))

    def by_delivery(self):
        found = collections.defaultdict(list)
        with self._lock:
            for one in sorted(self.tries, key=lambda t: t.began):
                found[one.delivery].append(one)
        return found

    def close(self):
        self._listener.close()


class FlowCases(FlowCalls, SharedCase):
    """One standalone; every test has flows of its own."""

    @classmethod
    def make(cls):
        return Standalone(runners=6, heartbeat="500ms", settings={
            "callback.allow": "127.0.0.1", "callback.timeout": f"{int(CALLBACK_TIMEOUT_S * 1000)}ms"})

    def setUp(self):
        super().setUp()
        self.led = self.system.ledger(self.id())
        self.name = self.id().rpartition(".")[2].removeprefix("test_")[:50]

    def node(self, body="", code="0", **fields):
        """A task of a flow that notes its start and end."""
        return {"script": self.led.script(body, code), "interpreter": ["/bin/sh"], **fields}

    def started(self, run):
        """Names of the tasks of a run in the order of their processes."""
        names = {t["id"]: name for name, t in self.tasks_of(run).items()}
        return [names[s.task] for s in self.led.starts() if s.task in names]

    def statuses(self, run):
        return {name: t["status"] for name, t in self.tasks_of(run).items()}

    # Order and failure ----------------------------------------------------------------------

    def test_bug_149_a_rerun_goes_before_a_later_run_that_waits(self):
        # Limit 1, in order: run 1 FAILED, another is under way, run 2 WAITING; run 1 is run again.
        gate = self.system.file(self.name)
        self.apply({"flow": self.name, "overlap": "queue", "tasks": {"a": self.node(
            f"until [ -e {gate}.$BATON_RUN_ID ]; do sleep 0.02; done; exit $(cat {gate}.$BATON_RUN_ID)")}})

        def let(run, code):
            with open(f"{gate}.new", "w") as file:
                file.write(str(code))
            os.rename(f"{gate}.new", f"{gate}.{run}")
        first = self.trigger(self.name)
        let(first, 1)
        self.wait_run(first, "FAILED")
        holder = self.trigger(self.name)
        self.wait_node(holder, "a", "RUNNING")
        second = self.trigger(self.name)
        self.order(first, "rerun", scope="failed")
        self.assertEqual([self.run_of(r)["status"] for r in (first, holder, second)],
                         ["WAITING", "RUNNING", "WAITING"])
        # What waits says for whom, nobody for the other.
        for run, ahead in ((first, holder), (second, holder)):
            self.assertIn(ahead, self.run_of(run)["waiting_text"])
            explained = self.system.get(f"/api/v1/runs/{run}/explain")
            self.assertIn(ahead, " ".join(explained["reasons"]))
        os.unlink(f"{gate}.{first}")
        let(holder, 0)
        self.wait_node(first, "a", "RUNNING")
        self.assertEqual(self.run_of(second)["status"], "WAITING")
        let(first, 0)
        let(second, 0)
        for run in (first, second):
            self.assertEqual(self.wait_run(run, timeout=10)["status"], "FINISHED")
        ended = [moment(self.run_of(r)["finished_at"]) for r in (holder, first, second)]
        self.assertEqual(ended, sorted(ended))
        self.assertEqual(self.led.overlaps(), [])

    def test_bug_150_a_run_has_not_failed_while_a_task_of_it_runs(self):
        length = 20 if long_run() else 2
        self.apply({"flow": self.name, "tasks": {"a": self.node(code="1"),
                                                 "b": self.node(f"sleep {length}")}})
        run = self.trigger(self.name)
        self.wait_node(run, "a", "FAILED")
        while True:
            status = self.run_of(run)["status"]
            if self.tasks_of(run)["b"]["finished_at"] is not None:
                break
            # Looked at before b, which had not ended behind it.
            self.assertEqual(status, "RUNNING")
            time.sleep(0.05)
        done = self.wait_run(run)
        tasks = self.tasks_of(run)
        self.assertEqual((done["status"], tasks["b"]["status"]), ("FAILED", "FINISHED"))
        self.assertGreaterEqual(moment(done["finished_at"]), moment(tasks["b"]["finished_at"]))
        self.assertGreaterEqual(moment(tasks["b"]["finished_at"]) -
                                moment(tasks["a"]["finished_at"]), length - 1)

    def test_bug_151_a_failure_stops_no_branch_that_does_not_need_it(self):
        self.apply({"flow": self.name, "tasks": {
            "a": self.node(code="1"), "b": self.node(needs=["a"]),
            "c": self.node("sleep 0.5"), "d": self.node(needs=["c"]),
            # Relatives: further down the line, and one that wants exactly the failure.
            "b2": self.node(needs=["b"]), "mend": self.node(needs={"a": "failure"}),
            "always": self.node(needs={"b2": "done"})}})
        run = self.trigger(self.name)
        done = self.wait_run(run)
        self.assertEqual(done["status"], "FAILED")
        self.assertEqual(self.statuses(run), {
            "a": "FAILED", "b": "SKIPPED", "b2": "SKIPPED", "c": "FINISHED", "d": "FINISHED",
            "mend": "FINISHED", "always": "FINISHED"})
        tasks = self.tasks_of(run)
        for name, upstream in (("b", "a"), ("b2", "b")):
            self.assertEqual(tasks[name]["reason"], "upstream_failed")
            reasons = self.system.get(f"/api/v1/tasks/{tasks[name]['id']}/explain")["reasons"]
            self.assertIn(upstream, " ".join(reasons))
        self.assertEqual(sorted(self.started(run)), ["a", "always", "c", "d", "mend"])

    def test_bug_152_disabled_and_allowed_to_fail_in_a_diamond(self):
        self.apply({"flow": self.name, "tasks": {
            "a": self.node(disabled=True), "b": self.node("sleep 0.3"),
            "c": self.node(needs=["a", "b"]),
            "d": self.node(code="4", on_failure="ignore"), "e": self.node(needs=["d"])}})
        run = self.trigger(self.name)
        self.assertEqual(self.wait_run(run)["status"], "FINISHED")
        started = self.started(run)
        self.assertEqual(sorted(started), ["b", "c", "d", "e"])
        self.assertLess(started.index("b"), started.index("c"))
        tasks = self.tasks_of(run)
        self.assertGreaterEqual(moment(tasks["c"]["started_at"]), moment(tasks["b"]["finished_at"]))
        d = tasks["d"]
        self.assertEqual((d["status"], d["reason"], d["return_code"], d["ignored"]),
                         ("FAILED", "exit_code", 4, True))
        self.assertEqual(tasks["a"]["reason"], "disabled")
        code, out, _ = self.verb("run", "tasks", run)
        self.assertEqual(code, 0)
        [line] = [line for line in out.splitlines() if line.startswith("d ")]
        self.assertIn("FAILED", line)
        self.assertIn("exit_code 4, ignored", line)

    def test_bug_157_rerun_of_what_failed_leaves_what_succeeded(self):
        mended = self.system.file(self.name)
        self.apply({"flow": self.name, "tasks": {
            "a": self.node("echo once"), "b": self.node(f"[ -e {mended} ] || exit 1", needs=["a"]),
            "c": self.node(needs=["b"])}})
        run = self.trigger(self.name)
        self.assertEqual(self.wait_run(run)["status"], "FAILED")
        before = self.tasks_of(run)["a"]
        self.assertEqual(self.statuses(run), {"a": "FINISHED", "b": "FAILED", "c": "SKIPPED"})
        open(mended, "w").close()
        code, _, err = self.verb("run", "rerun", run)
        self.assertEqual(code, 0, err)
        self.assertEqual(self.wait_run(run, "FINISHED")["reruns"], 1)
        self.assertEqual(self.started(run), ["a", "b", "b", "c"])
        tasks = self.tasks_of(run)
        self.assertEqual({n: t["attempt"] for n, t in tasks.items()}, {"a": 1, "b": 2, "c": 1})
        self.assertEqual(tasks["a"], before)
        self.assertEqual(len(self.system.rest.attempts(before["id"])), 1)
        self.assertEqual(self.output_of(run, "a"), "once\n")

    def test_bug_157_nor_what_succeeded_in_a_sub_flow(self):
        mended, part = self.system.file(self.name), f"{self.name}-part"
        self.apply({"flow": part, "tasks": {
            "a": self.node(), "b": self.node(f"[ -e {mended} ] || exit 1", needs=["a"])}})
        self.apply({"flow": self.name, "tasks": {
            "s": {"flow": part}, "z": self.node(needs=["s"])}})
        run = self.trigger(self.name)
        self.assertEqual(self.wait_run(run)["status"], "FAILED")
        within = self.tasks_of(run)["s"]["sub_run"]
        open(mended, "w").close()
        code, _, err = self.verb("run", "rerun", run)
        self.assertEqual(code, 0, err)
        self.assertEqual(self.wait_run(run, "FINISHED")["reruns"], 1)
        self.assertEqual(self.tasks_of(run)["s"]["sub_run"], within)
        self.assertEqual(self.started(within), ["a", "b", "b"])
        self.assertEqual(self.started(run), ["z"])

    def test_orders_of_a_task_are_those_of_its_run(self):
        # Past its run, a kind without a runner would take one for ever, and nothing behind a forced
        # success would go on.
        self.apply({"flow": self.name, "tasks": {
            "a": self.node(code="3"), "b": self.node(needs=["a"]), "n": {"noop": True}}})
        run = self.trigger(self.name)
        self.assertEqual(self.wait_run(run)["status"], "FAILED")
        ids = {name: t["id"] for name, t in self.tasks_of(run).items()}

        def ordered(name, verb):
            answer = self.system.rest.request("POST", f"/api/v1/tasks/{ids[name]}/{verb}",
                                              accept=(200, 409))
            if answer.status == 200:
                self.assertEqual(answer.json["id"], ids[name])
            return answer
        refused = ordered("b", "rerun")
        self.assertEqual((refused.status, refused.code), (409, "conflict"))
        self.assertIn("would be skipped again: a ended FAILED", refused.json["detail"])
        self.assertEqual(ordered("n", "rerun").json["status"], "FINISHED")
        self.assertEqual(self.wait_run(run)["status"], "FAILED")
        self.system.kill("standalone")
        self.system.start()
        code, out, err = self.verb("task", "force-success", ids["a"])
        self.assertEqual(code, 0, err)
        self.assertIn(ids["a"], out)
        self.assertEqual(self.wait_run(run, "FINISHED")["reruns"], 2)
        self.assertEqual(self.statuses(run), {n: "FINISHED" for n in ids})
        self.assertEqual(self.started(run), ["a", "b"])
        code, _, err = self.verb("run", "rerun", run, "--task", "nope")
        self.assertEqual(code, 3, err)
        self.assertEqual([r for r in self.system.get("/api/v1/runners")["items"]
                          if r["task_id"] in ids.values()], [])

    def test_a_run_keeps_the_parameters_of_the_project_that_it_began_with(self):
        # Set, used, changed, killed: what runs ends with the old value, what begins has the new one.
        param = "region_" + uuid.uuid4().hex[:8]
        gate = os.path.join(self.system.path, param)
        text = self.written("project.yaml", {"flow": self.name, "tasks": {
            "a": {"script": f"until [ -e {gate} ]; do sleep 0.1; done"},
            "b": {"command": ["sh", "-c", f'echo "$1 ${param}"', "sh", "${" + param + "}"],
                  "needs": ["a"]}}})
        code, _, err = self.verb("flow", "apply", text)
        self.assertEqual(code, 2, err)
        self.assertIn("baton param set", err)
        self.assertEqual(self.verb("flow", "validate", text)[0], 2)
        code, _, err = self.verb("flow", "validate", text, "--project-param", param)
        self.assertEqual(code, 0, err)
        self.assertEqual(self.verb("param", "set", param, "eu")[0], 0)
        self.assertEqual(self.verb("flow", "diff", text)[0], 1)
        code, _, err = self.verb("flow", "apply", text)
        self.assertEqual(code, 0, err)
        first = self.trigger(self.name)
        self.wait_node(first, "a", "RUNNING")
        self.assertEqual(self.verb("param", "set", param, "us")[0], 0)
        self.system.kill("standalone")
        self.system.start()
        open(gate, "w").close()
        self.assertEqual(self.wait_run(first)["status"], "FINISHED")
        second = self.trigger(self.name)
        self.assertEqual(self.wait_run(second)["status"], "FINISHED")
        for run, value in ((first, "eu"), (second, "us")):
            self.assertEqual(self.output_of(run, "b"), f"{value} {value}\n")
            self.assertEqual(self.run_of(run)["project_params"], {param: value})
        code, _, err = self.verb("param", "delete", param, "-y")
        self.assertEqual(code, 4, err)
        self.assertIn(f"is used by {self.name}", err)
        self.delete_flow(self.name)
        self.assertEqual(self.verb("param", "delete", param, "-y")[0], 0)
        self.assertEqual(self.verb("param", "get", param)[0], 3)

    # What is refused when it is saved -------------------------------------------------------

    def refused(self, definition, *words, key=None):
        """Over REST as YAML and as JSON, by `validate` and by `apply`; nothing may be saved."""
        name = f"{self.name[:40]}-{uuid.uuid4().hex[:6]}"
        texts = [definition.replace("NAME", name)]
        if key is None:  # A key that stands twice can't be told in a map.
            texts.append(json.dumps(yaml_of_lists(texts[0])))
        for text in texts:
            answer = self.put_flow(name, text)
            self.assertEqual((answer.status, answer.code), (400, "invalid_definition"), answer)
            said = answer.json["detail"] + json.dumps(answer.json["errors"], ensure_ascii=False)
            for word in words:
                self.assertIn(word, said)
            for error in answer.json["errors"]:
                self.assertGreater(error["line"], 0)
                self.assertTrue(error["key"].startswith("tasks"), error)
            self.assertEqual(self.system.rest.request("POST", "/api/v1/flows/validate", text,
                                                      headers={"Content-Type": "application/yaml"},
                                                      accept=(400,)).code, "invalid_definition")
            path = self.written(f"{name}.yaml", text)
            for verb in ("validate", "apply"):
                code, out, err = self.verb("flow", verb, path)
                self.assertEqual(code, 2, (verb, out, err))
                for word in words:
                    self.assertIn(word, out + err, verb)
        code, _, _ = self.verb("flow", "get", name)
        self.assertEqual(code, 3)
        self.assertEqual(self.system.rest.request("GET", f"/api/v1/flows/{name}",
                                                  accept=(404,)).code, "not_found")
        self.assertEqual(self.system.get(f"/api/v1/flows?q={name}")["items"], [])

    def test_bug_154_a_cycle_is_refused_and_named_by_its_path(self):
        self.refused("flow: NAME\ntasks:\n  a: {noop: true, needs: [a]}\n", "a -> a")
        self.refused("flow: NAME\ntasks:\n  a: {noop: true, needs: [c]}\n"
                     "  b: {noop: true, needs: [a]}\n  c: {noop: true, needs: [b]}\n",
                     "a -> b -> c -> a")
        self.refused("flow: NAME\ntasks:\n  x: {noop: true}\n  y: {noop: true, needs: [x]}\n"
                     "  p: {noop: true, needs: [q]}\n  q: {noop: true, needs: [p]}\n",
                     "p -> q -> p")

    def test_bug_154_relatives_flows_that_wait_for_themselves(self):
        # Over the borders of flows: a sub-flow in itself, and triggers in a ring.
        name = self.name[:40]
        for definition, word in (({"flow": name, "tasks": {"a": {"flow": name}}}, "never end"),
                                 ({"flow": name, "trigger": {"event": {"flow": name}},
                                   "tasks": {"a": {"noop": True}}}, "is the flow itself")):
            answer = self.put_flow(name, definition)
            self.assertEqual(answer.status, 400, answer)
            self.assertIn(word, answer.json["detail"])
        self.apply({"flow": name + "-b", "tasks": {"a": {"noop": True}}})
        self.apply({"flow": name + "-a", "tasks": {"a": {"flow": name + "-b"}}})
        answer = self.put_flow(name + "-b", {"flow": name + "-b",
                                             "tasks": {"a": {"flow": name + "-a"}}})
        self.assertEqual(answer.status, 400, answer)
        self.assertIn(name + "-a", answer.json["detail"])
        self.assertEqual(self.flow(name + "-b")["version"], 1)

    def test_files_applied_together_are_all_or_nothing(self):
        # Two flows that would begin each other for ever, each well beside what is stored.
        a, b = self.name[:40] + "-a", self.name[:40] + "-b"
        files = [self.written(f"{one}.yaml", f"flow: {one}\ntasks: {{t: {{flow: {other}}}}}\n")
                 for one, other in ((a, b), (b, a))]
        code, out, err = self.verb("flow", "apply", *files)
        self.assertEqual((code, out), (2, ""), err)
        self.assertIn(f"{a} -> {b} -> {a}", err)
        for name in (a, b):
            self.assertEqual(self.verb("flow", "get", name)[0], 3)
        self.written(f"{b}.yaml", f"flow: {b}\ntasks: {{t: {{noop: true}}}}\n")
        self.assertEqual(self.verb("flow", "apply", *files)[0], 0)
        self.assertEqual(self.flow(a)["version"], 1)

    def test_what_is_not_kept_is_refused(self):
        # Keys that this version can't carry out, and a run that no master could carry.
        for task, said in (
                ("{command: [id], run_as: nobody}",
                 "tasks.a.run_as: is not supported by this version of baton"),
                ("{noop: true, callback: {url: 'http://127.0.0.1', wait: true}}",
                 "tasks.a.callback.wait: true has no meaning for kind noop")):
            text = f"flow: {self.name}\ntasks:\n  a: {task}\n"
            answer = self.put_flow(self.name, text)
            self.assertEqual((answer.status, answer.code), (400, "invalid_definition"), answer)
            self.assertIn(said, answer.json["detail"])
            for verb in ("validate", "apply"):
                code, _, err = self.verb("flow", verb, self.written("refused.yaml", text))
                self.assertEqual(code, 2)
                self.assertIn(said, err)
        big = {"flow": self.name, "params": {"P": "x" * 120_000},
               "tasks": {f"t{i}": {"script": "true"} for i in range(9_000)}}
        answer = self.put_flow(self.name, big)
        self.assertEqual((answer.status, answer.code), (400, "invalid_definition"), answer)
        self.assertIn("a run comes to about 1031 MB of specifications", answer.json["detail"])
        self.apply({**big, "params": {}})
        answer = self.system.rest.request("POST", f"/api/v1/flows/{self.name}/trigger",
                                          {"params": big["params"]}, accept=range(200, 503))
        self.assertEqual((answer.status, answer.json.get("field")), (413, "params"), answer)

    def test_an_output_is_a_parameter_further_down(self):
        self.apply({"flow": self.name, "params": {"rows": "of the flow"}, "tasks": {
            "load": {"script": 'echo rows=42 >> "$BATON_OUTPUT"', "outputs": ["rows"]},
            "show": {"command": ["/bin/sh", "-c", 'echo "$1 $rows"', "sh", "${rows}"],
                     "needs": ["load"], "when": "${rows} > 41"}}})
        run = self.trigger(self.name)
        self.assertEqual(self.wait_run(run)["status"], "FINISHED")
        self.assertEqual(self.output_of(run, "show"), "42 42\n")

    def test_bug_155_unknown_and_doubled_names_are_refused(self):
        self.refused("flow: NAME\ntasks:\n  a: {noop: true, needs: [nope]}\n", '"nope"')
        self.refused("flow: NAME\ntasks:\n  twin: {noop: true}\n  twin: {noop: true}\n", "twin",
                     key="twice")
        self.refused("flow: NAME\ntasks:\n  Twin: {noop: true}\n  twin: {noop: true}\n", "Twin",
                     "twin")

    def test_bug_155_names_of_flows_are_one_in_any_case(self):
        # Documented: case is kept, no two differ in case alone; in YAML, database and addresses.
        name = "Case-" + uuid.uuid4().hex[:8].upper()
        self.apply({"flow": name, "tasks": {"Load": self.node(), "x": self.node(needs=["Load"])}})
        other = self.put_flow(name.lower(), {"flow": name.lower(), "tasks": {"y": self.node()}})
        self.assertEqual(other.status, 200, other)
        flow = self.flow(name.upper())
        self.assertEqual(flow["newest_version"], 2)
        self.assertEqual(len(self.system.get(f"/api/v1/flows?q={name[5:]}")["items"]), 1)
        self.refused("flow: NAME\ntasks:\n  Load: {noop: true}\n"
                     "  x: {noop: true, needs: [load]}\n", '"load"')

    # Callbacks ------------------------------------------------------------------------------

    def test_bug_158_no_word_of_failure_while_it_will_be_tried_again(self):
        # Fail, fail, success; the program is killed between the attempts.
        receiver = Receiver()
        self.addCleanup(receiver.close)
        everything = ["finished", "failed", "terminated", "skipped"]
        self.apply({"flow": self.name,
                    "callbacks": [{"url": receiver.url("/run"), "on": everything}],
                    "tasks": {"a": self.node('[ "$BATON_ATTEMPT" = 3 ] || exit 1',
                                             retry={"max": 2, "delay": "1500ms", "backoff": 1},
                                             callback={"url": receiver.url("/task"),
                                                       "on": everything})}})
        run = self.trigger(self.name)
        task = self.tasks_of(run)["a"]["id"]
        for attempt in (1, 2):
            waiting = self.system.wait_status(task, "RETRYING")
            self.assertEqual((waiting["attempt"], receiver.requests), (attempt, []))
            self.system.kill("standalone")
            self.system.start()
            eventually(lambda n=attempt: self.system.task(task)["attempt"] > n, 10,
                       "the next attempt")
        self.assertEqual(self.wait_run(run)["status"], "FINISHED")
        eventually(lambda: len(receiver.requests) >= 2, 5, "both callbacks")
        time.sleep(1.2)  # A repetition would come after a second.
        events = sorted((r["path"], json.loads(r["body"])["event"]) for r in receiver.requests)
        self.assertEqual(events, [("/run", "run_finished"), ("/task", "finished")])
        self.assertEqual(len(self.led.starts()), 3)

    def test_bug_160_a_receiver_that_never_answers_holds_up_nobody(self):
        silent, well = Silent(), Receiver()
        self.addCleanup(silent.close)
        self.addCleanup(well.close)
        dead, others = 50, 100
        for name, port in (("dead", silent.port), ("well", well.port)):
            self.apply({"flow": f"{self.name[:40]}-{name}",
                        "callbacks": [{"url": f"http://127.0.0.1:{port}/{name}"}],
                        "overlap": {"policy": "parallel", "max_runs": 200},
                        "tasks": {"a": {"noop": True} if name == "dead" else self.node()}})
        began = time.monotonic()
        dead_runs = [self.trigger(f"{self.name[:40]}-dead") for _ in range(dead)]
        runs = [self.trigger(f"{self.name[:40]}-well") for _ in range(others)]
        slowest = 0
        for run in runs:
            done = self.wait_run(run, timeout=10)
            self.assertEqual(done["status"], "FINISHED")
            tasks = self.tasks_of(run)["a"]
            times = [moment(t) for t in (done["created_at"], done["started_at"],
                                         tasks["started_at"], tasks["finished_at"],
                                         done["finished_at"])]
            self.assertEqual(times, sorted(times))
            # From step to step: that many runs at once wait for runners as well.
            slowest = max(slowest, times[1] - times[0], times[4] - times[3])
        self.assertLess(slowest, 1.0)
        eventually(lambda: len(well.requests) == others, 5, "the callbacks of the others")
        self.say(f"slowest change of state {slowest * 1000:.0f} ms, all told after "
                 f"{time.monotonic() - began:.1f} s")
        for run in dead_runs:
            self.assertEqual(self.run_of(run)["status"], "FINISHED")
        # Two at a time, and nobody a second time before all had their first.
        eventually(lambda: len(silent.by_delivery()) == dead, 30 + dead * CALLBACK_TIMEOUT_S,
                   "a try of each", pause=0.1)
        eventually(lambda: sum(map(len, silent.by_delivery().values())) >= dead + 10,
                   30 + dead * CALLBACK_TIMEOUT_S, "repeats", pause=0.1)
        tries = silent.by_delivery()
        self.assertEqual(set(tries), {f"{run}/0/run_finished" for run in dead_runs})
        for of_one in tries.values():
            for one in of_one:
                self.assertGreater(one.ended - one.began, CALLBACK_TIMEOUT_S - 0.1)
                self.assertLess(one.ended - one.began, CALLBACK_TIMEOUT_S + 1.5)
            for number, (before, after) in enumerate(zip(of_one, of_one[1:])):
                self.assertGreater(after.began - before.ended, BACK_OFF_S * 2 ** number - 0.1)
        first = sorted(of_one[0].began for of_one in tries.values())
        again = sorted(of_one[1].began for of_one in tries.values() if len(of_one) > 1)
        self.assertLess(first[-2], again[0])  # The last two began beside each other.
        self.say(f"{sum(map(len, tries.values()))} tries, {len(again)} deliveries tried again")

    # Metrics --------------------------------------------------------------------------------

    def series(self):
        """Names of all series of /metrics, with their labels; every line has to parse."""
        answer = self.system.rest.request("GET", "/metrics")
        found = set()
        for line in answer.body.decode().splitlines():
            if line.startswith("#"):
                self.assertRegex(line, r"^# (HELP|TYPE) baton_\w+ .+$")
                continue
            parsed = re.fullmatch(r'(\w+(?:\{(?:\w+="(?:[^"\\\n]|\\[\\"n])*",?)*\})?) '
                                  r"([-+]?[0-9.e+-]+|NaN|[+-]Inf)", line)
            self.assertIsNotNone(parsed, line)
            found.add(parsed.group(1))
        return found

    def resident(self):
        """Resident memory of the program, in MB."""
        with open(f"/proc/{self.system.pid('standalone')}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def test_bug_178_no_number_and_no_name_is_a_label_of_a_metric(self):
        # 100 runs, then 50,000: as many series as before, and no more memory.
        many = 50_000 if long_run() else 600
        self.apply({"flow": self.name, "schedule": {"cron": "* * * * *", "timezone": "UTC"},
                    "tasks": {"a": {"noop": True}, "b": self.node(when='"x" == "y"')}})
        odd = self.put_flow("odd", {"flow": 'o"d\\\n', "tasks": {"a": {"noop": True}}})
        self.assertEqual(odd.status, 400)  # No such name of a flow; names of tasks take anything.
        for name in ('quote " here', "back\\slash", "feed\nline", "{a=\"b\"}"):
            self.run_task({"command": ["true"], "name": name, "tags": ["x"]})

        def run(count, first):
            made = self.system.post(f"/api/v1/flows/{self.name}/backfill", {
                "from": stamp_of(first), "to": stamp_of(first + (count - 1) * 60),
                "parallel": 100}, key=uuid.uuid4().hex, once_timeout=30, timeout=60)
            self.assertEqual(len(made["items"]), count)
            eventually(lambda: self.system.get(
                f"/api/v1/runs?backfill={made['id']}&status=finished&limit=1&total=true")["total"]
                == count, 300, "the end of the backfill", pause=0.1)
        begin = 1_600_000_000 // 60 * 60
        run(100, begin)
        before = self.series()
        resident = None
        for done in range(0, many, 1000):
            run(min(1000, many - done), begin + 60 * (1000 + done))
            resident = resident or self.resident()
        after = self.series()
        self.assertEqual(after - before, set())
        self.say(f"{len(after)} series, {self.resident():.0f} MB after {many} runs, "
                 f"{resident:.0f} MB after the first part")
        # What ended is remembered for two minutes, with some 100 bytes a task.
        self.assertLess(self.resident(), resident + 20)
        text = self.system.rest.request("GET", "/metrics").body.decode()
        for word in (self.name, "quote", "slash"):
            self.assertNotIn(word, text)


def yaml_of_lists(text):
    """The little YAML of refused(): `flow:` and tasks in flow style, as a map."""
    definition = {"flow": "", "tasks": {}}
    for line in text.splitlines():
        name, _, value = line.strip().partition(": ")
        if name == "flow":
            definition["flow"] = value
        elif value:
            needs = value.partition("[")[2].partition("]")[0]
            definition["tasks"][name] = {"noop": True}
            if needs:
                definition["tasks"][name]["needs"] = needs.split(", ")
    return definition


if __name__ == "__main__":
    unittest.main()
