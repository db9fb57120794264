#!/usr/bin/env python3
"""Checks names and counts on programs of any Crystal compiler, built in every mode.

    CRYSTAL=/path/to/crystal HEAPATTACH=build/report/heapattach integration/crystal_matrix.py DIR

Builds each program of PROGRAMS in each mode of MODES below DIR (existing builds are kept), runs it,
asks it how many instances of each class are alive ("counts"), and compares that with --count: without a
table, with the compiler's JSON, with its text. Prints a line for each cell:

    program mode table share wrong short seconds

share: per cent of the live bytes that have a name. wrong: classes with more objects than there are, by the
program's own account or, for what it does not count, by the compiler's table. short: classes with fewer.
The exit status is 1 if anything is wrong, or if a build without --release has less than 95 % named.
"""

import json
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.environ.get("PROGRAMS", "service,kinds").split(",")
MODES = {
    "default": [],
    "debug": ["--debug"],
    "no-debug": ["--no-debug"],
    "release": ["--release"],
    "release-debug": ["--release", "--debug"],
    "static": ["--static"],
    "threads": ["-Dpreview_mt"],
    "contexts": ["-Dpreview_mt", "-Dexecution_context"],
    "without-mt": ["-Dwithout_mt"],
    "lld": ["--link-flags", "-fuse-ld=lld"],
    "bfd": ["--link-flags", "-fuse-ld=bfd"],
    "stripped": [],
    "release-stripped": ["--release"],
    "static-stripped": ["--static"],
}
GOAL = 95.0


def build(crystal, program, mode, where):
    path = os.path.join(where, f"{program}.{mode}")
    if os.path.exists(path):
        return path
    source = os.path.join(HERE, "targets", program + ".cr")
    base = mode.removesuffix("-stripped") if mode != "stripped" else "default"
    if base != mode:
        built = build(crystal, program, base, where)
        if built is None:
            return None
        subprocess.run(["strip", "-o", path, built], check=True)
        for kind in (".json", ".ids"):
            if os.path.exists(built + kind):
                os.link(built + kind, path + kind)
        return path
    environment = dict(os.environ, CRYSTAL_DUMP_TYPE_INFO=path + ".json", CRYSTAL_DUMP_TYPE_ID="1")
    run = subprocess.run([crystal, "build", *MODES[mode], "-o", path, source],
                         env=environment, capture_output=True, text=True)
    if run.returncode != 0:
        reason = (run.stdout.splitlines() + run.stderr.splitlines() + ["?"])[-1]
        print(f"{program:8} {mode:16} is not built: {reason}", flush=True)
        return None
    with open(path + ".ids", "w") as ids:
        ids.write(run.stdout)
    return path


class Target:
    """A running program that answers questions."""

    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.expect(re.compile("ready"))

    def expect(self, pattern):
        for line in self.process.stdout:
            if match := pattern.search(line):
                return match
        sys.exit("the program ended")

    def counts(self):
        self.process.stdin.write("counts\n")
        self.process.stdin.flush()
        lines = int(self.expect(re.compile("(?:classes|lines)=([0-9]+)"))[1])
        rows = (self.process.stdout.readline().rstrip("\n").split("\t") for _ in range(lines))
        return {name: int(count) for name, count in rows}

    def end(self):
        self.process.kill()
        self.process.wait()


def count(tool, pid, options):
    begin = time.monotonic()
    run = subprocess.run([tool, "--count", "-f", "json", *options, str(pid)], capture_output=True, text=True)
    seconds = time.monotonic() - begin
    if run.returncode != 0:
        sys.exit(f"heapattach: status {run.returncode}: {run.stderr}")
    report = json.loads(run.stdout)
    rows = {row["type"]: row["objects"] for row in report["types"]}
    return rows, 100 * report["typed_bytes"] / report["bytes"], seconds, run.stderr


def is_class(name):
    return not name.startswith("(") and not name.endswith("[]")


def differences(truth, reference, rows):
    wrong = {n: (c, truth[n]) for n, c in rows.items() if n in truth and c > truth[n]}
    if reference is not None:
        wrong |= {n: (c, reference.get(n, 0)) for n, c in rows.items()
                  if is_class(n) and n not in truth and c > reference.get(n, 0)}
    short = {n: (rows.get(n, 0), c) for n, c in truth.items() if rows.get(n, 0) < c}
    return wrong, short


def check(tool, program, mode, path):
    failures = 0
    target = Target(path)
    try:
        truth = target.counts()
        tables = {"none": []}
        if os.path.exists(path + ".json"):
            tables["json"] = ["--type-info", path + ".json"]
        if os.path.getsize(path + ".ids") > 0:
            tables["text"] = ["--type-info", path + ".ids"]
        reference = count(tool, target.process.pid, tables[list(tables)[1]])[0] if len(tables) > 1 else None
        for table, options in tables.items():
            rows, share, seconds, said = count(tool, target.process.pid, options)
            wrong, short = differences(truth, reference, rows)
            is_short = table != "none" and short
            is_vague = "release" not in mode and share < GOAL
            failures += bool(wrong) + bool(is_short) + bool(is_vague)
            print(f"{program:8} {mode:16} {table:5} {share:5.1f} % {len(wrong):3} {len(short):3} {seconds:5.2f} s",
                  *(f"\n    wrong: {n} {a} of {b}" for n, (a, b) in sorted(wrong.items())),
                  *(f"\n    short: {n} {a} of {b}" for n, (a, b) in sorted(short.items())[:8]),
                  *(f"\n    {line}" for line in said.splitlines() if "warning" in line), flush=True)
    finally:
        target.end()
    return failures


def main():
    crystal = os.environ.get("CRYSTAL", "crystal")
    tool = os.environ.get("HEAPATTACH", "heapattach")
    where = sys.argv[1]
    modes = sys.argv[2].split(",") if len(sys.argv) > 2 else list(MODES)
    os.makedirs(where, exist_ok=True)
    version = subprocess.run([crystal, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    print(version)
    print("program  mode             table  share wrong short  time")
    failures = 0
    for program in PROGRAMS:
        if not os.path.exists(os.path.join(HERE, "targets", program + ".cr")):
            continue
        for mode in modes:
            path = build(crystal, program, mode, where)
            if path is not None:
                failures += check(tool, program, mode, path)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
