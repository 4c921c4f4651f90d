"""What a run of a flow must come to, told from its plan alone; shares no code with the product.

A plan is {task: {"needs": {task: kind}, "fails": first attempts that fail, "retries": further
attempts, "ignore": its failure counts as success, "disabled": passed over, "part": name of the plan
of a sub-flow, "noop": does nothing}}; what is left out is 0, none or false."""

import collections

Expected = collections.namedtuple("Expected", "status tasks attempts")

ALWAYS = 1000


def _met(kind, upstream, status):
    if kind == "done":
        return True
    if kind == "failure":
        return status == "FAILED" and not upstream.get("ignore")
    return (status == "FINISHED" or (status == "FAILED" and upstream.get("ignore"))
            or (status == "PASSED"))


def expect(plans, name):
    """Expected(status of the run, {task: status}, {task: attempts}) of a run that nobody touches;
    attempts are those of tasks that take a runner."""
    plan = plans[name]
    statuses, attempts = {}, {}

    def status_of(task):
        if task not in statuses:
            spec = plan[task]
            needs = spec.get("needs", {})
            met = all([_met(kind, plan[up], status_of(up)) for up, kind in needs.items()])
            if not spec.get("noop") and not spec.get("part"):
                attempts[task] = 0
            if not met:
                statuses[task] = "SKIPPED"
            elif spec.get("disabled"):
                statuses[task] = "PASSED"
            elif spec.get("part"):
                statuses[task] = expect(plans, spec["part"]).status
            elif spec.get("noop"):
                statuses[task] = "FINISHED"
            else:
                allowed, fails = 1 + spec.get("retries", 0), spec.get("fails", 0)
                attempts[task] = min(fails + 1, allowed)
                statuses[task] = "FINISHED" if fails < allowed else "FAILED"
        return statuses[task]

    for task in plan:
        status_of(task)
    failed = any(statuses[t] == "FAILED" and not plan[t].get("ignore") for t in plan)
    shown = {t: "SKIPPED" if s == "PASSED" else s for t, s in statuses.items()}
    return Expected("FAILED" if failed else "FINISHED", shown, attempts)


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
