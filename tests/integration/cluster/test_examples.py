"""The examples of the documentation, run from the command line as docs/examples/README.md says,
while the active master is killed twice."""

import datetime
import os
import re
import subprocess
import threading
import unittest

from baton_cluster import DrillCase, eventually
from baton_programs import PROGRAM, ROOT

EXAMPLES = os.path.join(ROOT, "docs", "examples")


def commands():
    with open(os.path.join(EXAMPLES, "README.md")) as file:
        return re.findall(r"^```sh\n(.*?)^```$", file.read(), re.DOTALL | re.MULTILINE)


def days(text, key):
    """The days of a list in a calendar, written as in docs/examples/calendars."""
    body = text.split(f"{key}:", 1)[1]
    body = body.split("]")[0] if body.lstrip().startswith("[") else re.split(r"\n\w", body)[0]
    found = set()
    for first, last in re.findall(r"(\d{4}-\d\d-\d\d)(?:\.\.(\d{4}-\d\d-\d\d))?", body):
        day = datetime.date.fromisoformat(first)
        while day <= datetime.date.fromisoformat(last or first):
            found.add(day)
            day += datetime.timedelta(1)
    return found


def last_workday(year, month):
    with open(os.path.join(EXAMPLES, "calendars", "cn-workdays.yaml")) as file:
        text = file.read()
    holidays, adjusted = days(text, "holidays"), days(text, "adjusted_workdays")
    day = (datetime.date(year, month, 28) + datetime.timedelta(4)).replace(day=1)
    while True:
        day -= datetime.timedelta(1)
        if day in adjusted or (day.weekday() < 5 and day not in holidays):
            return day


class ExamplesTest(DrillCase):
    def kill_active(self):
        self.assertTrue(self.thread.is_alive(), "the commands have not ended before the death")
        old = self.c.wait_active()
        self.c.kill(old)
        self.c.wait_active(15, besides=old)
        self.c.start_master(old)
        self.c.wait_standby(15)

    def run_commands(self, script):
        """Runs the script beside this thread; returns what joins it and gives its output."""
        folder = self.c.file("bin")
        os.mkdir(folder)
        os.symlink(PROGRAM, os.path.join(folder, "baton"))
        environment = {**os.environ, "PATH": folder + ":" + os.environ["PATH"],
                       "BATON_MASTERS": ",".join(self.c.rest.addresses),
                       "BATON_TOKEN": self.c.rest.token}
        result = {}

        def run():
            done = subprocess.run(["bash", "-euxo", "pipefail", "-c", script], cwd=ROOT, text=True,
                                  env=environment, capture_output=True, timeout=120, check=False)
            result.update(code=done.returncode, out=done.stdout, err=done.stderr)
        self.thread = thread = threading.Thread(target=run)
        thread.start()

        def finish():
            thread.join()
            self.assertEqual(result.get("code"), 0, f"{result.get('err')}\n{result.get('out')}")
            return result["out"]
        self.addCleanup(thread.join)
        return finish

    def runs_of(self, flow):
        return self.c.get(f"/api/v1/runs?flow={flow}&limit=100")["items"]

    def tasks_of(self, run):
        return {t["name"]: t for t in self.c.get(f"/api/v1/runs/{run}/tasks")["items"]}

    def test_the_examples_run_as_their_page_says(self):
        # Aim: each command of the page ends with 0, each task runs once, through two takeovers.
        self.c = self.cluster(masters=2, workers=2, runners=4, heartbeat="1s")
        blocks = commands()
        self.assertEqual(len(blocks), 5)
        named = set(re.findall(r"docs/examples/([\w-]+\.yaml)", "".join(blocks)))
        files = {name for name in os.listdir(EXAMPLES) if name.endswith(".yaml")}
        self.assertEqual(named, files, "each example is run")
        finish = self.run_commands("".join(blocks))
        eventually(lambda: self.c.number("SELECT COUNT(*) FROM run") >= 1, 20, "the first run")
        self.kill_active()
        eventually(lambda: self.c.number("SELECT COUNT(*) FROM run WHERE backfill > 0") >= 4 or
                   self.c.number("SELECT COUNT(*) FROM run") >= 8, 30, "the backfill")
        self.kill_active()
        out = finish()
        self.assertEqual(len(self.c.history()), 3)
        self.assertIn("--date 20261128", out)
        self.check_runs()
        self.check_month_end()

    def check_runs(self):
        live = "SELECT COUNT(*) FROM run WHERE phase = 0"
        eventually(lambda: self.c.number(live) == 0, 30, "the end of all runs")
        for flow, count in (("nightly-sales", 1), ("daily-rollup", 1), ("month-end-close", 1),
                            ("fan-out", 1), ("after-fx-rates", 1)):
            runs = self.runs_of(flow)
            self.assertEqual([r["status"] for r in runs], ["FINISHED"] * count, flow)
        imports = [r for r in self.runs_of("hourly-import") if r["trigger"] == "backfill"]
        self.assertEqual(len({r["plan_time"] for r in imports}), 24)
        self.assertEqual({r["status"] for r in imports}, {"FINISHED"})
        wrong = self.c.sql("SELECT task_id, name, status, attempt FROM task WHERE attempt > 1 OR "
                           "(status <> 5 AND name <> 'alarm')")
        self.assertEqual(wrong, [], "each task ended well at its first attempt")
        fan = self.tasks_of(self.runs_of("fan-out")[0]["id"])
        self.assertEqual(fan["alarm"]["status"], "SKIPPED")

    def check_month_end(self):
        flow = self.c.get("/api/v1/flows/month-end-close")
        for instant in flow["next_instants"]:
            # 18:00 in Shanghai is 10:00 in UTC of the same day.
            day = datetime.date.fromisoformat(instant[:10])
            self.assertEqual((day, instant[10:]), (last_workday(day.year, day.month), "T10:00:00Z"))
        self.assertEqual(len(flow["next_instants"]), 5)


if __name__ == "__main__":
    unittest.main()
