"""How long a service is stopped: the longest gap seen by one of its threads that ticks every 100
microseconds, for --snapshot freeze and clone, and for comparison the kernel's own fork of the same
process and gcore in the same run, and jcmd GC.heap_dump on a Java heap of that size. Started by
pause.sh. Exits with 1 if a clone takes more than a fork plus 3 ms.
"""

import argparse
import contextlib
import os
import re
import statistics
import subprocess
import sys


class Service:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1)
        if self.process.stdout.readline().strip() != "ready":
            raise RuntimeError("the service did not get ready")

    def ask(self, question):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return [float(word) for word in self.process.stdout.readline().split()]

    def gap_of(self, heapattach, mode):
        """The longest gap, and the pause that heapattach itself reports."""
        self.ask("gap")
        run = subprocess.run([heapattach, "--count", "-f", "json", "--snapshot", mode,
                              "--max-pause", "60000", str(self.process.pid)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if run.returncode != 0:
            raise RuntimeError(run.stderr)
        return self.ask("gap")[0], float(re.search(r"paused ([0-9.]+) ms", run.stderr)[1])

    def gap_of_dump(self, command, written):
        """The longest gap while `command` writes the file `written`, which is then removed."""
        self.ask("gap")
        words = [word.replace("PID", str(self.process.pid)) for word in command]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        gap = self.ask("gap")[0]
        if os.path.getsize(written) == 0:
            raise RuntimeError(f"{command[0]} wrote nothing")
        os.unlink(written)
        return gap

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def spread(values):
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def gaps_of_gcore(options, service):
    core = f"{options.scratch}.{service.process.pid}"
    gaps = [service.gap_of_dump(["gcore", "-o", options.scratch, "PID"], core)
            for _ in range(options.peer_rounds)]
    with contextlib.suppress(FileNotFoundError):
        os.unlink(options.scratch)
    return gaps


def gaps_of_jcmd(options, megabytes):
    with Service(["java", f"-Xms{2 * megabytes}m", f"-Xmx{2 * megabytes}m", "-cp",
                  os.path.dirname(options.service), "TickingHeap", str(megabytes)]) as java:
        return [java.gap_of_dump(["jcmd", "PID", "GC.heap_dump", options.scratch], options.scratch)
                for _ in range(options.peer_rounds)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heapattach", required=True)
    parser.add_argument("--service", required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--peer-rounds", type=int, default=3)
    parser.add_argument("--huge", action="store_true", help="the heap in huge pages, and no peers")
    parser.add_argument("--megabytes", type=int, nargs="+", default=[512, 2048, 8192])
    options = parser.parse_args()
    options.scratch = os.path.join(os.path.dirname(options.service), "pause.out")
    missed = 0
    print("| heap | freeze ms | clone ms | fork ms | gcore ms | jcmd GC.heap_dump ms "
          "| clone / freeze | held for the clone ms |")
    print("|---|---|---|---|---|---|---|---|")
    for megabytes in options.megabytes:
        freezes, clones, holds, forks, cores, dumps = [], [], [], [], [0], [0]
        command = [options.service, str(megabytes)] + (["huge"] if options.huge else [])
        with Service(command) as service:
            for _ in range(options.rounds):
                forks.append(service.ask("fork")[0])
                gap, hold = service.gap_of(options.heapattach, "clone")
                clones.append(gap)
                holds.append(hold)
                freezes.append(service.gap_of(options.heapattach, "freeze")[0])
            if not options.huge:
                cores = gaps_of_gcore(options, service)
        if not options.huge:
            dumps = gaps_of_jcmd(options, megabytes)
        clone, fork = statistics.median(clones), statistics.median(forks)
        missed += clone > fork + 3
        pages = " in huge pages" if options.huge else ""
        print(f"| {megabytes / 1024:g} GiB{pages} | {spread(freezes)} | {spread(clones)} | "
              f"{spread(forks)} | "
              f"{spread(cores)} | {spread(dumps)} | {clone / statistics.median(freezes):.3f} | "
              f"{spread(holds)} |", flush=True)
    return 1 if missed else 0


sys.exit(main())
