#!/usr/bin/env python3
"""What --trace costs an HTTP service: requests per second, latency and processor time.

wrk sends requests to one process for ever, in rounds with and without a trace, in turn."""

import argparse
import os
import re
import statistics
import subprocess

UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


def port_of(pid):
    """The port on which the process listens."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            inodes.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            pass
    listening = "0A"
    with open(f"/proc/{pid}/net/tcp", encoding="ascii") as table:
        for line in table.readlines()[1:]:
            words = line.split()
            if words[3] == listening and f"socket:[{words[9]}]" in inodes:
                return int(words[1].split(":")[1], 16)
    raise RuntimeError("the service does not listen")


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        words = stat.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def load(pid, port, seconds):
    """Requests per second, milliseconds for all but 1 % of them, and microseconds of processor
    time for one."""
    before = processor_seconds(pid)
    run = subprocess.run(
        ["wrk", "-t1", "-c16", f"-d{seconds}s", "--latency",
         f"http://127.0.0.1:{port}/shop/7?user=user-7"],
        stdout=subprocess.PIPE, text=True, check=True)
    used = processor_seconds(pid) - before
    number, unit = re.search(r"\s99%\s+([\d.]+)(us|ms|s)", run.stdout).groups()
    requests = int(re.search(r"(\d+) requests in", run.stdout)[1])
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", run.stdout)[1])
    return rate, float(number) * UNITS[unit], used / requests * 1e6


def traced_load(options, every, pid, port):
    """The same, during a trace."""
    command = [options.heapattach, "trace", "-v", "--no-mark", "--every", every,
               "--for", f"{options.round + 60}s", "-f", "json", str(pid)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True) as trace:
        for line in trace.stderr:
            if line.find("traces GC_") >= 0:
                break
        found = load(pid, port, options.round)
        trace.send_signal(2)
        told = trace.stderr.read()
    if trace.returncode not in (0, 7):
        raise RuntimeError(told)
    return found


def spread(values, digits):
    return (f"{statistics.median(values):.{digits}f} "
            f"({min(values):.{digits}f} to {max(values):.{digits}f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--heapattach", required=True)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--round", type=int, default=4, help="seconds of one round")
    options = parser.parse_args()
    print("| every | | requests/s | 99 % within, ms | processor time of one, µs |")
    print("|---|---|---|---|---|")
    for every in ("512k", "64k"):
        with subprocess.Popen([options.program, "idle"], stdout=subprocess.PIPE,
                              text=True) as service:
            try:
                service.stdout.readline()
                port = port_of(service.pid)
                load(service.pid, port, 2)
                off, on = [], []
                for _ in range(options.rounds):
                    off.append(load(service.pid, port, options.round))
                    on.append(traced_load(options, every, service.pid, port))
            finally:
                service.kill()
        for name, rounds in (("without", off), ("with", on)):
            print(f"| {every} | {name} | " + " | ".join(
                spread([values[i] for values in rounds], digits)
                for i, digits in ((0, 0), (1, 2), (2, 1))) + " |")
        print(f"| {every} | ratio | " + " | ".join(
            f"{statistics.median(pair[1][i] / pair[0][i] for pair in zip(off, on)):.3f}"
            for i in range(3)) + " |", flush=True)
    print(f"\nload {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors")


main()
