"""Which runs of a flow get a place beside each other and when, told from when they came and ended
alone; shares no code with the product.

What is due now goes before what was missed, and that before backfills; within one of them the
earlier plan time first (of backfills: what was asked for first). Nothing that stands behind a run
refuses it anything."""

import collections

CURRENT, MISSED, BACKFILL = range(3)
WAITS, BEGINS = "waits", "begins"

Run = collections.namedtuple("Run", "id kind plan came began ended status reason backfill")


class Places:
    """The places of one flow. `tell` gets every end; ask `verdict` and `begun` when all is told."""

    def __init__(self, policy, places=1, max_queued=100, parallel=1):
        self._policy, self._places, self._max_queued = policy, places, max_queued
        self._parallel = parallel  # Of backfills.
        self._running, self._waiting = {}, {}
        self._rest = collections.defaultdict(list)  # Of each backfill, in its order.
        self._offered = collections.defaultdict(set)
        self.refused = {}    # {run: why}
        self.cancelled = {}  # {run: by which}
        self.begun = []      # (time, run), in their order.

    def come(self, run):
        if run.kind == BACKFILL:
            self._rest[run.backfill].append(run)
            self._offer(run.backfill)
            return self._fill(run.came)
        ahead = [r for r in self._waiting.values() if r.kind <= run.kind]
        if len(self._running) < self._places and not ahead:
            return self._begin(run, run.came)
        if self._policy == "skip":
            self.refused[run.id] = "overlap_skip"
        elif self._policy == "cancel_running":
            self._take_over(run)
        elif len(ahead) >= self._max_queued:
            self.refused[run.id] = "queue_full"
        else:
            self._waiting[run.id] = run
        self._fill(run.came)

    def _take_over(self, run):
        others = [*self._running.values(), *self._waiting.values()]
        if run.kind == MISSED and any(r.kind == CURRENT for r in others):
            self.refused[run.id] = "overlap_cancel"
            return
        for other in self._running:
            self.cancelled.setdefault(other, run.id)
        for other in [r for r in self._waiting.values() if r.kind != BACKFILL]:
            del self._waiting[other.id]
            self.refused[other.id] = "overlap_cancel"
        self._waiting[run.id] = run

    def end(self, run):
        self._running.pop(run.id, None)
        self._waiting.pop(run.id, None)
        if run.kind == BACKFILL:
            self._offered[run.backfill].discard(run.id)
            if run in self._rest[run.backfill]:
                self._rest[run.backfill].remove(run)
            self._offer(run.backfill)
        self._fill(run.ended)

    def _offer(self, backfill):
        offered, rest = self._offered[backfill], self._rest[backfill]
        while rest and len(offered) < self._parallel:
            run = rest.pop(0)
            offered.add(run.id)
            self._waiting[run.id] = run

    def _begin(self, run, at):
        self._running[run.id] = run
        self.begun.append((at, run))

    def _fill(self, at):
        while self._waiting and len(self._running) < self._places:
            first = min(self._waiting.values(), key=lambda r: (
                r.kind, r.came if r.kind == BACKFILL else r.plan, int(r.id)))
            del self._waiting[first.id]
            self._begin(first, at)


def faults(runs, slack, **places):
    """What of the runs of a flow can't be so (texts), all of which have ended and none ran twice.

    `slack`: so many units of time a run may begin behind the moment when it had its place."""
    model, found = Places(**places), []
    moments = sorted([(r.came, 0, int(r.id), r) for r in runs] +
                     [(r.ended, 1, int(r.id), r) for r in runs])
    for _, ends, _, run in moments:
        if not ends:
            model.come(run)
        elif run.id not in model.refused:
            model.end(run)
    began = {run.id for _, run in model.begun}
    for run in runs:
        if run.id in model.refused:
            expected = ("SKIPPED", model.refused[run.id])
            if run.began or (run.status, run.reason) != expected:
                found.append(f"{run} was to be {expected}")
        elif run.reason in ("overlap_skip", "queue_full", "overlap_cancel"):
            if run.reason != "overlap_cancel" or run.id not in model.cancelled:
                found.append(f"{run} had its place: nothing was in its way")
        elif bool(run.began) != (run.id in began):
            found.append(f"{run} {'had' if run.id in began else 'never had'} a place")
    for (at, run), (_, before) in zip(model.begun, [(0, None)] + model.begun):
        # One whose end was asked for before it could begin has no begin.
        if run.began and not at <= run.began <= at + slack:
            found.append(f"{run} had its place at {at}, behind {before}")
    return found
