"""The rounds of leaks.sh: leaks.py DIRECTORY HEAPATTACH ROUNDS OBJECTS..."""

import json
import os
import re
import statistics
import subprocess
import sys
import time


def check(condition, message):
    if not condition:
        sys.exit(message)


def by_sanitizer(program, objects):
    # Symbols are for its report, not for its search.
    run = subprocess.run([program, str(objects)], capture_output=True, text=True, check=True,
                         env={**os.environ, "LSAN_OPTIONS": "symbolize=0"})
    leaked, taken = re.fullmatch(r"leaked=(\d+) ms=([\d.]+)\n", run.stdout).groups()
    found = re.search(r"leaked in (\d+) allocation", run.stderr)
    check(found and found.group(1) == leaked, f"LeakSanitizer did not find {leaked}: {run.stderr}")
    return float(taken)


def by_heapattach(program, heapattach, objects):
    target = subprocess.Popen([program, str(objects)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    leaked = int(re.fullmatch(r"ready leaked=(\d+)\n", target.stdout.readline()).group(1))
    begin = time.monotonic()
    run = subprocess.run([heapattach, "leaks", "-v", "-f", "json", str(target.pid)],
                         capture_output=True, text=True)
    taken = (time.monotonic() - begin) * 1000
    target.communicate()
    check(run.returncode == 0, run.stderr)
    found = json.loads(run.stdout)["objects"]
    check(found == leaked, f"heapattach found {found} of {leaked}")
    pause = float(re.search(r"paused ([\d.]+) ms", run.stderr).group(1))
    return pause, taken


def shown(values):
    return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"


def main():
    directory, heapattach, rounds, *sizes = sys.argv[1:]
    print("| objects | LeakSanitizer's check | heapattach's pause | … from then on, and before "
          "| whole run / check |")
    print("|---|---|---|---|---|")
    for size in sizes:
        checks, pauses, runs = [], [], []
        for _ in range(int(rounds)):
            checks.append(by_sanitizer(f"{directory}/leaky_lsan", size))
            pause, taken = by_heapattach(f"{directory}/leaky", heapattach, size)
            pauses.append(pause)
            runs.append(taken)
        rest = [taken - pause for taken, pause in zip(runs, pauses)]
        ratio = statistics.median(runs) / statistics.median(checks)
        print(f"| {int(size):,} | {shown(checks)} | {shown(pauses)} | {shown(rest)} "
              f"| {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
