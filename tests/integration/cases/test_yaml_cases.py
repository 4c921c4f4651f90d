"""Faults of YAML: texts that overflow a parser, and values that change their meaning (BUG-161 to 164)."""

import os
import resource
import unittest
import uuid

from case_support import SharedCase, Standalone, run_baton
from flow_calls import FlowCalls

# What a task gets as BUG-163 writes it; the last two tell null and empty apart.
WRITTEN = """\
# The comment and the order stay as well.
flow: NAME
params:
  country: no
  ver: 1.10
  mode: 0755
  at: 12:30
  sha: 12345e04
  n: null
  e: ""
  octal: 0o17
  hex: 0xFF
  yes: Yes
  on: on
  tilde: ~
  nothing:
  day: 2026-01-01
  exp: 1e3
  under: 1_000
  dot: .5
  inf: .inf
  quoted: "null"
  plus: +1
  sexagesimal: 190:20:30
tasks:
  show:
    command: [sh, -c, 'printf "%s|" "$@"; env', x, "${country}", "${ver}", "${mode}", "${at}", "${sha}", "${n}", "${e}", no, 1.10, 0755]
    env: {FLAG: off, COUNT: 007}
"""
ARRIVES = {"country": "no", "ver": "1.10", "mode": "0755", "at": "12:30", "sha": "12345e04",
           "e": "", "octal": "0o17", "hex": "0xFF", "yes": "Yes", "on": "on", "day": "2026-01-01",
           "exp": "1e3", "under": "1_000", "dot": ".5", "inf": ".inf", "quoted": "null",
           "plus": "+1", "sexagesimal": "190:20:30", "FLAG": "off", "COUNT": "007"}
ABSENT = ("n", "tilde", "nothing")


