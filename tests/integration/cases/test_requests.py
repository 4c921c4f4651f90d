"""Wrong, hostile and slow requests, on one real standalone."""

import http.client
import json
import os
import random
import socket
import time
import unittest
import uuid

from case_support import (DrillCase, SharedCase, Standalone, free_port, long_run, raw_request,
                          run_baton, sh)

ROUTES = [("GET", "/api/v1/cluster"), ("POST", "/api/v1/tasks"), ("POST", "/api/v1/tasks/bulk"),
          ("GET", "/api/v1/tasks"), ("GET", "/api/v1/tasks/{id}"),
          ("GET", "/api/v1/tasks/{id}/attempts"), ("POST", "/api/v1/tasks/{id}/stop"),
          ("POST", "/api/v1/tasks/{id}/skip"), ("POST", "/api/v1/tasks/{id}/hold"),
          ("POST", "/api/v1/tasks/{id}/release"), ("POST", "/api/v1/tasks/{id}/rerun"),
          ("POST", "/api/v1/tasks/{id}/force-success"), ("GET", "/api/v1/tasks/{id}/logs"),
          ("GET", "/api/v1/tasks/{id}/logs/download"), ("GET", "/api/v1/runners"),
          ("GET", "/api/v1/hosts"), ("GET", "/api/v1/cluster/history"),
          ("POST", "/api/v1/cluster/verify"), ("GET", "/api/v1/stats"),
          ("GET", "/api/v1/internals"), ("GET", "/api/v1/callbacks/dead"),
          ("GET", "/api/v1/audit"), ("GET", "/api/v1/openapi.json"), ("GET", "/metrics"),
          ("POST", "/api/v1/runners/{runner}/heartbeat")]


