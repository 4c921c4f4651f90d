"""Tasks of kind http and plug-ins, end to end: a real standalone, a real server, real programs."""

import json
import os
import shutil
import signal
import socket
import threading
import time
import unittest

from case_support import DrillCase, Receiver, SharedCase, Standalone, eventually, free_port, is_alive
from baton_cluster import ROOT

EXAMPLE = os.path.join(ROOT, "docs", "examples", "plugins", "baton-task-wait-for-file")


class Silent:
    """Takes connections and never answers."""

    def __init__(self):
        self.links = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            self.links.append(link)

    def answer(self, bytes_):
        """What the newest connection waits for."""
        self.links[-1].recv(65536)  # What is closed unread resets the connection.
        self.links[-1].sendall(bytes_)
        self.links[-1].close()

    def url(self):
        return f"http://127.0.0.1:{self.port}/slow"

    def close(self):
        self._listener.close()
        for link in self.links:
            link.close()


def children_of_tasks(system, word):
    """Living processes of the worker's tasks that have the word in their command line."""
    found = []
    for pid in os.listdir("/proc"):
        if not pid.isdigit():
            continue
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{pid}/environ", "rb") as file:
                environment = file.read()
        except OSError:
            continue
        if word.encode() in words and system.worker_data().encode() in environment:
            found.append(int(pid))
    return [pid for pid in found if is_alive(pid)]


