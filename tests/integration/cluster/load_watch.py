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

    def crowd(self):
        """How many shared each processor, 1 at least; 1 while there was idle time left."""
        return max(1.0, os.getloadavg()[0] / os.cpu_count()) if self.busy() > 0.95 else 1.0

    def slack(self, seconds):
        """`seconds` if the machine was overloaded (no idle time left, and a queue), else 0."""
        return seconds if self.crowd() > 1 else 0.0


def cpu_ms(pid):
    """Processor time that a process has used."""
    with open(f"/proc/{pid}/stat") as stat:
        words = stat.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) * 1000 // os.sysconf("SC_CLK_TCK")


class Stopwatch:
    """Wall time of an event on this machine, to compare with what masters store."""

    def __init__(self):
        self.at = time.time()
        self.load = LoadWatch()