class YamlCases(FlowCalls, SharedCase):
    @classmethod
    def make(cls):
        return Standalone(runners=2, heartbeat="500ms")

    def fresh(self):
        return "y-" + uuid.uuid4().hex[:8]

    def file(self, text):
        path = self.system.file(uuid.uuid4().hex + ".yaml")
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path

    # Texts that were made to harm ------------------------------------------------------------

    # Both limits are the processor's time, which others on the machine don't change.

    def quickly(self, answer_of, *codes):
        def used():
            with open(f"/proc/{self.system.pid('standalone')}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        before = used()
        answer = answer_of()
        self.assertLess(used() - before, 1.0, answer)
        self.assertIn(answer.status, codes, answer)
        self.assertTrue(answer.json["detail"], answer)
        return answer

    def refused_by_validate(self, name, text):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        code, said = run_baton("flow", "validate", self.file(text))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertEqual(code, 2, (name, said))
        self.assertLess(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1.0,
                        name)

    def test_bug_161_deep_nesting_overflows_nothing(self):
        # 100,000 levels, as definition in both languages, for validate, and in every other body.
        pid = self.system.pid("standalone")
        deep = {part: part * 100_000 for part in ("[", "{a:", "{a: ", "- ", "? ", "[{a: ", "&a [")}
        deep["indented"] = "\n".join(" " * level + "a:" for level in range(1200))
        deep["closed"] = "[" * 100_000 + "]" * 100_000
        deep["as a parameter"] = "flow: f\nparams: {a: " + "[" * 50_000 + "}"
        for name, text in deep.items():
            for kind in ("application/yaml", "application/json"):
                answer = self.quickly(lambda: self.system.rest.once(
                    self.system.rest.addresses[0], "PUT", "/api/v1/flows/deep", text,
                    headers={"Content-Type": kind}), 400)
                self.assertEqual(answer.code, "invalid_definition", (name, answer))
            self.quickly(lambda: self.system.rest.once(
                self.system.rest.addresses[0], "POST", "/api/v1/flows/validate", text,
                headers={"Content-Type": "application/yaml"}), 400)
            self.refused_by_validate(name, text)
        self.apply({"flow": "shallow", "tasks": {"a": {"noop": True}}})
        for text in ("[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000):
            for address in ("tasks", "tasks/bulk", "flows/shallow/trigger",
                            "flows/shallow/backfill", "events", "missed/run", "runs/1/rerun"):
                # 413: actions take 64 KB, which is looked at first.
                self.quickly(lambda: self.system.rest.once(
                    self.system.rest.addresses[0], "POST", f"/api/v1/{address}", text), 400, 413)
                self.quickly(lambda: self.system.rest.once(
                    self.system.rest.addresses[0], "POST", f"/api/v1/{address}", text[:60_000]), 400)
        self.assertEqual(self.system.pid("standalone"), pid)
        self.assertTrue(self.system.running("standalone"))
        self.assertEqual(self.run_task({"command": ["true"]})["status"], "FINISHED")

    def test_bug_161_relatives_texts_that_grow(self):
        # A bomb of aliases, an alias in itself, very many keys, very long words.
        bomb = "flow: f\nparams:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
            f"  a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
        texts = {"aliases": bomb, "itself": "flow: f\ntasks: &t\n  a: *t\n",
                 "keys": "flow: f\nparams:\n" + "".join(f"  k{i}: v\n" for i in range(70_000)),
                 "word": "flow: " + "x" * 900_000, "zero": "flow: f\0\ntasks: {}\n",
                 "latin": b"flow: f\ndescription: caf\xe9\ntasks: {a: {noop: true}}\n",
                 "tag": "flow: !!python/object:os.system f\ntasks: {a: {noop: true}}\n",
                 "two": "flow: f\ntasks: {a: {noop: true}}\n---\nflow: g\n", "empty": "",
                 "merge": "flow: f\ntasks: {a: &a {noop: true}, b: {<<: *a}}\n"}
        for name, text in texts.items():
            answer = self.quickly(lambda: self.system.rest.once(
                self.system.rest.addresses[0], "PUT", "/api/v1/flows/f", text,
                headers={"Content-Type": "application/yaml"}), 400)
            self.assertEqual(answer.code, "invalid_argument" if name == "empty" else
                             "invalid_definition", (name, answer))
            self.refused_by_validate(name, text)
        self.assertEqual(self.system.get("/api/v1/flows?q=f")["items"], [])

    # Values stay what was written -----------------------------------------------------------

    def environment(self, run):
        """(the arguments, the environment) that the task show saw."""
        words, _, rest = self.output_of(run, "show").rpartition("|")
        lines = [line.partition("=") for line in rest.splitlines()]
        return words.split("|"), {name: value for name, _, value in lines}

    def test_bug_163_parameters_arrive_as_they_were_written(self):
        name = self.fresh()
        text = WRITTEN.replace("NAME", name)
        self.assertEqual(self.put_flow(name, text).status, 201)
        for said in ({}, {"params": {"country": "on", "n": "0755", "ver": None}}):
            run = self.trigger(name, **said)
            self.assertEqual(self.wait_run(run)["status"], "FINISHED", self.tasks_of(run))
            words, environment = self.environment(run)
            expected = {**ARRIVES, **{n: v for n, v in said.get("params", {}).items()}}
            absent = [n for n in (*ABSENT, *expected) if expected.get(n) is None]
            self.assertEqual({n: environment.get(n) for n in expected if n not in absent},
                             {n: v for n, v in expected.items() if n not in absent})
            # null: no variable, and nothing where it is spliced; empty: a variable that is empty.
            for name_of_none in absent:
                self.assertNotIn(name_of_none, environment)
            self.assertEqual(words, [*((expected.get(n) or "") for n in (
                "country", "ver", "mode", "at", "sha", "n", "e")), "no", "1.10", "0755"])

    def test_bug_163_export_and_import_give_the_same_file(self):
        name, other = self.fresh(), self.fresh()
        text = WRITTEN.replace("NAME", name)
        path = self.file(text)
        code, said, err = self.verb("flow", "apply", path)
        self.assertEqual(code, 0, err)
        code, exported, err = self.verb("flow", "get", name, "-o", "yaml")
        self.assertEqual((code, exported), (0, text), err)
        rest = self.system.rest.request("GET", f"/api/v1/flows/{name}",
                                        headers={"Accept": "application/yaml"})
        self.assertEqual(rest.body.decode(), text)
        # The exported file means the same: no new version, no difference.
        again = self.put_flow(name, exported)
        self.assertEqual((again.status, again.json["changed"], again.json["version"]),
                         (200, False, 1), again)
        self.assertEqual(self.verb("flow", "diff", self.file(exported))[0], 0)
        # Under another name, through the JSON of the API, its tasks get the same values.
        copied = self.flow(name)["text"].replace(name, other)
        self.assertEqual(self.put_flow(other, copied).status, 201)
        results = []
        for flow in (name, other):
            run = self.trigger(flow)
            self.assertEqual(self.wait_run(run)["status"], "FINISHED")
            words, environment = self.environment(run)
            results.append((words, {n: environment.get(n) for n in (*ARRIVES, *ABSENT)}))
        self.assertEqual(results[0], results[1])

    def test_bug_163_json_numbers_are_what_was_written_too(self):
        # JSON is YAML: 1.10, 1e3 and true stay as written, not as a parser prints them.
        name = self.fresh()
        text = ('{"flow": "%s", "params": {"ver": 1.10, "exp": 1e3, "big": 12345678901234567890, '
                '"flag": true, "n": null}, "tasks": {"show": {"command": ["env"]}}}' % name)
        answer = self.system.rest.request("PUT", f"/api/v1/flows/{name}", text)
        self.assertEqual(answer.status, 201, answer)
        run = self.trigger(name)
        self.assertEqual(self.wait_run(run)["status"], "FINISHED")
        environment = dict(line.split("=", 1) for line in
                           self.output_of(run, "show").splitlines())
        self.assertEqual([environment.get(n) for n in ("ver", "exp", "big", "flag", "n")],
                         ["1.10", "1e3", "12345678901234567890", "true", None])
        # In a body of JSON alone a value of another type is refused, not turned into text.
        refused = self.system.rest.request("POST", f"/api/v1/flows/{name}/trigger",
                                           '{"params": {"ver": 1.10}}', accept=(400,))
        self.assertEqual(refused.json["field"], "params.ver")

    def test_bug_164_numbers_that_parsers_read_differently_are_refused(self):
        # One file for each value and key; never silently 8, 16 or 1.
        odd = ("010", "1e2", "0x10", "yes", "0o10", "0b11", "1_0", "+2", "2.0", "~", '"3"', "1:30")
        places = {"tasks.a.retry.max": "tasks: {a: {command: [x], retry: {max: VALUE}}}",
                  "tasks.a.weight": "tasks: {a: {command: [x], group: g, weight: VALUE}}",
                  "tasks.a.timeout": "tasks: {a: {command: [x], timeout: VALUE}}",
                  "tasks.a.retry.delay": "tasks: {a: {command: [x], retry: {delay: VALUE}}}",
                  "overlap.max_runs":
                      "overlap: {policy: parallel, max_runs: VALUE}\ntasks: {a: {noop: true}}",
                  "schedule.count": "schedule: {every: 1h, count: VALUE}\ntasks: {a: {noop: true}}",
                  "schedule.misfire.max":
                      "schedule: {every: 1h, misfire: {policy: all, max: VALUE}}\n"
                      "tasks: {a: {noop: true}}",
                  "tasks.a.hold": "tasks: {a: {command: [x], hold: VALUE}}",
                  "timeout": "timeout: VALUE\ntasks: {a: {noop: true}}"}
        name = self.fresh()
        for place, body in places.items():
            for value in odd:
                text = f"flow: {name}\n" + body.replace("VALUE", value) + "\n"
                answer = self.put_flow(name, text)
                self.assertEqual((answer.status, answer.code), (400, "invalid_definition"),
                                 (text, answer))
                keys = [error["key"] for error in answer.json["errors"]]
                self.assertEqual(keys, [place], answer)
                self.assertIn("expected", answer.json["errors"][0]["message"])
        for place in ("tasks.a.retry.max", "overlap.max_runs"):
            text = f"flow: {name}\n" + places[place].replace("VALUE", "010") + "\n"
            code, out, err = self.verb("flow", "apply", self.file(text))
            self.assertEqual(code, 2, out + err)
            self.assertIn(place, out + err)
        self.assertEqual(self.system.get(f"/api/v1/flows?q={name}")["items"], [])
        plain = f"flow: {name}\ntasks: {{a: {{command: ['true'], retry: {{max: 10}}, timeout: 100s}}}}\n"
        self.assertEqual(self.put_flow(name, plain).status, 201)
        task = self.tasks_of(self.trigger(name))["a"]
        full = self.system.task(task["id"])
        self.assertEqual((full["retry"]["max"], full["timeout"]), (10, "100s"))

    def test_bug_164_relatives_numbers_of_the_settings_and_of_the_api(self):
        # The same in settings files, environment, command line and JSON bodies.
        for value in ("0x10", "1e2", "yes", "+3", "4.0"):
            code, _, err = self.verb("task", "list", "--limit", value)
            self.assertEqual(code, 2, (value, err))
            answer = self.system.rest.request(
                "GET", f"/api/v1/tasks?limit={value.replace('+', '%2B')}", accept=(400,))
            self.assertEqual(answer.json["field"], "limit")
        for value in ("010", "0x10", "1e2", "yes", "+3", "4.0"):
            path = self.file(f"standalone:\n  runners: {value}\n")
            code, said = run_baton("config", "check", path)
            self.assertNotEqual(code, 0, (value, said))
            self.assertIn("runners", said)
            code, said = run_baton("standalone", settings={
                "standalone.runners": value, "standalone.data_dir": self.system.file("never")})
            self.assertNotEqual(code, 0, (value, said))
            self.assertFalse(os.path.exists(self.system.file("never")))
            for verb in (("schedule", "preview", "--cron", "0 2 * * *", "--timezone", "UTC", "-n"),
                         ("flow", "backfill", "f", "--at", "2026-01-01T00:00:00Z", "--parallel")):
                code, out, err = self.verb(*verb, value)
                self.assertEqual(code, 2, (verb, value, out, err))
        for value in ("1e2", "4.0", '"4"', "true", "null"):
            body = '{"command": ["true"], "retry": {"max": %s}}' % value
            answer = self.system.rest.request("POST", "/api/v1/tasks", body, accept=(400,))
            self.assertEqual(answer.json["field"], "retry.max", (value, answer))


if __name__ == "__main__":
    unittest.main()
