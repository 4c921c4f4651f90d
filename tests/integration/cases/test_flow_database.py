"""Flows in a MariaDB that takes packets of 1 MB: wide characters, long texts, times at the end of a
second, definitions of any size (BUG-137, 138, 139 and 142; those of tasks are in test_database)."""

import json
import random
import time
import unittest
import uuid

from case_support import Cluster, Receiver, SharedCase, eventually
from flow_calls import FlowCalls, moment

WIDE = "😀 🏁 naïve 𐍈 漢字 𝒻𝓁"


class FlowsOnMariadb(FlowCalls, SharedCase):
    @classmethod
    def make(cls):
        return Cluster(masters=2, workers=1, runners=8, heartbeat="500ms",
                       db_args="--max-allowed-packet=1M")

    def setUp(self):
        super().setUp()
        self.name = "d-" + uuid.uuid4().hex[:8]

    def finished(self, run, **options):
        done = self.wait_run(run, **options)
        self.assertEqual(done["status"], "FINISHED", self.tasks_of(run))
        return done

    def switch(self):
        """Another master leads; what it knows it read from the database."""
        old = self.system.wait_active()
        self.system.wait_standby()
        self.system.kill(old)
        self.system.wait_active(15, besides=old)
        self.system.start_master(old)

    # Text -----------------------------------------------------------------------------------

    def test_bug_137_wide_characters_of_flows_are_kept(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        definition = {
            "flow": self.name, "description": WIDE, "owner": "ops 🚀",
            "params": {"text": WIDE, "over": "x"},
            "callbacks": [{"url": receiver.url(), "on": ["finished", "failed"]}],
            "tasks": {"first": {"script": 'printf "out=%s\\n" "$text" >"$BATON_OUTPUT"\n'
                                          'printf "line\\nlast 🎉 %s" "$over"', "outputs": ["out"]},
                      "then": {"command": ["sh", "-c", 'printf "%s" "$1"', "x", "${first.out} ⇒ 🏁"],
                               "needs": ["first"], "description": WIDE, "env": {"E": WIDE}},
                      "bad": {"command": ["/nowhere/🚀"], "on_failure": "ignore"},
                      "never": {"command": ["true"], "needs": ["first"],
                                "when": '"${first.out}" == "😀"'}}}
        self.apply(definition)
        run = self.trigger(self.name, params={"over": WIDE})
        self.finished(run)
        for look in ("at once", "after a takeover"):
            self.assertEqual(self.output_of(run, "first"), f"line\nlast 🎉 {WIDE}", look)
            self.assertEqual(self.output_of(run, "then"), f"{WIDE} ⇒ 🏁", look)
            tasks = self.tasks_of(run)
            self.assertEqual(tasks["first"]["outputs"], {"out": WIDE}, look)
            self.assertIn("/nowhere/🚀", tasks["bad"]["reason_text"], look)
            self.assertEqual(tasks["never"]["status"], "SKIPPED", look)
            self.assertEqual(self.run_of(run)["params"]["over"], WIDE, look)
            self.assertEqual(json.loads(self.flow(self.name)["text"]), definition, look)
            code, out, err = self.verb("flow", "get", self.name, "-o", "yaml")
            self.assertEqual((code, json.loads(out)), (0, definition), err)
            if look == "at once":
                self.switch()
        stored = self.system.sql("SELECT HEX(text_body) FROM flow_version WHERE flow_key = "
                                 f"'{self.name}'")[0][0]
        self.assertIn(WIDE, json.loads(bytes.fromhex(stored).decode())["description"])
        eventually(lambda: receiver.requests, 5, "the callback")

    def test_bug_137_names_have_plain_characters_and_the_refusal_shows_what_was_sent(self):
        # A name of a flow is part of addresses and variables: letters, digits, ". _ -".
        answer = self.put_flow("%F0%9F%9A%80", {"flow": "🚀", "tasks": {"a": {"noop": True}}})
        self.assertEqual(answer.status, 400, answer)
        self.assertIn("🚀", answer.json["detail"])
        answer = self.put_flow(self.name, {"flow": self.name, "tasks": {"😀": {"noop": True}}})
        self.assertEqual((answer.status, answer.code), (400, "invalid_definition"), answer)
        self.assertIn("😀", answer.json["detail"])
        # Events carry any text.
        key = "日付 🏁"
        sent = self.system.post("/api/v1/events", {"name": self.name, "key": key,
                                                   "data": {"rows": WIDE}})
        again = self.system.post("/api/v1/events", {"name": self.name, "key": key})
        self.assertEqual((again["known"], again["id"]), (True, sent["id"]))
        [event] = self.system.get(f"/api/v1/events?name={self.name}")["items"]
        self.assertEqual((event["key"], event["data"]), (key, {"rows": WIDE}))

    def test_bug_138_long_texts_of_flows_are_cut_or_refused_and_nothing_hangs(self):
        # 100 KB of failure text in a task of a run; names and texts that are too long are refused.
        runner = self.system.runner("long:0", {"kind": "long"})
        self.apply({"flow": self.name, "tasks": {"a": {"command": ["true"],
                                                       "labels": {"kind": "long"}}}})
        for filler in ("x", "漢", "😀", "a😀"):
            text = filler * (100_000 // len(filler.encode()))
            run = self.trigger(self.name)
            runner.await_order()
            runner.finish(1, reason_text=text)
            self.assertEqual(self.wait_run(run)["status"], "FAILED")
            cut = self.tasks_of(run)["a"]["reason_text"]
            self.assertTrue(cut.endswith("…"), cut[-10:])
            self.assertTrue(text.startswith(cut[:-1]))
            reasons = self.system.get(f"/api/v1/runs/{run}/explain")["reasons"]
            self.assertIn(cut, " ".join(reasons))
        long = "漢" * 256
        for name, definition in ((None, {"flow": long, "tasks": {"a": {"noop": True}}}),
                                 (None, {"flow": "x" * 65, "tasks": {"a": {"noop": True}}}),
                                 ("tasks", {"flow": "f", "tasks": {"x" * 65: {"noop": True}}}),
                                 ("owner", {"flow": "f", "owner": "漢" * 129,
                                            "tasks": {"a": {"noop": True}}}),
                                 ("description", {"flow": "f", "description": "漢" * 4097,
                                                  "tasks": {"a": {"noop": True}}}),
                                 ("tags", {"flow": "f", "tags": ["x" * 65],
                                           "tasks": {"a": {"noop": True}}})):
            path = "".join(f"%{b:02X}" for b in definition["flow"].encode())
            answer = self.put_flow(path, definition)
            self.assertEqual(answer.status, 400, (name, answer))
            if name:
                self.assertIn(name, answer.json["detail"])
        fits = {"flow": self.name + "-fits", "owner": "漢" * 128, "description": "😀" * 4096,
                "tags": ["x" * 64] * 1, "params": {"p" * 64: "😀" * 20_000},
                "tasks": {"t" * 64: {"script": "true"}}}
        self.apply(fits)
        self.finished(self.trigger(fits["flow"]))
        self.assertEqual(json.loads(self.flow(fits["flow"])["text"]), fits)

    # Times ----------------------------------------------------------------------------------

    def test_bug_139_runs_asked_for_at_the_end_of_a_second_start_within_one(self):
        # 200 runs, begun at xx.500 to xx.999 s: no time is rounded into the future.
        self.apply({"flow": self.name, "overlap": {"policy": "parallel", "max_runs": 500},
                    "tasks": {"a": {"command": ["true"]}}})
        second = int(time.time()) + 1
        asked = {}
        for burst in range(4):
            for i in range(50):
                at = second + burst + 0.5 + 0.499 * i / 49
                time.sleep(max(0, at - time.time()))
                before = time.time()
                run = self.trigger(self.name)
                asked[run] = (before, time.time())
        late = []
        for run in asked:
            done = self.finished(run)
            task = self.tasks_of(run)["a"]
            for times in ([done[n] for n in ("created_at", "started_at", "finished_at")],
                          [task[n] for n in ("created_at", "queued_at", "started_at",
                                             "finished_at")],
                          [done["plan_time"], done["started_at"], task["started_at"],
                           task["finished_at"], done["finished_at"]]):
                at = [moment(t) for t in times]
                self.assertEqual(at, sorted(at), (done, task))
            late.append(moment(task["started_at"]) - moment(done["plan_time"]))
            self.assertGreaterEqual(moment(done["plan_time"]), asked[run][0] - 0.001)
            self.assertLessEqual(moment(done["plan_time"]), asked[run][1] + 0.001)
        self.say(f"latest start {max(late) * 1000:.0f} ms after it was asked for")
        self.assertLess(max(late), 1.0)

    # Size -----------------------------------------------------------------------------------

    def definition(self, tasks, bytes_each, filler):
        text = f"flow: {self.name}\ntasks:\n"
        for i in range(tasks):
            # Most are passed over: their rows are as large as the others.
            head = f"  t{i}: {{command: ['true'], disabled: {str(i % 20 > 0).lower()}, env: {{A: "
            needs = f", needs: [t{i - 1}]" if i % 100 else ""
            size = max(0, bytes_each - len(head) - len(needs) - 6)
            text += head + "'" + filler * (size // len(filler.encode())) + "'}" + needs + "}\n"
        return text

    def test_bug_142_a_large_flow_is_saved_whole_or_refused(self):
        epoch = self.system.epoch()
        # 2,000 tasks; about 2 MB are more than a definition may have, what fits is stored whole.
        answer = self.put_flow(self.name, self.definition(2000, 1000, "x"))
        self.assertEqual(answer.status, 413, answer)
        self.assertIn("1048576", answer.json["detail"])
        code, _, err = self.verb("flow", "apply", self.written("large.yaml",
                                                               self.definition(2000, 1000, "x")))
        self.assertIn(code, (1, 2), err)
        self.assertIn("1048576", err)
        self.assertEqual(self.system.get(f"/api/v1/flows?q={self.name}")["items"], [])
        # The connection is as good as before; so is the database.
        self.assertEqual(self.run_task({"command": ["true"]})["status"], "FINISHED")
        # Escaping makes two bytes of a quote or a backslash: that is more than a packet holds.
        saved = []
        for filler, size in (("\\", 510), ('"', 510), ("\\", 250), ("x", 490), ("漢", 490)):
            text = self.definition(2000, size, filler)
            answer = self.put_flow(self.name, text)
            if size == 510:
                self.assertEqual((answer.status, answer.code), (413, "too_large"), answer)
                self.assertIn("max_allowed_packet", answer.json["detail"])
            else:
                saved.append(text)
                self.assertIn(answer.status, (200, 201), answer)
                self.assertEqual(answer.json["version"], len(saved))
            self.assertEqual(self.run_task({"command": ["true"]})["status"], "FINISHED")
        for version, text in enumerate(saved, 1):
            read = self.system.rest.request("GET", f"/api/v1/flows/{self.name}?version={version}",
                                            headers={"Accept": "application/yaml"})
            self.assertEqual(read.body.decode(), text)
        self.assertEqual(self.system.epoch(), epoch)
        self.say(f"{len(text.encode())} bytes of definition in a packet of 1 MB")
        began = time.monotonic()
        run = self.trigger(self.name)
        self.finished(run, timeout=60)
        self.say(f"2,000 tasks ran in {time.monotonic() - began:.1f} s")
        self.switch()
        read = self.system.rest.request("GET", f"/api/v1/flows/{self.name}",
                                        headers={"Accept": "application/yaml"})
        self.assertEqual(read.body.decode(), text)
        self.assertEqual(len(self.tasks_of(run)), 2000)
        self.assertEqual(self.system.post("/api/v1/cluster/verify", timeout=60,
                                          once_timeout=30)["differences"], [])

    def test_bug_142_relatives_many_and_large_things_in_one_request(self):
        # Parameters of a start, outputs, a backfill of thousands, data of an event.
        self.apply({"flow": self.name, "schedule": {"cron": "* * * * *", "timezone": "UTC"},
                    "params": {"p": None}, "overlap": {"policy": "parallel", "max_runs": 1000},
                    "tasks": {"a": {"noop": True}}})
        dice = random.Random(5)
        filler = "".join(dice.choice("'\"\\\n\t漢😀x") for _ in range(40_000))
        run = self.trigger(self.name, params={"p": filler})
        self.finished(run)
        self.assertEqual(self.run_of(run)["params"]["p"], filler)
        answer = self.system.rest.request(
            "POST", f"/api/v1/flows/{self.name}/trigger", {"params": {"p": "x" * 140_000}},
            accept=(400, 413))
        self.assertIn("131072", answer.json["detail"])
        made = self.system.post(f"/api/v1/flows/{self.name}/backfill", {
            "from": "2026-01-01T00:00:00Z", "to": "2026-01-02T09:19:00Z", "parallel": 100,
            "params": {"p": "\"" * 100}}, key=uuid.uuid4().hex, once_timeout=30)
        self.assertEqual(len(made["items"]), 2000)
        eventually(lambda: self.system.get(
            f"/api/v1/runs?backfill={made['id']}&status=finished&limit=1&total=true")["total"]
            == 2000, 60, "the end of the backfill", pause=0.2)
        event = self.system.post("/api/v1/events", {"name": self.name, "key": "1",
                                                    "data": {"p": filler[:15_000]}})
        [stored] = self.system.get(f"/api/v1/events?name={self.name}")["items"]
        self.assertEqual((stored["id"], stored["data"]["p"]), (event["id"], filler[:15_000]))


if __name__ == "__main__":
    unittest.main()
