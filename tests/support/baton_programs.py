"""What a cluster and a standalone share: named processes under one folder, and REST."""

import os
import signal

from baton_process import Folder, Timeout, eventually, process_state, processes_of, spawn
from baton_rest import TERMINAL
from task_ledger import Ledger

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("BATON_PROGRAM", os.path.join(ROOT, "build", "release", "baton"))


def environment_of(settings, extra=None):
    """The settings as overrides: {"watchdog.period": "300ms"}."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("BATON")}
    for key, value in (settings or {}).items():
        env["BATON__" + key.upper().replace(".", "__")] = str(value)
    env.update(extra or {})
    return env


class Programs:
    """Named processes; node names are folders below `path` with config and log."""

    def __init__(self, prefix):
        self.folder = Folder(prefix)
        self.path = self.folder.path
        self.processes = {}
        self.rest = None

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.folder.keep = True
        self.close()

    def close(self):
        self.folder.close()
        for process in self.processes.values():
            process.wait()

    def file(self, *parts):
        return os.path.join(self.path, *parts)

    def ledger(self, name="ledger"):
        return Ledger(self.file(name))

    def log(self, node):
        with open(self.file(node, "log"), errors="replace") as file:
            return file.read()

    # Processes ------------------------------------------------------------------------------

    def _start(self, node, arguments, settings=None, env=None):
        assert not self.running(node), f"{node} runs already"
        os.makedirs(self.file(node), exist_ok=True)
        self.processes[node] = spawn([PROGRAM, *arguments], log=self.file(node, "log"),
                                     env=environment_of(settings, env), cwd=self.file(node))

    def pid(self, node):
        return self.processes[node].pid

    def pids(self):
        return {node: p.pid for node, p in self.processes.items() if p.poll() is None}

    def running(self, node):
        return node in self.processes and self.processes[node].poll() is None

    def kill(self, node, sig=signal.SIGKILL):
        """Sends a signal; after KILL and TERM waits for the end."""
        process = self.processes[node]
        process.send_signal(sig)
        if sig in (signal.SIGKILL, signal.SIGTERM):
            process.wait(30)

    def stopped(self, node):
        return process_state(self.pid(node)) == "T"

    def _stop_file(self, node):
        return self.file(node, "stop_points")

    def arm(self, node, *points):
        """The node halts itself (SIGSTOP) at the next of those stop points that it reaches."""
        written = self._stop_file(node) + ".new"
        with open(written, "w") as file:
            file.write(",".join(points))
        os.rename(written, self._stop_file(node))

    def await_stop(self, node, timeout=10.0):
        eventually(lambda: self.stopped(node), timeout, f"the halt of {node} at its stop point",
                   pause=0.002)

    def shepherd(self, worker):
        """Pid of the shepherd of that worker, None if there is none."""
        data = self.worker_data(worker)
        for pid in processes_of(data):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if b"shepherd" in words:
                return pid
        return None

    def worker_data(self, worker):
        return self.file(worker, "data")

    # Tasks ----------------------------------------------------------------------------------

    def get(self, path, **options):
        return self.rest.get(path, **options)

    def post(self, path, body=None, key=None, **options):
        return self.rest.post(path, body, key, **options)

    def submit(self, task, key=None, **options):
        return self.rest.submit(task, key, **options)

    def submit_bulk(self, tasks, key=None, **options):
        return self.rest.submit_bulk(tasks, key, **options)

    def task(self, task_id, **options):
        return self.rest.task(task_id, **options)

    def wait_status(self, task_id, *statuses, timeout=20.0):
        """Waits until the task has one of those statuses; returns it."""
        last = {}

        def check():
            last.update(self.task(task_id))
            return last["status"] in statuses
        try:
            eventually(check, timeout, pause=0.03)
        except Timeout:
            seen = {name: last.get(name) for name in ("status", "reason", "waiting_for", "attempt",
                                                      "runner_id")}
            raise Timeout(f"task {task_id} did not get {statuses} within {timeout} s; {seen}")
        return last

    def wait_task(self, task_id, timeout=30.0):
        return self.wait_status(task_id, *TERMINAL, timeout=timeout)

    def wait_tasks(self, ids, timeout=60.0):
        """Waits until none of them is live any more; returns {id: task}."""
        waited = set(ids)
        live = "CREATED,QUEUED,DISPATCHED,RUNNING,CALLBACK,TERMINATING,RETRYING"

        def none_left():
            return not any(t["id"] in waited for t in self.rest.tasks(status=live))
        eventually(none_left, timeout, f"the end of {len(waited)} tasks", pause=0.1)
        return {t["id"]: t for t in self.rest.tasks() if t["id"] in waited}

    def stats(self):
        return self.get("/api/v1/stats")

    def live_runners(self):
        return [r for r in self.rest.pages("/api/v1/runners") if r["state"] in ("idle", "busy")]
