#!/usr/bin/env python3
"""Other releases of Ruby than the installed one, each in a root directory of its own.

  integration/ruby_releases.py HEAPATTACH ROOT...

Such a root can be made with debootstrap, as root:

  debootstrap --variant=minbase --include=ruby trixie ROOT http://deb.debian.org/debian

For each, prints what was compared with what the program says of itself: the counts of a copy in
each state, the counts from outside, and the frames of --stacks. A release that cannot be read from
outside must be refused by its name. Fails if anything differs.
"""

import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
STATES = ["sleep", "busy", "busy_thread", "io", "mutex", "server", "allocating"]
ROUNDS = int(os.environ.get("ROUNDS", "3"))


class Program:
    """A script in the root, once it has printed its first line."""

    def __init__(self, root, name, *arguments):
        os.makedirs(f"{root}/tmp", exist_ok=True)
        shutil.copy(f"{HERE}/targets/{name}", f"{root}/tmp/{name}")
        self.process = subprocess.Popen(
            ["chroot", root, "/usr/bin/ruby", f"/tmp/{name}", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.line = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def counts(self):
        rows = (word.rsplit("=", 1) for word in self.line.split(" ")[1:])
        return {name: int(count) for name, count in rows}

    def run(self, tool, *arguments):
        return subprocess.run([tool, *arguments, str(self.process.pid)], capture_output=True,
                              text=True, timeout=120)


def rows_of(run):
    rows = {row["type"]: row for row in json.loads(run.stdout)["types"]}
    unnamed = [row["objects"] for name, row in rows.items() if name.startswith("#<Class:")]
    rows["unnamed"] = {"objects": max(unnamed, default=0), "bytes": None}
    return rows


def copies(tool, root):
    wrong = []
    for state in STATES:
        with Program(root, "ruby_states.rb", state) as program:
            for _ in range(ROUNDS):
                run = program.run(tool, "--count", "-f", "json")
                if run.returncode != 0:
                    wrong.append(f"{state}: {run.stderr.strip()}")
                    continue
                rows = rows_of(run)
                for name, count in program.counts().items():
                    seen = rows.get(name, {"objects": 0})["objects"]
                    if seen != count:
                        wrong.append(f"{state}: {name} {seen}, not {count}")
            if program.process.poll() is not None:
                wrong.append(f"{state}: the program ended")
    return wrong


def is_refused(tool, root, version, *arguments):
    """Whether the release cannot be read from outside, and the message has its name."""
    with Program(root, "ruby_states.rb", "sleep") as program:
        run = program.run(tool, *arguments)
        return run.returncode in (5, 7) and f"cannot read this Ruby release's heap ({version})" in run.stdout + run.stderr


def outside(tool, root, version):
    if is_refused(tool, root, version, "--count", "--snapshot", "freeze"):
        return "refused", []
    with Program(root, "ruby_outside.rb", "sleeps") as program:
        run = program.run(tool, "--count", "-f", "json", "--snapshot", "freeze")
        if run.returncode != 7:
            return "failed", [f"status {run.returncode}: {run.stderr.strip()}"]
        rows = rows_of(run)
        counts = program.counts()
        wrong, sizes = [], []
        for name, count in counts.items():
            if name.startswith("T_") or name in ("in_use", "unnamed") or name.endswith(".bytes"):
                continue
            row = rows.get(name, {"objects": 0, "bytes": 0})
            if row["objects"] != count:
                wrong.append(f"{name} {row['objects']}, not {count}")
            if row["bytes"] != counts[name + ".bytes"]:
                sizes.append(f"{name} {row['bytes']} of {counts[name + '.bytes']}")
        return "read; sizes that differ: " + (", ".join(sizes) or "none"), wrong


def stacks(tool, root, version):
    if is_refused(tool, root, version, "--stacks"):
        return "refused", []
    with Program(root, "ruby_stacks.rb") as program:
        run = program.run(tool, "--stacks", "-f", "json")
        if run.returncode != 0:
            return "failed", [f"status {run.returncode}: {run.stderr.strip()}"]
        seen = {}
        for thread in json.loads(run.stdout)["threads"]:
            if "ruby" in thread:
                seen[str(thread["tid"])] = [
                    "{}:{}:in `{}'".format(f.get("file", ""), f.get("line", 0), f.get("function", ""))
                    for f in thread["ruby"]["fibers"][0]["frames"]]
        wrong = []
        for tid, trace in json.loads(program.line).items():
            if seen.get(tid) != trace:
                wrong.append(f"thread {tid}: {seen.get(tid)}, not {trace}")
        return f"{len(seen)} threads", wrong


def main():
    tool, roots = sys.argv[1], sys.argv[2:]
    failed = False
    for root in roots:
        version = subprocess.run(["chroot", root, "ruby", "-e", "print RUBY_VERSION"],
                                 capture_output=True, text=True, check=True).stdout
        wrong = copies(tool, root)
        print(f"Ruby {version}: {len(STATES)} states, {ROUNDS} copies each: "
              f"{'as it counts itself' if not wrong else 'WRONG'}", flush=True)
        for what, check in (("from outside", outside), ("--stacks", stacks)):
            result, more = check(tool, root, version)
            print(f"Ruby {version}: {what}: {result}{' WRONG' if more else ''}", flush=True)
            wrong += more
        for one in wrong:
            print(f"  {one[:400]}")
        failed |= bool(wrong)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