class Requests(SharedCase):
    @classmethod
    def make(cls):
        return Standalone(runners=2, heartbeat="1s")

    def send(self, body, path="/api/v1/tasks", key=None, headers=None):
        return self.system.rest.once(self.system.rest.addresses[0], "POST", path, body, key, 20,
                                     headers)

    def total(self):
        return self.system.get("/api/v1/tasks?limit=1&total=true")["total"]

    def test_every_wrong_submit_is_refused_with_the_right_answer(self):
        # Each kind of bad input has its status, names its field, and leaves nothing behind.
        before = self.total()
        true = {"command": ["true"]}
        deep = '{"command": ["true"], "params": ' + '{"a":' * 200 + "1" + "}" * 200 + "}"
        for what, body, status, field in [
                ("unknown field", {**true, "colour": "red"}, 400, "colour"),
                ("wrong type", {"command": "true"}, 400, "command"),
                ("wrong type inside", {"command": ["true", 7]}, 400, None),
                ("wrong type of retry", {**true, "retry": 3}, 400, "retry"),
                ("unknown field inside", {**true, "retry": {"maximum": 3}}, 400, "retry.maximum"),
                ("empty command", {"command": []}, 400, "command"),
                ("empty program", {"command": [""]}, 400, "command[0]"),
                ("no command", {"name": "x"}, 400, "command"),
                ("both", {**true, "script": "true"}, 400, None),
                ("a name of 129", {**true, "name": "n" * 129}, 400, "name"),
                ("a name of 129 wide characters", {**true, "name": "漢" * 129}, 400, "name"),
                ("an empty name", {**true, "name": ""}, 400, "name"),
                ("a bad duration", {**true, "timeout": "soon"}, 400, "timeout"),
                ("a negative duration", {**true, "timeout": "-5s"}, 400, "timeout"),
                ("a number as duration", {**true, "timeout": 5}, 400, "timeout"),
                ("an unknown priority", {**true, "priority": "urgent"}, 400, "priority"),
                ("a zero byte", {"command": ["tr\0ue"]}, 400, "command"),
                ("a relative directory", {**true, "dir": "tmp"}, 400, "dir"),
                ("a bad variable", {**true, "env": {"A-B": "1"}}, 400, "env.A-B"),
                ("our own variable", {**true, "env": {"BATON_TASK_ID": "1"}}, 400, None),
                ("an unsupported field", {**true, "run_as": "root"}, 400, "run_as"),
                ("a bad time", {**true, "not_before": "tomorrow"}, 400, "not_before"),
                ("a bad callback", {**true, "callback": {"url": "gopher://x/"}}, 400, None),
                ("a parameter of 3 MB", {**true, "params": {"a": "x" * 3_000_000}}, 413, "params"),
                ("deep nesting", deep, 400, None),
                ("very deep nesting", "[" * 100_000, 400, None),
                ("bad UTF-8", b'{"command": ["tru\xff\xfe"]}', 400, None),
                ("half a surrogate", '{"command": ["\\ud800"]}', 400, None),
                ("a duplicate key", '{"command": ["true"], "command": ["false"]}', 400, None),
                ("bad JSON", '{"command": ["true"', 400, None),
                ("text behind", '{"command": ["true"]} x', 400, None),
                ("no object", "[]", 400, None), ("null", "null", 400, None),
                ("nothing", "", 400, None),
                ("a huge number", '{"retry": {"max": 1e400}}', 400, None),
                ("over 16 MB", b" " * 17_000_000, 413, None)]:
            with self.subTest(what):
                answer = self.send(body)
                self.assertEqual(answer.status, status, answer)
                self.assertEqual(answer.headers["content-type"].split(";")[0],
                                 "application/problem+json")
                if field:
                    self.assertEqual(answer.json["field"], field)
        self.assertEqual(raw_request(self.system.port, (
            "POST /api/v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n"
            f"Authorization: Bearer {self.system.token}\r\nContent-Length: 22\r\n\r\n").encode(),
            b'{"command": ["true"]} '), 415)
        for key in ("", "k" * 129, "ключ".encode().decode("latin-1")):
            answer = self.send(true, headers={"Idempotency-Key": key})
            self.assertEqual(answer.status, 400, key)
        self.assertEqual(self.total(), before)

    def test_one_wrong_task_refuses_the_whole_bulk(self):
        # All or nothing.
        before = self.total()
        good = {"command": ["true"], "hold": True}
        for wrong in ({"command": []}, {**good, "x": 1}, 7, None, {**good, "name": "n" * 200}):
            for place in (0, 50, 99):
                tasks = [good] * 99
                tasks.insert(place, wrong)
                answer = self.send({"tasks": tasks}, "/api/v1/tasks/bulk")
                self.assertEqual(answer.status, 400, answer)
                if wrong is not None and wrong != 7:
                    self.assertTrue(answer.json["field"].startswith(f"tasks[{place}]"), answer)
        self.assertEqual(self.send({"tasks": []}, "/api/v1/tasks/bulk").status, 400)
        self.assertEqual(self.send({"tasks": [good] * 10_001}, "/api/v1/tasks/bulk").status, 413)
        self.assertEqual(self.total(), before)

    def test_a_label_that_nobody_has_is_a_reason_of_waiting(self):
        # Not an error: the host may come. Why it waits is told.
        task = self.system.submit({"command": ["true"], "labels": {"zone": "nowhere"}})
        seen = self.system.wait_status(task, "QUEUED")
        self.assertEqual(seen["waiting_for"]["code"], "no_runner_matches")
        self.assertIn("nowhere", seen["waiting_for"]["text"])
        self.system.rest.act(task, "stop")

    def test_no_address_answers_without_the_right_token(self):
        # BUG-170: no header, empty, null, wrong case, 64 KB, the wrong scheme: 401 everywhere.
        before = self.total()
        held = self.system.submit({"command": ["true"], "hold": True})
        token = self.system.token
        bad = [None, "", "Bearer", "Bearer ", "Bearer null", "null", "Bearer " + token.swapcase(),
               "Bearer " + "x" * 65536, "Basic " + token, token, "Bearer " + token + "x",
               "Bearer " + token[:-1], "Bearer " + token + " " + token]
        for method, path in ROUTES:
            path = path.format(id=held, runner="forged:0")
            worker_only = "heartbeat" in path
            for value in bad:
                link = http.client.HTTPConnection(self.system.rest.addresses[0], timeout=10)
                headers = {} if value is None else {"Authorization": value}
                body = '{"command": ["true"], "status": "IDLE"}' if method == "POST" else None
                link.request(method, path, body=body, headers=headers)
                answer = link.getresponse()
                self.assertEqual(answer.status, 401, (method, path, (value or "")[:40]))
                self.assertTrue(answer.getheader("WWW-Authenticate"))
                link.close()
            other = self.system.rest if worker_only else self.system.worker_rest
            if path != "/api/v1/cluster":
                answer = other.once(other.addresses[0], method, path,
                                    {"status": "IDLE"} if method == "POST" else None)
                self.assertEqual(answer.status, 403, (method, path))
        self.assertEqual(self.system.task(held)["status"], "CREATED")
        self.assertEqual(self.total(), before + 1)
        self.assertNotIn("forged:0", json.dumps(self.system.get("/api/v1/runners")))
        self.system.rest.act(held, "stop")

    def test_a_forged_report_changes_nothing(self):
        # BUG-171: runner 2 can't report the end of what runner 1 runs.
        task = self.system.submit({"command": ["sleep", "30"]})
        running = self.system.wait_status(task, "RUNNING")
        forger = self.system.runner("forger:0")
        for status, fields in [("FINISHED", {"return_code": 0}), ("RUNNING", {}),
                               ("FAILED", {"return_code": 1, "reason": "exit_code"})]:
            answer = forger.send(forger.report(status, current_task=task, attempt=1, run_ms=1,
                                               ended_ms=0, **fields))
            self.assertIn(answer.status, (200, 403), answer)
            if answer.status == 200:
                self.assertEqual(answer.json["command"], "RESET")
        # Nor under the right name with another journal or a guessed nonce.
        thief = self.system.runner(running["runner_id"])
        for fields in ({"nonce": "0" * 16}, {"nonce": "0" * 16, "incarnation": 10_000}):
            thief.send(thief.report("FINISHED", current_task=task, attempt=1, return_code=0,
                                    run_ms=1, ended_ms=0, **fields))
        now = self.system.task(task)
        self.assertEqual((now["status"], now["attempt"], now["runner_id"]),
                         ("RUNNING", 1, running["runner_id"]))
        self.system.rest.act(task, "stop")
        self.assertEqual(self.system.wait_task(task)["status"], "TERMINATED")

    def test_a_log_request_never_leaves_the_folder_of_its_task(self):
        # BUG-166: neither tricks with the path nor a link laid by a task.
        secret = self.system.file("secret")
        with open(secret, "w") as file:
            file.write("root:TOP-SECRET\n")
        plant = self.run_task(sh(
            f'base=$(dirname "$(dirname "$(dirname "$BATON_OUTPUT")")")\n'
            f'logs="$base/logs/$BATON_TASK_ID/$BATON_ATTEMPT"\n'
            f'mkdir -p "$logs"; rm -f "$logs/stdout" "$logs/stderr"\n'
            f'ln -s "{secret}" "$logs/stdout"; ln -s /etc/passwd "$logs/stderr"; echo out'))
        task = plant["id"]
        port = int(self.system.rest.addresses[0].rpartition(":")[2])
        answers = []
        for stream in ("stdout", "stderr"):
            for path in (f"/api/v1/tasks/{task}/logs?stream={stream}",
                         f"/api/v1/tasks/{task}/logs/download?stream={stream}"):
                link = http.client.HTTPConnection(self.system.rest.addresses[0], timeout=10)
                link.request("GET", path, headers={"Authorization": f"Bearer {self.system.token}"})
                reply = link.getresponse()
                answers.append((path, reply.status, reply.read()))
                link.close()
        names = ["../../etc/passwd", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "..%5c..%5cetc%5cpasswd",
                 "/etc/passwd", "%2fetc%2fpasswd", "stdout%00", "..", "%00", "stdout/../../secret"]
        paths = [f"/api/v1/tasks/{task}/logs?stream={name}" for name in names]
        paths += [f"/api/v1/tasks/{name}/logs" for name in names]
        paths += [f"/api/v1/tasks/{task}/logs?attempt={name}" for name in names]
        paths += [f"/api/v1/tasks/{task}/logs/{name}" for name in names]
        worker = self._worker_address()
        tries = [(port, self.system.token, path) for path in paths]
        tries += [(worker, self.system.worker_token, path) for name in names for path in
                  (f"/api/v1/attempts/{task}/1/logs?stream={name}",
                   f"/api/v1/attempts/{name}/1/logs", f"/api/v1/attempts/{task}/{name}/logs",
                   f"/api/v1/attempts/{task}/1/{name}", f"/{name}")]
        for to, token, path in tries:
            link = socket.create_connection(("127.0.0.1", to), 10)
            link.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                         f"Authorization: Bearer {token}\r\n\r\n".encode())
            text = b"".join(iter(lambda: link.recv(65536), b""))
            link.close()
            status = int(text.split(b" ", 2)[1])
            self.assertIn(status, (400, 403, 404), (path, text[:200]))
            answers.append((path, status, text))
        for path, status, body in answers:
            self.assertNotIn(b"TOP-SECRET", body, path)
            self.assertNotIn(b"root:x:", body, path)
        # The worker itself serves nothing without its token.
        self.assertEqual(raw_request(worker, f"GET /api/v1/attempts/{task}/1/logs HTTP/1.1\r\n"
                                             "Host: x\r\n\r\n".encode()), 401)

    def _worker_address(self):
        hosts = self.system.get("/api/v1/hosts")["items"]
        address = next(h["address"] for h in hosts if h.get("address", "").startswith("127"))
        return int(address.rpartition(":")[2])

    def test_random_and_hostile_requests_do_no_harm(self):
        # 300 of them against every route: never a 5xx but 503, and it still works afterwards.
        seed = int(os.environ.get("BATON_FUZZ_SEED", random.randrange(1 << 32)))
        self.say("BATON_FUZZ_SEED =", seed)
        fuzz = _Fuzz(random.Random(seed), self.system)
        counts = {}
        for _ in range(3000 if long_run() else 300):
            head, body = fuzz.request()
            status = raw_request(self.system.port, head, body, 1)
            counts[status] = counts.get(status, 0) + 1
            # 505 is what another version of HTTP than 1.x is told.
            well = status is None or status < 500 or status == 503 or (
                status == 505 and not any(b" HTTP/1.%d\r\n" % n in head for n in (0, 1)))
            self.assertTrue(well, (status, head[:500], body[:500]))
        self.say(counts)
        self.assertEqual(raw_request(self.system.port, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"),
                         200)
        self.assertTrue(self.system.running("standalone"))
        for task in list(self.system.rest.tasks(status="CREATED,QUEUED,RETRYING")):
            self.system.rest.act(task["id"], "stop", accept=(200, 409))
        self.assertEqual(self.run_task({"command": ["true"]})["status"], "FINISHED")
        self.assertEqual(self.system.post("/api/v1/cluster/verify")["differences"], [])


class _Fuzz:
    def __init__(self, dice, system):
        self.dice = dice
        self.system = system

    def request(self):
        method, path = self.dice.choice(ROUTES)
        worker = "heartbeat" in path
        ids = ["1", "0", "-1", "99999999999999999999", "10001", "x", "%00", "..", "１"]
        path = path.format(id=self.dice.choice(ids).encode().decode("latin-1"),
                           runner=self.dice.choice(["fuzz:0", "a" * 300, "%ff", ":", "x:999999"]))
        if self.dice.random() < 0.2:
            method = self.dice.choice(["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS",
                                       "TRACE", "CONNECT", "get", "X" * 50, ""])
        if self.dice.random() < 0.4:
            path += "?" + self._query()
        body = self._body(worker) if method != "GET" or self.dice.random() < 0.1 else b""
        token = self.system.worker_token if worker else self.system.token
        lines = [f"{method} {path} HTTP/{self.dice.choice(['1.1'] * 27 + ['1.0', '2.0', 'x'])}",
                 "Host: x", "Connection: close", f"Authorization: Bearer {token}"]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        for _ in range(self.dice.choice([0, 0, 0, 1, 2])):
            lines.append(self.dice.choice([
                "Content-Length: 3", "Content-Length: -1", "Transfer-Encoding: chunked", "X: " +
                "y" * 5000, "Idempotency-Key: fuzz", "Expect: 100-continue", " folded: x",
                "Content-Type: application/json", "Accept: text/html", "Range: bytes=0-1",
                "Authorization: Bearer other", "Bad Header: 1", "Content-Encoding: gzip", ": x"]))
        if self.dice.random() < 0.05:
            self.dice.shuffle(lines)
        head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
        if self.dice.random() < 0.05:
            spoiled = bytearray(head)
            for _ in range(3):
                spoiled[self.dice.randrange(len(spoiled))] = self.dice.randrange(256)
            head = bytes(spoiled)
        return head, body

    def _query(self):
        names = ["status", "limit", "cursor", "offset", "tail", "stream", "attempt", "q", "total",
                 "created_from", "reason", "host", "x", "", "priority", "name", "tag"]
        values = ["1", "-1", "0", "1e9", "99999999999999999999", "FAILED", "success", "%ff", "%",
                  "'",
                  "%27%20OR%201=1--", "", "true", "t-1", "t-ffffffffffffffff", "stdout", "%00",
                  "2026-01-01T00:00:00Z", "9999-99-99T99:99:99Z", "%25%25", "a" * 2000]
        return "&".join(f"{self.dice.choice(names)}={self.dice.choice(values)}"
                        for _ in range(self.dice.randrange(1, 4)))

    def _value(self, depth=0):
        kind = self.dice.randrange(9 if depth < 4 else 6)
        if kind == 6:
            return [self._value(depth + 1) for _ in range(self.dice.randrange(4))]
        if kind >= 7:
            return {self._word(): self._value(depth + 1) for _ in range(self.dice.randrange(4))}
        return [None, True, self.dice.choice([0, -1, 2**63, 2**64, 1.5, 1e308, -2**63]),
                self._word(), "😀" * self.dice.randrange(5), ""][kind]

    def _word(self):
        return self.dice.choice(["command", "name", "true", "1s", "high", "x" * 200, "\0", "status",
                                 "IDLE", "tasks", "retry", "max", "..", "'; DROP TABLE task; --"])

    def _body(self, worker):
        roll = self.dice.random()
        if roll < 0.1:
            return bytes(self.dice.randrange(256) for _ in range(self.dice.randrange(1, 300)))
        base = ({"status": "IDLE", "current_task": "1", "attempt": 1, "incarnation": 1, "seq": 1,
                 "journal_id": "f", "worker_id": "fuzz", "epoch": 0, "last_order": {"task": "1"},
                 "wait_ms": 0, "runner_config": {"labels": {}}} if worker else
                {"command": ["true"], "name": "fuzz", "hold": True, "retry": {"max": 1},
                 "labels": {"zone": "fuzz"}, "tags": ["fuzz"], "timeout": "1s",
                 "params": {"A": "b"}})
        for _ in range(self.dice.randrange(4)):
            name = self.dice.choice([*base, self._word()])
            if self.dice.random() < 0.3:
                base.pop(name, None)
            else:
                base[name] = self._value()
        base["hold"] = True if not worker else base.get("hold", None)
        if worker:
            base.pop("hold")
        bulk = not worker and self.dice.random() < 0.2
        text = json.dumps({"tasks": [base, base]} if bulk else base,
                          ensure_ascii=self.dice.random() < 0.5).encode()
        if roll < 0.2:
            cut = self.dice.randrange(len(text))
            text = text[:cut] + bytes([self.dice.randrange(256)]) + text[cut + 1:]
        return text


class Tokens(DrillCase):
    def test_nothing_starts_with_a_well_known_or_missing_secret(self):
        # BUG-170, BUG-171: no secret, a short one, or the word of a sample.
        folder = self.standalone(start=False)
        for token, worker in [("changeme", "w" * 40), ("c" * 40, "default_token"), ("", "w" * 40),
                              ("c" * 40, None), ("c" * 40, "c" * 40), ("null", "w" * 40),
                              ("x y" * 20, "w" * 40)]:
            data = folder.file("data-" + uuid.uuid4().hex[:8])
            os.makedirs(data)
            for name, text in (("token", token), ("worker_token", worker)):
                if text is None:
                    continue
                with os.fdopen(os.open(os.path.join(data, name), os.O_CREAT | os.O_WRONLY, 0o600),
                               "w") as file:
                    file.write(text)
            if worker is None:
                os.mkdir(os.path.join(data, "worker_token"))  # Not a file at all.
            code, said = run_baton("standalone", env={"HOME": folder.path}, settings={
                "standalone.data_dir": data, "http.port": free_port()})
            self.assertNotEqual(code, 0, (token, worker))
            self.assertIn("token", said)
            for secret in (token, worker):
                if secret and len(secret) >= 40:
                    self.assertNotIn(secret, said)


class SlowClients(DrillCase):
    def test_half_sent_requests_hold_up_no_heartbeat(self):
        # BUG-174: 500 dripping connections and 64 idle ones cost no thread.
        system = self.standalone(runners=20, heartbeat="1s")
        dripping = [socket.create_connection(("127.0.0.1", system.port), 10) for _ in range(500)]
        idle = [socket.create_connection(("127.0.0.1", system.port), 10) for _ in range(64)]
        for link in idle:
            link.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertIn(b"200", link.recv(4096)[:20])
        head = b"POST /api/v1/tasks HTTP/1.1\r\nHost: x\r\n"
        probes = [system.runner(f"probe:{n}") for n in range(20)]
        slowest, began = 0.0, time.monotonic()
        for step in range(3):
            for link in dripping:
                try:
                    link.sendall(head[step:step + 1])
                except OSError:
                    pass
            until = began + 5 * (step + 1)
            while time.monotonic() < until:
                for probe in probes:
                    sent = time.monotonic()
                    # Labels keep tasks away from runners that only beat.
                    self.assertEqual(probe.send(probe.report("IDLE")).status, 200)
                    slowest = max(slowest, time.monotonic() - sent)
                time.sleep(0.5)
        self.say(f"slowest heartbeat {slowest * 1000:.0f} ms")
        self.assertLess(slowest, 1.0)
        runners = [r for r in system.get("/api/v1/runners")["items"]
                   if not r["runner_id"].startswith("probe")]
        self.assertEqual(len(runners), 20)
        self.assertEqual({r["state"] for r in runners}, {"idle"})
        closed = 0
        for link in dripping:
            link.settimeout(5)
            try:
                while link.recv(4096):
                    pass
                closed += 1
            except ConnectionError:
                closed += 1
            except TimeoutError:
                pass
        self.assertEqual(closed, 500)  # Past the limit of 10 s for a head.
        for link in dripping + idle:
            link.close()


if __name__ == "__main__":
    unittest.main()
