#!/usr/bin/env python3
"""Checks docs/cases.md: every test that it names exists, every case that a test names is there.

Prints what is wrong; exit 1 if anything is.
  scripts/check_cases.py [ROOT]
"""
import os
import re
import sys

FIRST_CASE = 72  # Those below are cron expressions: data, not tests.


def sources(root):
    """(path, text) of every test."""
    for folder, _, names in os.walk(os.path.join(root, "tests")):
        for name in sorted(names):
            if name.endswith((".py", ".cc")):
                path = os.path.join(folder, name)
                with open(path, errors="replace") as file:
                    yield os.path.relpath(path, root), file.read()


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")
    defined, mentioned, wrong = set(), {}, []
    for path, text in sources(root):
        defined |= set(re.findall(r"^\s*def (test_\w+)\(", text, re.M))
        defined |= {".".join(pair) for pair in
                    re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", text, re.M)}
        for case in re.findall(r"(?:BUG-|test_bug_)(\d{3})(?!\d)", text):
            mentioned.setdefault(f"BUG-{case}", path)
    rows = {}
    with open(os.path.join(root, "docs", "cases.md")) as file:
        for number, line in enumerate(file, 1):
            found = re.match(r"\| (BUG-\d{3}) \|[^|]*\|(.*)\|$", line.rstrip())
            if not found:
                continue
            case, tests = found.groups()
            place = f"docs/cases.md:{number}: {case}"
            if case in rows:
                wrong.append(f"{place} stands here and in line {rows[case]}")
            rows[case] = number
            if tests.strip().startswith("open: "):
                continue
            names = re.findall(r"`([^`]+)`", tests)
            if not names:
                wrong.append(f"{place} names no test; expected names in backticks, or \"open: why\"")
            wrong += [f"{place} names {name}, which no file under tests/ defines"
                      for name in names if name not in defined]
    wrong += [f"{path}: {case} has no row in docs/cases.md" for case, path in mentioned.items()
              if case not in rows and int(case[4:]) >= FIRST_CASE]
    print("\n".join(wrong) if wrong else f"{len(rows)} cases, all tests are there")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