class Requests(SharedCase):
    @classmethod
    def make(cls):
        return Standalone(runners=4, heartbeat="500ms")

    def setUp(self):
        super().setUp()
        self.receiver = Receiver()
        self.addCleanup(self.receiver.close)

    def http(self, url, timeout=30, fields=None, **http):
        return self.run_task({"http": {"url": url, **http}, **(fields or {})}, timeout)

    def out(self, task, stream="stdout"):
        return self.system.rest.output(task["id"], stream).decode()

    def test_a_request_that_is_answered_well_finishes(self):
        # Method, headers and body arrive; status and body are the output; no output is captured.
        done = self.http(self.receiver.url("/a?b=c"), method="POST", headers={"X-Job": "7"},
                         body='{"a": 1}')
        self.assertEqual((done["status"], done["return_code"], done["kind"]), ("FINISHED", 0, "http"))
        [request] = self.receiver.requests
        self.assertEqual((request["path"], request["body"]), ("/a?b=c", b'{"a": 1}'))
        self.assertEqual(request["headers"]["x-job"], "7")
        self.assertEqual(self.out(done), "200 OK\n\n")
        self.assertEqual(done["outputs"], {})
        self.assertEqual(done["http"]["method"], "POST")
        self.assertEqual(done["labels"], {"kind.http": "true"})

    def test_another_status_fails_with_a_sentence(self):
        self.receiver.answer = 503
        failed = self.http(self.receiver.url())
        self.assertEqual((failed["status"], failed["reason"], failed["return_code"]),
                         ("FAILED", "exit_code", 1))
        self.assertEqual(self.out(failed, "stderr"), f"GET {self.receiver.url()} was answered with "
                         "503 Service Unavailable, expected 2xx\n")
        self.assertEqual(self.http(self.receiver.url(), expect=[200, "500-503"])["status"], "FINISHED")

    def test_a_redirect_is_an_answer_like_others(self):
        self.receiver.answer, self.receiver.location = 302, self.receiver.url("/other")
        self.assertEqual(self.http(self.receiver.url("/first"))["return_code"], 1)
        self.assertEqual(self.receiver.paths(), ["/first"])

    def test_failures_are_retried_like_those_of_commands(self):
        answers = [500, 500, 200]
        self.receiver.answer = lambda _: answers.pop(0)
        done = self.http(self.receiver.url(), fields={"retry": {"max": 3, "delay": "50ms"}})
        self.assertEqual((done["status"], done["attempt"]), ("FINISHED", 3))

    def test_a_refused_connection_fails_at_once(self):
        port = free_port()
        failed = self.http(f"http://127.0.0.1:{port}/")
        self.assertEqual((failed["status"], failed["return_code"]), ("FAILED", 3))
        self.assertIn(f"127.0.0.1:{port}", self.out(failed, "stderr"))
        self.assertIn("refused", self.out(failed, "stderr"))

    def test_a_server_that_hangs_is_ended_by_the_timeout(self):
        silent = Silent()
        self.addCleanup(silent.close)
        failed = self.http(silent.url(), fields={"timeout": "1s", "kill_grace": "1s"})
        self.assertEqual((failed["status"], failed["reason"]), ("FAILED", "timeout"))
        self.assertEqual(children_of_tasks(self.system, "http-task"), [])

    def test_a_stop_ends_a_request_in_the_middle(self):
        silent = Silent()
        self.addCleanup(silent.close)
        task = self.system.submit({"http": {"url": silent.url()}})
        eventually(lambda: silent.links, 10, "the connection")
        self.system.wait_status(task, "RUNNING")
        self.system.rest.act(task, "stop")
        done = self.system.wait_task(task)
        self.assertEqual((done["status"], done["signal"]), ("TERMINATED", signal.SIGTERM))
        self.assertEqual(children_of_tasks(self.system, "http-task"), [])

    def test_the_body_becomes_an_output(self):
        # Of one line, of several, none that is too large: that fails and says so.
        server = Silent()
        self.addCleanup(server.close)
        for number, (body, value) in enumerate([
                (b"42\n", "42"), (b'{"a":\n [1, "x=y"]}\n\n', '{"a":\n [1, "x=y"]}'),
                ("größer".encode(), "größer"), (b"", "")], 1):
            task = self.system.submit({"http": {"url": server.url(), "capture": "answer"}})
            eventually(lambda n=number: len(server.links) == n, 10, "the connection")
            server.answer(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            done = self.system.wait_task(task)
            self.assertEqual((done["status"], done["outputs"]), ("FINISHED", {"answer": value}))
        task = self.system.submit({"http": {"url": server.url(), "capture": "answer"}})
        eventually(lambda: len(server.links) == 5, 10, "the connection")
        server.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n" + b"x" * 70000)
        failed = self.system.wait_task(task)
        self.assertEqual((failed["status"], failed["return_code"]), ("FAILED", 5))
        self.assertIn("70000 bytes", self.out(failed, "stderr"))
        self.assertEqual(failed["outputs"], {})

    def test_what_can_never_be_sent_is_refused_at_once(self):
        for http, field, code in [({"url": "https://x"}, "http.url", "unsupported"),
                                  ({"url": "http://127.0.0.1:99999/"}, "http.url",
                                   "invalid_argument"),
                                  ({"url": "http://x", "expect": 99}, "http.expect",
                                   "invalid_argument")]:
            answer = self.system.rest.once(self.system.rest.addresses[0], "POST",
                                           "/api/v1/tasks/bulk", {"tasks": [{"http": http}]})
            self.assertEqual((answer.status, answer.code), (400, code), answer)
            self.assertEqual(answer.json["field"], f"tasks[0].{field}")


class AfterACrash(DrillCase):
    def test_a_request_goes_on_when_the_daemon_is_killed(self):
        # The one that restarts takes the answer: one request, one attempt, its outputs.
        system = self.standalone(runners=2, heartbeat="500ms")
        server = Silent()
        self.addCleanup(server.close)
        task = system.submit({"http": {"url": server.url(), "capture": "answer"}})
        eventually(lambda: server.links, 10, "the connection")
        system.wait_status(task, "RUNNING")
        [child] = children_of_tasks(system, "http-task")
        system.kill("standalone")
        self.assertTrue(is_alive(child))
        system.start()
        self.assertEqual(system.task(task)["status"], "RUNNING")
        server.answer(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nlate")
        done = system.wait_task(task)
        self.assertEqual((done["status"], done["outputs"]), ("FINISHED", {"answer": "late"}))
        self.assertEqual((len(server.links), len(system.rest.attempts(task))), (1, 1))


class PlugIns(DrillCase):
    def setUp(self):
        super().setUp()
        # One runner: what the host announces is what it announces.
        self.system = self.standalone(runners=1, heartbeat="500ms", start=False)
        self.folder = self.system.file("plugins")
        os.mkdir(self.folder, 0o755)
        self.system.settings["standalone.plugins"] = self.folder

    def put(self, kind, script, mode=0o755):
        path = os.path.join(self.folder, f"baton-task-{kind}")
        with open(path + ".new", "w") as file:
            file.write(script)
        os.chmod(path + ".new", mode)
        os.rename(path + ".new", path)
        return path

    def kinds(self):
        """What the worker announces, without the prefix."""
        hosts = self.system.get("/api/v1/hosts")["items"]
        return sorted(name.removeprefix("kind.") for host in hosts for name in host["labels"])

    def wait_kinds(self, *kinds):
        eventually(lambda: self.kinds() == sorted(kinds), 10, f"the kinds {kinds}")

    def run_task(self, task, timeout=30):
        return self.system.wait_task(self.system.submit(task), timeout)

    def test_a_plug_in_gets_its_task_and_its_outputs_count(self):
        # The whole description on standard input, the environment beside it, outputs, exit code.
        self.put("echo", '#!/bin/sh\ncat\necho "shown $BATON_ATTEMPT $P" >&2\n'
                 'echo "rows=3" >> "$BATON_OUTPUT"\nexit 0\n')
        self.system.start()
        self.wait_kinds("http", "echo")
        with_ = {"a": [1, "1.10", None, {"b": True}], "text": "two\nlines"}
        done = self.run_task({"name": "n", "kind": "echo", "with": with_, "params": {"P": "p"},
                              "env": {"E": "e"}, "timeout": "90s"})
        self.assertEqual((done["status"], done["outputs"]), ("FINISHED", {"rows": "3"}))
        self.assertEqual(done["with"], with_)
        got = json.loads(self.system.rest.output(done["id"]))
        self.assertEqual(got["with"], with_)
        self.assertEqual((got["id"], got["attempt"], got["name"], got["kind"], got["timeout_ms"]),
                         (done["id"], 1, "n", "echo", 90000))
        self.assertEqual((got["params"], got["env"]), ({"P": "p"}, {"E": "e"}))
        self.assertEqual(self.system.rest.output(done["id"], "stderr"), b"shown 1 p\n")

    def test_a_plug_in_is_stopped_like_a_command(self):
        # Exit codes, the timeout, and no descendant that is left.
        self.put("tree", '#!/bin/sh\nsleep 1000 &\nsetsid sleep 1000 &\necho $!\n'
                 'case "$(cat)" in *leave*) exit 7;; esac\nwait\n')
        self.system.start()
        self.wait_kinds("http", "tree")
        left = self.run_task({"kind": "tree", "with": {"do": "leave"}})
        self.assertEqual((left["reason"], left["return_code"]), ("exit_code", 7))
        over = self.run_task({"kind": "tree", "timeout": "500ms", "kill_grace": "1s"})
        self.assertEqual(over["reason"], "timeout")
        for task in (left, over):
            self.assertFalse(is_alive(int(self.system.rest.output(task["id"]))))

    def test_plug_ins_come_and_go_while_the_worker_runs(self):
        # What nobody has waits and says so by name; a new one is announced without a restart; what
        # vanished is not announced any more.
        self.system.start()
        task = self.system.submit({"kind": "late", "with": {}})
        self.wait_kinds("http")
        waiting = self.system.task(task)["waiting_for"]
        self.assertEqual(waiting["code"], "no_runner_matches")
        self.assertEqual(waiting["text"],
                         "no runner announces the kind late (plug-in baton-task-late)")
        path = self.put("late", "#!/bin/sh\necho here\n")
        self.assertEqual(self.system.wait_task(task)["status"], "FINISHED")
        os.unlink(path)
        self.wait_kinds("http")
        task = self.system.submit({"kind": "late", "dispatch_timeout": "500ms"})
        self.assertEqual(self.system.wait_task(task)["reason"], "dispatch_timeout")

    def test_a_plug_in_that_vanished_before_the_start_is_start_failed(self):
        # The heartbeat that announced it is still held when the order for it is given.
        self.system.settings["heartbeat.interval"] = "20s"
        path = self.put("gone", "#!/bin/sh\nexit 0\n")
        self.system.start()
        self.wait_kinds("http", "gone")
        os.unlink(path)
        failed = self.run_task({"kind": "gone", "dispatch_timeout": "5s"})
        self.assertEqual((failed["status"], failed["reason"]), ("FAILED", "start_failed"))
        self.assertEqual(failed["reason_text"], f"{path}: No such file or directory")

    def test_what_others_could_change_is_never_run(self):
        # Neither a file that everybody may write nor one in such a folder; the log says why.
        bad = self.put("bad", "#!/bin/sh\nexit 0\n", 0o777)
        self.put("good", "#!/bin/sh\nexit 0\n")
        self.system.start()
        self.wait_kinds("http", "good")
        log = eventually(lambda: [line for line in self.system.log("standalone").splitlines()
                                  if "plugin_refused" in line], 10, "the reason")
        self.assertIn(f"{bad} is writable by everybody (mode 777)", log[0])
        self.assertEqual(self.run_task({"kind": "good"})["status"], "FINISHED")
        os.chmod(self.folder, 0o777)
        self.wait_kinds("http")
        task = self.system.submit({"kind": "good", "dispatch_timeout": "500ms"})
        self.assertEqual(self.system.wait_task(task)["reason"], "dispatch_timeout")
        os.chmod(self.folder, 0o755)
        self.wait_kinds("http", "good")

    def test_the_example_waits_for_a_file(self):
        # docs/examples/plugins: what people copy has to work, and to refuse what is wrong.
        shutil.copy(EXAMPLE, self.folder)
        os.chmod(os.path.join(self.folder, os.path.basename(EXAMPLE)), 0o755)
        self.system.start()
        self.wait_kinds("http", "wait-for-file")
        path = self.system.file("arrives")
        task = self.system.submit({"kind": "wait-for-file",
                                   "with": {"path": path, "min_bytes": "5", "still_for": 0.3}})
        self.system.wait_status(task, "RUNNING")
        with open(path, "w") as file:
            file.write("12")
        time.sleep(0.6)
        self.assertEqual(self.system.task(task)["status"], "RUNNING")
        with open(path, "a") as file:
            file.write("345")
        done = self.system.wait_task(task)
        self.assertEqual((done["status"], done["outputs"]),
                         ("FINISHED", {"path": path, "bytes": "5"}))
        for with_, text in [({"path": "x"}, "with.path is 'x', expected an absolute path"),
                            ({"path": "/x", "sill_for": 1}, "with.sill_for is not known"),
                            ({"path": "/x", "min_bytes": []}, "with.min_bytes is []")]:
            failed = self.run_task({"kind": "wait-for-file", "with": with_})
            self.assertEqual(failed["return_code"], 2)
            self.assertIn(text, self.system.rest.output(failed["id"], "stderr").decode())


if __name__ == "__main__":
    unittest.main()
