"""Whether this machine could keep up: the only thing that may stretch a limit in time."""

import os
import time


def _ticks():
    with open("/proc/stat") as stat:
        numbers = [int(word) for word in stat.readline().split()[1:]]
    return sum(numbers), numbers[3] + numbers[4]


class LoadWatch:
    """Share of processor time that was used since the object was made."""

    def __init__(self):
        self._began = _ticks()

    def busy(self):
        total, idle = _ticks()
        spent = total - self._began[0]
        return 1 - (idle - self._began[1]) / spent if spent else 0.0

    def slack(self, seconds):
        """`seconds` if the machine was overloaded (no idle time left, and a queue), else 0."""
        return seconds if self.busy() > 0.95 and os.getloadavg()[0] > os.cpu_count() else 0.0


class Stopwatch:
    """Wall time of an event on this machine, to compare with what masters store."""

    def __init__(self):
        self.at = time.time()
        self.load = LoadWatch()
