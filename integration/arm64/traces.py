#!/usr/bin/env python3
"""Traces two programs in the emulated machine, and compares with what they know: traces.py gc|malloc.

Each allocation of each place counts once; the code of the process has its own bytes again afterwards;
a process whose tracer was killed lives on, and the next report removes what was left."""
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time

TARGETS = os.path.dirname(os.path.abspath(__file__)) + "/../targets"
PLACES = {"gc": ["small", "atomic", "large", "resized", "finalizable"],
          "malloc": ["plain", "zeroed", "resized", "first", "aligned", "stored", "barely_aligned", "paged",
                     "barely_stored", "copied", "array", "freed"]}
failures = []


def check(is_right, what):
    print("ok  " if is_right else "FAIL", what, flush=True)
    if not is_right:
        failures.append(what)


def wait_for(condition):
    until = time.time() + 60
    while not condition() and time.time() < until:
        time.sleep(0.05)
    return condition()


class Target:
    def __init__(self, *arguments):
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline().startswith("ready")

    def ask(self, command=""):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        words = [word.split("=", 1) for word in self.process.stdout.readline().split()]
        return {key: int(value) for key, value in words if value.lstrip("-").isdigit()}

    def run(self, rounds):
        wanted = self.ask()["rounds"] + 2 * rounds
        self.ask(f"run {rounds}")
        return wait_for(lambda: self.ask()["rounds"] >= wanted)

    def maps(self):
        with open(f"/proc/{self.process.pid}/maps") as file:
            return file.readlines()

    def remains(self):
        return [line for line in self.maps() if "heapattach" in line]

    def is_recording(self):
        """Whether the recorder's first control word is set, after its code (inject/trace/arch/layout.h)."""
        ours = [line for line in self.remains() if " r-xp " in line]
        if not ours:
            return False
        try:
            with open(f"/proc/{self.process.pid}/mem", "rb") as memory:
                memory.seek(int(ours[0].split("-")[0], 16) + 65536)
                return memory.read(4) == b"\x01\0\0\0"
        except OSError:  # not mapped yet
            return False

    def code(self):
        """What the code of the program and its libraries is now."""
        found = {}
        with open(f"/proc/{self.process.pid}/mem", "rb") as memory:
            for line in self.maps():
                if " r-xp " in line and "/" in line and "heapattach" not in line:
                    begin, end = (int(number, 16) for number in line.split()[0].split("-"))
                    memory.seek(begin)
                    found[line.split()[-1]] = hashlib.sha1(memory.read(end - begin)).hexdigest()
        return found


def heapattach(*arguments):
    return subprocess.run(["heapattach", *arguments], capture_output=True, text=True)


def traced(target, path, seconds):
    """A tracer that records by now."""
    tracer = subprocess.Popen(["heapattach", "trace", "--every", "1", "--for", seconds, "--timeout", "120", "--max-pause", "60s", "--force", "-o", path,
                               str(target.process.pid)], stderr=subprocess.PIPE, text=True)
    wait_for(lambda: target.is_recording() or tracer.poll() is not None)
    return tracer


def rows_of(path, by):
    result = heapattach("trace", "--by", by, "--format", "tsv", "--top", "200", path)
    check(result.returncode == 0, f"the trace is read by {by} {result.stderr}")
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def check_counts(target, kind, directory, code):
    path = directory + "/trace.jsonl"
    tracer = traced(target, path, "20s")
    before = target.ask()
    check(target.is_recording(), "the recorder is on")
    check(target.run(100) and target.run(100), "the program runs while it is traced")
    after = target.ask()
    errors = tracer.communicate()[1]
    check(tracer.returncode == 0, f"the trace is complete {errors}")
    counted = {}
    for row in rows_of(path, "function"):
        counted[row["where"]] = counted.get(row["where"], 0) + int(row["allocations"])
    for place in PLACES[kind]:
        truth = after[place] - before[place]
        check(truth > 0 and counted.get("make_" + place) == truth,
              f"make_{place}: {counted.get('make_' + place)} of {truth}")
    stacks = [row["where"] for row in rows_of(path, "stack") if "make_" in row["where"]]
    for stack in stacks[:3]:
        print("     ", stack)
    check(stacks and all(" <- work (" in stack for stack in stacks), f"{len(stacks)} stacks lead to work()")


def check_killed(target, directory, code):
    tracer = traced(target, directory + "/killed.jsonl", "100s")
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(tracer.pid)], capture_output=True, text=True).stdout
    for pid in [*children.split(), tracer.pid]:
        try:
            os.kill(int(pid), signal.SIGKILL)
        except ProcessLookupError:  # a worker that has ended
            pass
    tracer.communicate()
    check(target.remains() and target.code() != code, "a killed tracer leaves its recorder")
    check(target.run(100), "the program runs on")
    report = heapattach("summary", "--timeout", "120", str(target.process.pid))
    check(report.returncode == 0, f"the next report succeeds {report.stderr}")
    check(not target.remains() and target.code() == code, "and removes what was left")
    check(target.run(100) and target.ask()["bad"] == 0, "the program runs on, unharmed")


def main():
    kind, flags = sys.argv[1], sys.argv[2:]
    source = {"gc": "allocating.c", "malloc": "malloc_sites.c"}[kind]
    with tempfile.TemporaryDirectory() as directory:
        program = directory + "/program"
        subprocess.run(["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", *flags, f"{TARGETS}/{source}", "-o", program, "-lpthread"]
                       + (["-lgc"] if kind == "gc" else []), check=True)
        target = Target(program, "2")
        target.run(1)
        files = os.listdir(f"/proc/{target.process.pid}/fd")
        code = target.code()
        check_counts(target, kind, directory, code)
        check(target.code() == code, f"the code of {len(code)} files is as before")
        check(not target.remains(), f"no mapping is left {target.remains()}")
        check(os.listdir(f"/proc/{target.process.pid}/fd") == files, "no file is left open")
        check_killed(target, directory, code)
        target.process.kill()
    sys.exit(1 if failures else 0)


main()
