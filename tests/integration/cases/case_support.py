"""What the cases share: programs under a wrapper (own mounts, own pid namespace, a faked clock),
a receiver of callbacks, requests byte by byte."""

import http.client
import http.server
import os
import shutil
import socket
import subprocess
import threading

from baton_cluster import (Cluster, DrillCase, Standalone, Timeout, eventually, free_port, is_alive,
                           long_run, process_state)
from baton_process import processes_of, spawn
from baton_programs import PROGRAM, environment_of

__all__ = ["PROGRAM", "Cluster", "DrillCase", "Receiver", "SharedCase", "Standalone", "Timeout",
           "WrappedCluster", "WrappedStandalone", "environment_of", "eventually", "free_port",
           "is_alive", "long_run", "marked", "may_unshare", "process_state", "processes_of",
           "raw_request", "run_baton", "sh", "spawn"]


def sh(script, **fields):
    """A task that runs a text with the shell."""
    return {"name": "case", "script": script, "interpreter": ["/bin/sh"], **fields}


def marked(mark):
    """Living processes that carry the mark in environment or command line."""
    return [pid for pid in processes_of(mark) if is_alive(pid)]


def may_unshare(*flags):
    """True if this process may make those namespaces."""
    if not shutil.which("unshare"):
        return False
    return subprocess.run(["unshare", *flags, "true"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, timeout=10).returncode == 0


def run_baton(*arguments, timeout=20, settings=None, env=None):
    """The program in the foreground; returns (code, all that it said)."""
    done = subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout,
                          env=environment_of(settings, env))
    return done.returncode, done.stdout.decode(errors="replace")


class _Wrapped:
    """Starts some nodes behind a command such as `unshare -m sh -c '… exec "$@"' sh`."""

    wrappers = {}

    def _start(self, node, arguments, settings=None, env=None):
        if node not in self.wrappers:
            return super()._start(node, arguments, settings, env)
        assert not self.running(node), f"{node} runs already"
        os.makedirs(self.file(node), exist_ok=True)
        self.processes[node] = spawn(
            [*self.wrappers[node], PROGRAM, *arguments], log=self.file(node, "log"),
            env=environment_of(settings, env), cwd=self.file(node))


class WrappedStandalone(_Wrapped, Standalone):
    def __init__(self, wrapper=None, **options):
        """wrapper: a function (standalone) -> words before the program."""
        start = options.pop("start", True)
        env = options.pop("env", None)
        super().__init__(start=False, **options)
        try:
            if wrapper:
                self.wrappers = {"standalone": wrapper(self)}
            if start:
                self.start(env=env)
        except BaseException:
            self.folder.keep = True
            self.close()
            raise


class WrappedCluster(_Wrapped, Cluster):
    pass


class SharedCase(DrillCase):
    """One set of programs for all tests of a class, made by make()."""

    @classmethod
    def make(cls):
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        cls.system = cls.make()

    @classmethod
    def tearDownClass(cls):
        cls.system.close()

    def setUp(self):
        self.addCleanup(self._note_failure)

    def _note_failure(self):
        if self.has_failed():
            self.system.folder.keep = True

    def run_task(self, task, timeout=30):
        return self.system.wait_task(self.system.submit(task), timeout)


class Receiver:
    """An HTTP server that notes what it got. `answer`: a status or a function of the request."""

    def __init__(self, answer=200, location=None):
        self.answer = answer
        self.location = location
        self.requests = []
        self.connections = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def setup(self):
                outer.connections += 1
                super().setup()

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                request = {"path": self.path, "body": body,
                           "headers": {k.lower(): v for k, v in self.headers.items()}}
                outer.requests.append(request)
                status = outer.answer(request) if callable(outer.answer) else outer.answer
                self.send_response(status)
                if outer.location:
                    self.send_header("Location", outer.location)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def url(self, path="/hook"):
        return f"http://127.0.0.1:{self.port}{path}"

    def paths(self):
        return [request["path"] for request in self.requests]

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def raw_request(port, head, body=b"", timeout=10):
    """Status of the answer to exactly these bytes; None if there came none."""
    with socket.create_connection(("127.0.0.1", port), timeout) as link:
        link.settimeout(timeout)
        try:
            link.sendall(head + body)
        except OSError:
            pass  # It may have been refused before all of it was sent.
        reply = http.client.HTTPResponse(link)
        try:
            reply.begin()
            reply.read()
            return reply.status
        except (http.client.HTTPException, OSError):
            return None
