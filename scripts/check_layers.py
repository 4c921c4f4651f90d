#!/usr/bin/env python3
"""Checks who may include whom, and a few house rules, from the tables below.

Prints file:line and the rule that it breaks; exit 1 if anything does.
  scripts/check_layers.py [ROOT]
"""
import os
import re
import sys

BASE = ["common/base"]

# Folder -> folders that its files may include (its own always). The longest match counts.
LAYERS = {
    "common/base": [],
    "common/yaml": BASE,
    "common/service": BASE,
    "common/event": BASE + ["common/service"],
    "common/fsm": [],
    "common/calendar": BASE,
    "common/model": BASE + ["common/fsm"],
    "common/protocol": BASE + ["common/model"],
    "conf": BASE + ["common/yaml"],
    "flow": BASE + ["common/yaml", "common/calendar", "common/model"],
    "net": BASE,
    "dao": BASE + ["common/model"],
    "ha": BASE + ["dao"],
    "recover": BASE + ["common/model", "dao"],
    "master/api": BASE + ["common/model", "common/protocol"],
    "master": BASE + ["common/service", "common/event", "common/calendar", "common/model",
                      "common/protocol", "dao", "flow", "ha",
                      "recover", "master/api"],
    "webapi": BASE + ["common/service", "common/calendar", "common/model", "net", "master/api"],
    "webapi/client": BASE + ["net"],
    "worker": BASE + ["common/model", "common/protocol", "net"],
    "cli": BASE + ["common/calendar", "common/model", "conf", "flow", "webapi/client"],
}
# Bodies behind an interface: only mains, tests and the factory beside them may know them.
PRIVATE = {
    "dao/mysql": ["dao"],
    "dao/sqlite": ["dao"],
    "ha/zk": ["ha"],
    "ha/local": [],
}
# Where programs are put together: these see everything.
MAINS = re.compile(r"^(cli/main\.cc|cli/serve/.*|tests/.*)$")

# Vendor header (prefix of the include) -> folders that may include it.
VENDORS = {
    "zookeeper": ["ha/zk", "tests/integration"],
    "cppconn/": ["dao/mysql"],
    "mysql": ["dao/mysql"],
    "mariadb": [],
    "sqlite3.h": ["dao/sqlite"],
    "yaml-cpp/": ["common/yaml"],
    "Poco/": ["net"],
    "CLI/": ["cli"],
    "absl/": ["common/calendar"],
    "libical/": ["flow/calendar"],
    "spdlog/": ["common/base"],
    "openssl/": ["common/base"],
    "nlohmann/": ["common/base"],
    "prometheus/": ["master"],
    "gtest/": ["tests"],
    "gmock/": [],
    "spawn.h": ["worker", "tests"],
    "sys/wait.h": ["worker", "tests"],
}

# (folders, folders left out, pattern of code, what is wrong with it)
BANS = [
    (["dao/mysql"], [], r"->\s*(commit|setAutoCommit|rollback)\s*\(",
     "the connector's commit, rollback and setAutoCommit hide errors; use SQL text"),
    (["tests/unit", "tests/contract", "tests/simulation", "tests/support"], [],
     r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(|\bpoll\(\s*(nullptr|NULL)\b|"
     r"\bpollfd\b[^;]*\{\s*-1\b",
     "no sleep in these tests; use a fake clock, a latch or an event"),
    ([""], ["worker", "tests"], r"(?<![\w.>:])(::)?(fork|vfork|execv[pe]*|execl[pe]*|posix_spawnp?|"
     r"waitpid|waitid)\s*\(", "processes are started and reaped by the worker alone"),
    ([""], ["tests"], r"^\s*using namespace (?!std::(chrono_)?literals|std::chrono_literals)",
     "no using namespace at file scope"),
    ([""], [], r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b", "nothing is left open in code"),
    (["common/model", "common/fsm", "flow"], [], r"\b(system_clock|steady_clock)::now",
     "pure code is told the time"),
]
LINES_MAX = 500
SOURCES = (".cc", ".h")
ROOTS = ["common", "conf", "flow", "net", "dao", "ha", "recover", "master", "webapi", "worker", "cli", "tests"]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def inside(path, folder):
    return folder == "" or path == folder or path.startswith(folder + "/")


def layer_of(path, table=LAYERS):
    best = None
    for folder in table:
        if inside(path, folder) and (best is None or len(folder) > len(best)):
            best = folder
    return best


def blank_text(line):
    """The line without string literals and the comment behind it."""
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return line.split("//")[0]


def check_include(path, kind, target):
    if kind == '"':
        own = layer_of(path)
        other = layer_of(target)
        if other is None:
            if "/" not in target or not target.startswith("tests/"):
                return f'"{target}" is not named from the root of the repository'
            if target == "tests/bench/bench.h" and path == "cli/main.cc":
                return None  # `baton bench`
            return None if path.startswith("tests/") else "only tests may include tests"
        hidden = layer_of(target, PRIVATE)
        if hidden and not inside(path, hidden) and not MAINS.match(path):
            if not any(os.path.dirname(path) == owner for owner in PRIVATE[hidden]):
                return f"{hidden} is private to {', '.join(PRIVATE[hidden]) or 'the programs'}"
        if MAINS.match(path) or own == other or other in LAYERS[own]:
            return None
        return f"{own} may not include {other} (allowed: {', '.join(LAYERS[own]) or 'nothing'})"
    for vendor, folders in VENDORS.items():
        if target.startswith(vendor) and not any(inside(path, folder) for folder in folders):
            return f"<{target}> belongs in {', '.join(folders) or 'no folder'}"
    return None


def check_file(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        lines = file.read().split("\n")
    if len(lines) - 1 > LINES_MAX:
        yield len(lines) - 1, f"{len(lines) - 1} lines, at most {LINES_MAX} are allowed"
    if path.endswith(".h") and not any(line.startswith("#pragma once") for line in lines):
        yield 1, "a header begins with #pragma once"
    in_block = False
    for number, line in enumerate(lines, 1):
        include = INCLUDE.match(line)
        if include:
            wrong = check_include(path, include.group(1), include.group(2))
            if wrong:
                yield number, wrong
            continue
        code = blank_text(line)
        if in_block or "/*" in code:
            in_block = "*/" not in code
            continue
        for folders, without, pattern, why in BANS:
            if not any(inside(path, folder) for folder in folders):
                continue
            if any(inside(path, folder) for folder in without):
                continue
            if re.search(pattern, line if "left open" in why else code):
                yield number, why


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")
    count = 0
    bad = 0
    for top in ROOTS:
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                if not name.endswith(SOURCES):
                    continue
                path = os.path.relpath(os.path.join(folder, name), root)
                count += 1
                for number, why in check_file(root, path):
                    bad += 1
                    print(f"{path}:{number}: {why}")
    print(f"layers: {count} files, {bad} broken rules")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
