"""Child processes that can't outlive the test, and how to wait for something."""

import atexit
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts"))
from free_ports import free_ports  # noqa: E402


class Timeout(AssertionError):
    """What was waited for did not come."""


def eventually(check, timeout=10.0, what=None, pause=0.02):
    """Returns the first true value of check(); raises Timeout with its last value otherwise."""
    end = time.monotonic() + timeout
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() >= end:
            raise Timeout(f"{what or 'the condition'} did not hold within {timeout} s; last: {value!r}")
        time.sleep(pause)


def free_port():
    return free_ports(1)[0]


def boot_now():
    """Seconds on CLOCK_BOOTTIME, the clock of the ledger."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def process_state(pid):
    """The letter of /proc/PID/stat ('T' when stopped), None once it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return None


def is_alive(pid):
    return process_state(pid) not in (None, "Z", "X")


def processes_of(folder):
    """Pids whose command line or environment names that folder, without this process."""
    needle = os.fsencode(folder)
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        for part in ("cmdline", "environ"):
            try:
                with open(f"/proc/{name}/{part}", "rb") as file:
                    if needle in file.read():
                        found.append(int(name))
                        break
            except OSError:
                break
    return found


def end_processes_of(folder, spared=()):
    """Kills until nothing is left: a daemon may just be starting a child."""
    for _ in range(200):
        left = [pid for pid in processes_of(folder) if pid not in spared]
        if not left:
            return
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)


class _Spawner:
    """Starts children on a thread that lives as long as the test.

    The death signal of a child is sent when the *thread* that started it ends."""

    def __init__(self):
        self._jobs = queue.SimpleQueue()
        threading.Thread(target=self._run, name="spawner", daemon=True).start()

    def _run(self):
        while True:
            job, answer = self._jobs.get()
            try:
                answer.put((job(), None))
            except BaseException as error:  # Handed over to who asked.
                answer.put((None, error))

    def do(self, job):
        answer = queue.SimpleQueue()
        self._jobs.put((job, answer))
        value, error = answer.get()
        if error is not None:
            raise error
        return value


_spawner = None


def spawn(command, log=None, env=None, **options):
    """Popen in a session of its own; ends with this process."""
    global _spawner
    if _spawner is None:
        _spawner = _Spawner()
    output = open(log, "ab") if log else subprocess.DEVNULL
    # The wrapper becomes the program: same pid. Python's own way to run code in the child is not
    # safe beside threads.
    wrapped = ["setpriv", "--pdeathsig", "KILL", "--", *command]
    try:
        return _spawner.do(lambda: subprocess.Popen(
            wrapped, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=env,
            start_new_session=True, **options))
    finally:
        if log:
            output.close()


class Folder:
    """A temporary folder. What names it on its command line or in its environment dies with it.

    A guard process does that even when the test itself is killed."""

    def __init__(self, prefix):
        self.path = tempfile.mkdtemp(prefix=prefix)
        self.keep = bool(os.environ.get("BATON_KEEP"))
        # Not through spawn(): it must outlive this process for a moment.
        self._guard = subprocess.Popen([sys.executable, os.path.abspath(__file__), self.path],
                                       stdin=subprocess.PIPE, start_new_session=True)
        atexit.register(self.close)

    def close(self):
        if self._guard is None:
            return
        guard, self._guard = self._guard, None
        end_processes_of(self.path, spared=(guard.pid,))
        if self.keep:
            print(f"\nkept: {self.path}", file=sys.stderr)
        else:
            shutil.rmtree(self.path, ignore_errors=True)
        guard.stdin.close()
        guard.wait()
        atexit.unregister(self.close)


def _guard(folder):
    sys.stdin.buffer.read()
    end_processes_of(folder)


if __name__ == "__main__":
    _guard(sys.argv[1])
