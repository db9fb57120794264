#!/usr/bin/env python3
"""Other releases of Ruby than the installed one.

  integration/ruby_releases.py HEAPATTACH RUBY...

A RUBY is the path of an interpreter, or a root directory that has one. Such a root can be made with
debootstrap, as root:

  debootstrap --variant=minbase --include=ruby trixie ROOT http://deb.debian.org/debian

For each, prints what was compared with what the program says of itself: the counts in each state, by
a copy or from outside; the path to a leak from outside; what --find finds; the frames of 100
threads; whether --suspects names the leak of a web application under load, and how long its visitors
wait meanwhile. ROUNDS (3) is how often each state and the application are tried. Fails if anything differs. With STATES, tries
only these.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
STATES = os.environ.get(
    "STATES", "sleep computing churning io deadlock stopped native collecting ractor "
    "busy busy_thread mutex server allocating emptied").split()
ROUNDS = int(os.environ.get("ROUNDS", "3"))


class Ruby:
    """An interpreter, or a root directory that has one."""

    def __init__(self, path):
        self.root = path if os.path.isdir(path) else None
        self.command = ["chroot", path, "/usr/bin/ruby"] if self.root else [os.path.abspath(path)]

    def script(self, name):
        if not self.root:
            return f"{HERE}/targets/{name}"
        os.makedirs(f"{self.root}/tmp", exist_ok=True)
        shutil.copy(f"{HERE}/targets/{name}", f"{self.root}/tmp/{name}")
        return f"/tmp/{name}"

    def version(self):
        return subprocess.run([*self.command, "-e", "print RUBY_VERSION"], capture_output=True,
                              text=True, check=True).stdout


class Program:
    """A script, once it has printed its first line."""

    def __init__(self, ruby, name, *arguments):
        self.process = subprocess.Popen(
            [*ruby.command, ruby.script(name), *arguments],
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


def count_in(tool, ruby, state):
    """The words for one state, and what was wrong."""
    how, wrong, longest = [], [], 0
    with Program(ruby, "ruby_states.rb", "sleep" if state == "stopped" else state) as program:
        if state == "stopped":
            os.kill(program.process.pid, signal.SIGSTOP)
        for _ in range(ROUNDS):
            begin = time.monotonic()
            how_read = ["--snapshot", "freeze"] if state == "emptied" else []
            run = program.run(tool, "--count", "-f", "json", *how_read)
            longest = max(longest, time.monotonic() - begin)
            if run.returncode not in (0, 7):
                how.append("none")
                wrong.append(f"{state}: status {run.returncode}: {run.stderr.strip()}")
                continue
            how.append("copy" if run.returncode == 0 else "outside")
            rows = rows_of(run)
            for name, count in program.counts().items():
                seen = rows.get(name, {"objects": 0})["objects"]
                if seen != count:
                    wrong.append(f"{state}: {name} {seen}, not {count} ({how[-1]})")
        if state == "emptied" and "work\n" not in program.run(tool, "--stacks").stdout:
            wrong.append("emptied: no frames")
        if program.process.poll() is not None:
            wrong.append(f"{state}: the program ended")
    words = ", ".join(f"{how.count(one)} {one}" for one in ("copy", "outside", "none") if one in how)
    return f"{words}; {longest:.1f} s", wrong


def outside(tool, ruby):
    with Program(ruby, "ruby_outside.rb", "sleeps") as program:
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


FIELDS = """
Point = Struct.new(:left, :rank)
class Order
  def initialize(n)
    @id, @open, @state, @opts, @point = n, n < 10, :new, {user: "u#{n}", 3 => n}, Point.new("l#{n}", n)
  end
