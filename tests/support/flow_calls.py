"""Flows and runs of a cluster or standalone, as people ask for them over REST and with the verbs."""

import datetime
import json
import os
import subprocess
import uuid

from baton_cluster import eventually
from baton_programs import PROGRAM, environment_of

RUN_ENDED = ("FINISHED", "FAILED", "TERMINATED", "SKIPPED")


def moment(stamp):
    """Seconds since 1970 of a time as the API writes it."""
    return datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


def stamp_of(seconds):
    """The time as the API writes it, to the millisecond."""
    at = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


class FlowCalls:
    """What tests of flows have in common; `self.system` is the cluster or standalone."""

    def put_flow(self, name, definition, online=None, **options):
        """The answer, whatever it is. A text is YAML, everything else is sent as JSON."""
        query = "" if online is None else f"?online={'true' if online else 'false'}"
        kind = "application/yaml" if isinstance(definition, (str, bytes)) else "application/json"
        return self.system.rest.request("PUT", f"/api/v1/flows/{name}{query}", definition,
                                        headers={"Content-Type": kind}, accept=range(200, 503),
                                        **options)

    def apply(self, definition, online=False):
        """Stores a definition (a map) that is well; returns the answer."""
        answer = self.put_flow(definition["flow"], definition, online)
        self.assertIn(answer.status, (200, 201), answer)
        return answer.json

    def trigger(self, flow, **fields):
        """Number of a new run."""
        return self.system.post(f"/api/v1/flows/{flow}/trigger", fields, key=uuid.uuid4().hex)["id"]

    def set_online(self, flow, online):
        return self.system.post(f"/api/v1/flows/{flow}/{'online' if online else 'offline'}")

    def delete_flow(self, flow):
        return self.system.rest.request("DELETE", f"/api/v1/flows/{flow}", accept=(200, 204))

    def flow(self, name):
        return self.system.get(f"/api/v1/flows/{name}")

    def order(self, run, verb, **fields):
        """stop, pause, resume, rerun, skip, force-success or priority; returns the run."""
        return self.system.post(f"/api/v1/runs/{run}/{verb}", fields or None)

    def run_of(self, run):
        return self.system.get(f"/api/v1/runs/{run}")

    def runs_of(self, flow, **filters):
        """All runs of a flow, oldest number first."""
        query = "".join(f"&{name}={value}" for name, value in filters.items())
        found, cursor = [], ""
        while True:
            page = self.system.get(f"/api/v1/runs?flow={flow}&limit=1000{query}{cursor}")
            found += page["items"]
            if not page["next_cursor"]:
                return found[::-1]
            cursor = f"&cursor={page['next_cursor']}"

    def missed_of(self, flow):
        return self.system.get(f"/api/v1/missed?flow={flow}&limit=1000")["items"]

    def tasks_of(self, run):
        return {t["name"]: t for t in self.system.get(f"/api/v1/runs/{run}/tasks")["items"]}

    def wait_run(self, run, *statuses, timeout=30.0):
        """The run, once it has one of those statuses (or any end)."""
        wanted = statuses or RUN_ENDED
        return eventually(lambda: (lambda r: r if r["status"] in wanted else None)(
            self.run_of(run)), timeout, f"run {run} {wanted}")

    def wait_node(self, run, name, *statuses, timeout=20.0):
        """A task of a run, once it has one of those statuses."""
        return eventually(lambda: (lambda t: t if t["status"] in statuses else None)(
            self.tasks_of(run)[name]), timeout, f"{name} of run {run} {statuses}")

    def output_of(self, run, name, **options):
        return self.system.rest.output(self.tasks_of(run)[name]["id"], **options).decode()

    def verb(self, *words, timeout=30, stdin=None):
        """A client verb of the program; returns (exit code, standard output, standard error)."""
        settings = {"BATON_MASTERS": ",".join(self.system.rest.addresses),
                    "BATON_TOKEN": self.system.token, "HOME": self.system.path,
                    "XDG_CONFIG_HOME": self.system.path, "XDG_STATE_HOME": self.system.path}
        done = subprocess.run([PROGRAM, *words], input=(stdin or "").encode(), timeout=timeout,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment_of(None, settings))
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def written(self, name, definition):
        """Path of a file with that definition (a map becomes JSON, which is YAML)."""
        path = os.path.join(self.system.path, name)
        text = definition if isinstance(definition, str) else json.dumps(definition)
        with open(path, "w") as file:
            file.write(text)
        return path
