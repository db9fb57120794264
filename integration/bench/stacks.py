"""How long a program with many threads and much debug information is stopped while its stacks are
taken, by heapattach, gdb and eu-stack, measured by one of its threads that ticks every 100
microseconds; and how long heapattach takes for very many fibers. Started by stacks.sh. Exits with 1 if the pause is
more than a twentieth of gdb's, or the fibers take more than 2 s after the thaw.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import time


def run(command):
    start = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace")
    return done, time.monotonic() - start


def start(command):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               bufsize=1)
    if process.stdout.readline().strip() != "ready":
        raise RuntimeError(f"{command[0]} did not get ready")
    return process


def spread(values):
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def compare(options):
    peers = {
        "heapattach --stacks": [options.heapattach, "--stacks", "--max-pause", "60000", "PID"],
        "eu-stack -p": ["eu-stack", "-n", "0", "-p", "PID"],
        "gdb, thread apply all bt": ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off",
                                     "-ex", "thread apply all bt", "-p", "PID"],
    }
    gaps = {name: [] for name in peers}
    times = {name: [] for name in peers}
    frames = {}
    program = start([options.program, str(options.threads)])

    def gap():
        program.stdin.write("gap\n")
        return float(program.stdout.readline())

    try:
        for _ in range(options.rounds):
            for name, command in peers.items():
                gap()
                done, took = run([w.replace("PID", str(program.pid)) for w in command])
                gaps[name].append(gap())
                times[name].append(took)
                frames[name] = len(re.findall(r"wait_below", done.stdout))
    finally:
        program.kill()
    megabytes = os.path.getsize(options.program) / 1e6
    print(f"{options.threads} threads, a program of {megabytes:.0f} MB with its debug information, "
          f"{options.rounds} rounds, median (least to most)\n")
    base = statistics.median(gaps["gdb, thread apply all bt"])
    print("| | pause, ms | relative to gdb | in all, s | calls of wait_below seen |")
    print("|---|---|---|---|---|")
    for name in peers:
        print(f"| `{name}` | {spread(gaps[name])} | {statistics.median(gaps[name]) / base:.4f} | "
              f"{statistics.median(times[name]):.2f} | {frames[name]} |")
    return statistics.median(gaps["heapattach --stacks"]) > base / 20


def count_fibers(options):
    service = start([options.hanging, "channels", str(options.fibers)])
    after, pauses = [], []
    try:
        for _ in range(options.rounds):
            done, took = run([options.heapattach, "--stacks", "-v", "--max-pause", "60000",
                              str(service.pid)])
            thaw = re.search(r"^\[ *([0-9.]+) s\] copied the stacks", done.stderr, re.MULTILINE)
            if not thaw or f"{options.fibers} fibers" not in done.stdout:
                raise RuntimeError(done.stderr + done.stdout[:1000])
            after.append(took - float(thaw[1]))
            pauses.append(float(re.search(r"paused for ([0-9.]+) ms", done.stdout)[1]))
    finally:
        service.kill()
    print(f"\n{options.fibers} suspended fibers: {statistics.median(after):.2f} s "
          f"({min(after):.2f} to {max(after):.2f}) from the thaw to the end of the report, "
          f"after a pause of {spread(pauses)} ms")
    return statistics.median(after) > 2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heapattach", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--hanging", default="")
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--fibers", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    missed = compare(options)
    if options.hanging:
        missed |= count_fibers(options)
    return 1 if missed else 0


sys.exit(main())
