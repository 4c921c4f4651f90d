"""What every task process writes about itself, and the checks of it."""

import collections

from baton_process import is_alive

Start = collections.namedtuple("Start", "task attempt epoch pid start end")


class Ledger:
    """An append-only file of start and end lines, stamped on CLOCK_BOOTTIME (10 ms)."""

    def __init__(self, path):
        self.path = path
        open(path, "ab").close()

    def script(self, body="", code="0"):
        """Shell text of a task: notes its start, does `body`, notes its end, ends with `code`.

        One short write with O_APPEND a line, no process but those of the body."""
        line = "$BATON_TASK_ID $BATON_ATTEMPT $BATON_EPOCH $$ $up"
        return (f"read up rest </proc/uptime; echo \"S {line}\" >>'{self.path}'\n{body}\n"
                f"read up rest </proc/uptime; echo \"E {line}\" >>'{self.path}'\nexit {code}\n")

    def task(self, body="", code="0", **fields):
        """A task to submit."""
        return {"name": "ledger", "script": self.script(body, code), "interpreter": ["/bin/sh"],
                **fields}

    def starts(self):
        """One Start a process, in the order of the file; `end` is None while it is missing."""
        found, newest = {}, collections.Counter()
        with open(self.path) as file:
            for line in file:
                if not line.endswith("\n"):
                    continue  # Being written.
                kind, task, attempt, epoch, pid, up = line.split()
                process = (task, int(attempt), int(pid))
                if kind == "S":
                    newest[process] += 1
                    found[process, newest[process]] = Start(*process[:2], int(epoch), process[2],
                                                            float(up), None)
                else:
                    last = (process, newest[process])
                    found[last] = found[last]._replace(end=float(up))
        return list(found.values())

    def by_task(self):
        tasks = collections.defaultdict(list)
        for start in self.starts():
            tasks[start.task].append(start)
        return tasks

    def running(self):
        """Starts whose process still lives."""
        return [s for s in self.starts() if s.end is None and is_alive(s.pid)]

    def overlaps(self):
        """Pairs of starts of one task of which the second began before the first ended (I4).

        A process that never wrote its end counts up to the next start if it is gone by now."""
        found = []
        for starts in self.by_task().values():
            starts.sort(key=lambda s: s.start)
            for first, second in zip(starts, starts[1:]):
                end = first.end
                if end is None:
                    end = float("inf") if is_alive(first.pid) else first.start
                if second.start < end:
                    found.append((first, second))
        return found

    def repeated(self):
        """Attempts that were started more than once (I6)."""
        counts = collections.Counter((s.task, s.attempt) for s in self.starts())
        return [key for key, count in counts.items() if count > 1]

    def twice(self):
        """Tasks with more than one start, for tests in which there is no retry."""
        return {task: starts for task, starts in self.by_task().items() if len(starts) > 1}
