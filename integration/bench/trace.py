#!/usr/bin/env python3
"""What --trace costs a loop that does nothing but allocate, and how long it stops it.

The loop tells traced rounds from others by itself; this starts and ends traces meanwhile, so that
both kinds alternate in one process."""

import argparse
import os
import re
import statistics
import subprocess
import time


def spread(values):
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def measure(options, every, threads):
    """The ratio of traced to other rounds, and the longest stop of each trace in ms."""
    command = [options.program, str(options.seconds), str(threads)]
    stops = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as loop:
        pid = loop.stdout.readline().strip()
        end = time.monotonic() + options.seconds - 3
        while time.monotonic() < end:
            time.sleep(0.7)
            trace = subprocess.run(
                [options.heapattach, "trace", "-v", "--every", every, "--for", "1s",
                 "-f", "json", pid],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
            if trace.returncode not in (0, 7):
                raise RuntimeError(trace.stderr)
            stops.append(float(re.search(r"the longest stop was ([\d.]+) ms", trace.stderr)[1]))
        off, on, off_rounds, on_rounds = loop.stdout.readline().split()
    if int(off_rounds) < 20 or int(on_rounds) < 20:
        raise RuntimeError("too few rounds")
    return float(off), float(on), stops


def measure_preload(options):
    """The processor time per allocation with heaptrack's library, which writes its data nowhere."""
    environment = dict(os.environ, LD_PRELOAD=options.heaptrack,
                       DUMP_HEAPTRACK_OUTPUT="/dev/null")
    loop = subprocess.run([options.program, "10"], stdout=subprocess.PIPE, text=True, check=True,
                          env=environment)
    return float(loop.stdout.splitlines()[-1].split()[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--heapattach", required=True)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--heaptrack", help="its library; compares with that")
    options = parser.parse_args()
    print("| every | threads that wait | ns without | with | ratio | longest stop, ms |")
    print("|---|---|---|---|---|---|")
    for every, threads in (("256M", 0), ("512k", 0), ("64k", 0), ("512k", 200)):
        off, on, stops = measure(options, every, threads)
        print(f"| {every} | {threads} | {off:.1f} | {on:.1f} | {on / off:.3f} | {spread(stops)} |",
              flush=True)
    if options.heaptrack:
        on = measure_preload(options)
        print(f"| heaptrack, all | 0 | {off:.1f} | {on:.1f} | {on / off:.3f} | |")


main()
