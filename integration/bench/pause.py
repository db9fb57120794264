"""How long a service stands still: the longest gap that a thread of it sees which ticks every 100
microseconds, for --snapshot freeze and clone, beside the kernel's own fork of the same process in
the same run. Started by pause.sh. Exits with 1 if a clone takes more than a fork and 3 ms.
"""

import argparse
import re
import statistics
import subprocess
import sys


class Service:
    def __init__(self, program, megabytes):
        self.process = subprocess.Popen([program, str(megabytes)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)
        if self.process.stdout.readline().strip() != "ready":
            raise RuntimeError("the service did not get ready")

    def ask(self, question):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return [float(word) for word in self.process.stdout.readline().split()]

    def gap_of(self, heapattach, mode):
        """The longest gap, and the pause that heapattach itself tells of."""
        self.ask("gap")
        run = subprocess.run([heapattach, "--count", "-f", "json", "--snapshot", mode,
                              "--max-pause", "60000", str(self.process.pid)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if run.returncode != 0:
            raise RuntimeError(run.stderr)
        return self.ask("gap")[0], float(re.search(r"paused ([0-9.]+) ms", run.stderr)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def spread(values):
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heapattach", required=True)
    parser.add_argument("--service", required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[512, 2048, 8192])
    options = parser.parse_args()
    missed = 0
    print("| heap | freeze ms | clone ms | fork ms | clone / freeze | held for the clone ms |")
    print("|---|---|---|---|---|---|")
    for megabytes in options.megabytes:
        freezes, clones, holds, forks = [], [], [], []
        with Service(options.service, megabytes) as service:
            for _ in range(options.rounds):
                forks.append(service.ask("fork")[0])
                gap, hold = service.gap_of(options.heapattach, "clone")
                clones.append(gap)
                holds.append(hold)
                freezes.append(service.gap_of(options.heapattach, "freeze")[0])
        clone, fork = statistics.median(clones), statistics.median(forks)
        missed += clone > fork + 3
        print(f"| {megabytes / 1024:g} GiB | {spread(freezes)} | {spread(clones)} | {spread(forks)} | "
              f"{clone / statistics.median(freezes):.3f} | {spread(holds)} |",
              flush=True)
    return 1 if missed else 0


sys.exit(main())
