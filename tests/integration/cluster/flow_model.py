"""What a run of a flow must come to, told from its plan alone; shares no code with the product.

A plan is {task: {"needs": {task: kind}, "fails": first attempts that fail, "retries": further
attempts, "ignore": its failure counts as success, "disabled": passed over, "part": name of the plan
of a sub-flow, "noop": does nothing}}; what is left out is 0, none or false."""

import collections

class Expected(collections.namedtuple("Expected", "status ended")):
    """Status of the run, and {task: (how it ended, attempts)}; PASSED: disabled, as if well."""

    def shown(self, plan):
        """(status of the run, {task: status}, {task that takes a runner: attempts})."""
        return (self.status,
                {t: "SKIPPED" if s == "PASSED" else s for t, (s, _) in self.ended.items()},
                {t: n for t, (_, n) in self.ended.items()
                 if not plan[t].get("noop") and not plan[t].get("part")})

ALWAYS = 1000


def _met(kind, upstream, status):
    if kind == "done":
        return True
    if kind == "failure":
        return status == "FAILED" and not upstream.get("ignore")
    return (status == "FINISHED" or (status == "FAILED" and upstream.get("ignore"))
            or (status == "PASSED"))


def _run(plans, name, before, again):
    """The tasks in `again` run (again), the others stay as `before` says."""
    plan = plans[name]
    ended = {}

    def status_of(task):
        if task not in ended:
            spec = plan[task]
            met = all([_met(kind, plan[up], status_of(up))
                       for up, kind in spec.get("needs", {}).items()])
            status, attempts = before[task]
            if task not in again:
                pass
            elif not met:
                status = "SKIPPED"
            elif spec.get("disabled"):
                status = "PASSED"
            elif spec.get("part"):
                status = expect(plans, spec["part"]).status
            elif spec.get("noop"):
                status = "FINISHED"
            else:
                # Attempts go on counting, the retries begin anew.
                last, well = attempts + 1 + spec.get("retries", 0), spec.get("fails", 0) + 1
                status = "FINISHED" if well <= last else "FAILED"
                attempts = min(max(well, attempts + 1), last)
            ended[task] = (status, attempts)
        return ended[task][0]

    for task in plan:
        status_of(task)
    failed = any(ended[t][0] == "FAILED" and not plan[t].get("ignore") for t in plan)
    return Expected("FAILED" if failed else "FINISHED", ended)


def expect(plans, name):
    """What a run comes to that nobody touches."""
    return _run(plans, name, dict.fromkeys(plans[name], ("SKIPPED", 0)), set(plans[name]))


def expect_rerun(plans, name, before, scope):
    """What it comes to when it had ended as `before` and is run again: "all", or what "failed" in
    a way that matters and all behind that."""
    plan = plans[name]
    again = {t for t, spec in plan.items() if scope == "all" or
             (before.ended[t][0] == "FAILED" and not spec.get("ignore"))}
    while more := {t for t, spec in plan.items() if again & set(spec.get("needs", {}))} - again:
        again |= more
    return _run(plans, name, before.ended, again)


def random_plan(dice, parts):
    """A plan of two to seven tasks; `parts`: names of plans that it may have as sub-flows."""
    plan = {}
    for i in range(dice.randint(2, 7)):
        spec = {"needs": {up: dice.choices(("success", "done", "failure"), (6, 2, 1))[0]
                          for up in dice.sample(sorted(plan), min(len(plan), dice.randint(0, 2)))}}
        kind = dice.random()
        if kind < 0.12:
            spec["noop"] = True
        elif kind < 0.24 and parts:
            spec["part"] = dice.choice(parts)
        else:
            spec["fails"] = dice.choices((0, 1, ALWAYS), (12, 3, 2))[0]
            spec["retries"] = dice.choices((0, 1, 2), (5, 3, 2))[0]
            spec["disabled"] = dice.random() < 0.07
        spec["ignore"] = dice.random() < 0.15
        plan[f"t{i}"] = spec
    return plan