end
ALL = Array.new(100) { |n| Order.new(n) }
puts "ready"
$stdout.flush
$stdin.gets
"""
# Expressions, and how many of the objects they find.
FINDS = {
    "Order[@id == 7]": 1,
    "Order[@id >= 90]": 10,
    "Order[@open == true and @id > 4]": 5,
    'Order[@state == "new"]': 100,
    'Order[@opts[:user] == "u7" or @opts[3] == 8]': 2,
    'Point[rank < 5 and left ~ "l*"]': 5,
    "Order[@point.rank == 12]": 1,
}


def find(tool, ruby):
    process = subprocess.Popen([*ruby.command, "-e", FIELDS], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    wrong = []
    try:
        process.stdout.readline()
        for expression, count in FINDS.items():
            run = subprocess.run([tool, "--find", expression, "--values", "-f", "json",
                                  str(process.pid)], capture_output=True, text=True, timeout=120)
            found = len(json.loads(run.stdout)["found"]) if run.returncode == 0 else run.stderr
            if found != count:
                wrong.append(f"{expression}: {found}, not {count}")
    finally:
        process.kill()
        process.wait()
    return f"{len(FINDS)} expressions", wrong


LEAK = """
class Entry; def initialize(n); @text = "entry #{n}" * 40; end; end
class Cfg; @cache = {}; def self.add(n) = @cache[n] = Entry.new(n); end
5000.times { |n| Cfg.add(n) }
puts "ready"
$stdout.flush
$stdin.gets
"""


def leak(tool, ruby):
    """Whether the first suspect from outside is the variable of a class that keeps 5000 objects."""
    process = subprocess.Popen([*ruby.command, "-e", LEAK], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        process.stdout.readline()
        run = subprocess.run([tool, "--suspects", "--snapshot", "freeze", str(process.pid)],
                             capture_output=True, text=True, timeout=120)
    finally:
        process.kill()
        process.wait()
    first = run.stdout.split("\n2. ")[0]
    # A word on a stack may keep one of them, too.
    if run.returncode == 7 and "@cache" in first and "Entry" in first:
        return "Cfg.@cache is the first suspect", []
    return "not found", [f"suspects: status {run.returncode}: {first} {run.stderr}"]


def plain(label):
    """A frame as releases before 3.4 print it: without its class, and in other quotes."""
    place, _, name = label.partition(":in ")
    name = name.strip("`'")
    block, _, name = name.rpartition(" in ") if " in " in name else ("", "", name)
    name = name.split("#")[-1]
    if not name.startswith("<") and name[:1].isupper():
        name = name.split(".")[-1]
    return f"{place}:in {block + ' in ' if block else ''}{name}"


def stacks(tool, ruby):
    with Program(ruby, "ruby_stacks.rb", "8") as program:
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
            if [plain(one) for one in seen.get(tid, [])] != [plain(one) for one in trace]:
                wrong.append(f"thread {tid}: {seen.get(tid)}, not {trace}")
        return f"{len(seen)} threads", wrong


def shop(tool, ruby):
    """Whether a server's leak is the first suspect, and its slowest answers with and without."""
    wrong, without, beside, took = [], [], [], []
    with Program(ruby, "ruby_shop.rb") as program:
        def slowest():
            program.process.stdin.write("\n")
            program.process.stdin.flush()
            done = dict(word.split("=") for word in program.process.stdout.readline().split())
            if done["failed"] != "0":
                wrong.append(f"{done['failed']} requests failed")
            return int(done["slowest"])

        slowest()
        for _ in range(ROUNDS):
            begin = time.monotonic()
            run = program.run(tool, "--suspects")
            took.append(time.monotonic() - begin)
            beside.append(slowest())
            time.sleep(took[-1])
            without.append(slowest())
            first = run.stdout.split("\n2. ")[0]
            if run.returncode not in (0, 7) or "@trail" not in first or "Audit::Entry" not in first:
                wrong.append(f"status {run.returncode}: {first} {run.stderr}")
    return (f"{ROUNDS} reports of {max(took):.1f} s at most; the slowest answer in each, in ms: "
            f"{beside}, and in as long a time without: {without}"), wrong


def main():
    tool, paths = sys.argv[1], sys.argv[2:]
    failed = False
    for path in paths:
        ruby = Ruby(path)
        version = ruby.version()
        found = [(state, count_in(tool, ruby, state)) for state in STATES]
        found += [("from outside", outside(tool, ruby)), ("leak", leak(tool, ruby)),
                  ("--find", find(tool, ruby)), ("--stacks", stacks(tool, ruby)), ("a shop", shop(tool, ruby))]
        for what, (words, wrong) in found:
            print(f"Ruby {version}: {what}: {words}{' WRONG' if wrong else ''}", flush=True)
            for one in wrong:
                print(f"  {one[:400]}")
            failed |= bool(wrong)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
