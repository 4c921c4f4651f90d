"""A runner that speaks the heartbeat by hand, for tests of the protocol."""

import http.client
import time
import uuid


class Runner:
    """One slot. Every field of a report can be set by keyword; a value of None leaves it out."""

    def __init__(self, rest, runner_id, labels=None, worker_id=None):
        self.rest = rest  # With the worker token.
        self.runner_id = runner_id
        self.incarnation = 1
        self.seq = 0
        self.epoch = 0
        self.journal_id = uuid.uuid4().hex
        self.last_order = None  # {"task", "attempt", "nonce"} of the newest accepted order.
        self.order = None  # The newest order as the master sent it.
        self.identity = {"worker_id": worker_id or runner_id.partition(":")[0],
                         "host": "fake", "boot_id": "fake", "version": "test",
                         "worker_address": "127.0.0.1:1",
                         "runner_config": {"labels": labels or {}}}

    def restart(self):
        """As a new start of the daemon with the same journal."""
        self.incarnation += 1
        self.seq = 0

    def report(self, status="IDLE", **fields):
        """The next full report; raises seq unless it is given."""
        if "seq" not in fields:
            self.seq += 1
        report = {"runner_id": self.runner_id, "status": status, "journal_id": self.journal_id,
                  "incarnation": self.incarnation, "seq": self.seq, "epoch": self.epoch,
                  **self.identity}
        if self.last_order:
            report["last_order"] = self.last_order
        if status != "IDLE" and self.last_order:
            report.update(current_task=self.last_order["task"],
                          attempt=self.last_order["attempt"], nonce=self.last_order["nonce"])
        report.update(fields)
        return {name: value for name, value in report.items() if value is not None}

    def send(self, report, address=None, timeout=10.0):
        """One heartbeat. With an address: to that master, whatever it answers. Returns Answer."""
        path = f"/api/v1/runners/{self.runner_id}/heartbeat"
        once = report.get("wait_ms", 0) / 1000 + 3
        if address:
            return self.rest.once(address, "POST", path, report, timeout=max(once, timeout))
        return self.rest.request("POST", path, report, timeout=timeout, once_timeout=once,
                                 accept=range(200, 600))

    def beat(self, status="IDLE", address=None, timeout=10.0, **fields):
        """Sends a report and takes the reply over, as a real runner would. Returns it."""
        answer = self.send(self.report(status, **fields), address, timeout)
        if answer.status != 200:
            raise AssertionError(f"heartbeat of {self.runner_id}: {answer!r}")
        reply = answer.json
        self.epoch = max(self.epoch, reply.get("epoch", 0))
        if reply["command"] == "RUN_NEW":
            order = reply["task"]
            self.order = order
            self.last_order = {name: order[name] for name in ("task", "attempt", "nonce")
                               if name in order}
        return reply

    def await_order(self, timeout=10.0, **fields):
        """Beats IDLE until there is an order; returns it."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            try:
                reply = self.beat("IDLE", wait_ms=fields.pop("wait_ms", 200), **fields)
            except (OSError, http.client.HTTPException):
                continue
            if reply["command"] == "RUN_NEW":
                return self.order
        raise AssertionError(f"{self.runner_id} got no order within {timeout} s")

    def finish(self, code=0, **fields):
        return self.beat("FINISHED" if code == 0 else "FAILED", return_code=code, run_ms=1,
                         ended_ms=0, **({} if code == 0 else {"reason": "exit_code"}), **fields)
