"""Measures heapattach against its peers and prints a table of ratios. Started by run.sh.

Each figure is the median of several rounds, alternating between ours and theirs, so that a noisy
moment of the machine hits both. Exits with 1 if a limit is missed.
"""

import argparse
import contextlib
import json
import math
import mmap
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

LARGE = 10_000_000
SMALL = (1_000, 100_000)
TEXTS, TEXT_BYTES = 1_000_000, 500
EXPORT_ROUNDS = 3  # they take seconds each
# With --quick, which shows that the measurements work.
QUICK_LARGE = 20_000
QUICK_SMALL = (1_000,)
QUICK_TEXTS = 1_000

# Heaps with types, of shapes that nothing is tuned to, and a type of each: shapes.c and shapes.cr.
SHAPES = {"nodes": "struct node", "lists": "struct cell", "map": "struct entry",
          "arrays": "struct node", "Crystal": "Order"}
SHAPE_OBJECTS, QUICK_SHAPE_OBJECTS = 3_000_000, 10_000
# What is asked of each, against GC_gcollect: the limit and the goal of the worst shape.
SHAPE_REPORTS = {"--count": (None, 1.2), "--sizes": (None, 3), "--suspects": (None, 3.5),
                 "--why TYPE": (None, 3.5)}

# The heaps whose processor time shows how each report grows; the last only if memory allows.
GROWTH = (100_000, 1_000_000, 10_000_000, 50_000_000)
GROWTH_BYTES_PER_OBJECT = 250  # of memory, of the heap and of the largest report together
QUICK_GROWTH = (2_000, 20_000)
BALLAST_PER_OBJECT = 120  # bytes, what the largest report takes

MADV_POPULATE_WRITE = 23  # which Python has no name for; since Linux 5.14


class Heap:
    """A running big_heap, or the Java program of the same shape."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        if self.process.stdout.readline().strip() != "ready":
            raise RuntimeError(f"{command[0]} did not get ready")
        self.pid = str(self.process.pid)

    def ask(self, question):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().split()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()


def memory_available():
    """In bytes."""
    with open("/proc/meminfo", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvail"))


class Ballast:
    """Memory that we hold between runs, so that the host of a virtual machine does not take it back.
    Getting it again can take longer than a whole run, while a peer that already has its memory pays
    nothing."""

    def __init__(self):
        self.memory = None

    def take(self, size):
        if size == 0 or size * 4 > memory_available():
            return
        self.memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with contextlib.suppress(OSError):  # an old kernel
            self.memory.madvise(mmap.MADV_HUGEPAGE)
            self.memory.madvise(MADV_POPULATE_WRITE)

    def drop(self):
        """Returns its size."""
        size = len(self.memory) if self.memory else 0
        if size:
            self.memory.close()
            self.memory = None
            # A child's largest memory begins with ours.
            with open("/proc/self/clear_refs", "w", encoding="ascii") as largest:
                largest.write("5")
        return size


ballast = Ballast()


class Run:
    """One finished run of a program: how long it took, its largest memory, what it printed."""

    def __init__(self, command, output=subprocess.PIPE):
        held = ballast.drop()
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, text=True) as process:
            # Both are short but for a snapshot, and that goes to a file.
            self.output = process.stdout.read() if process.stdout else ""
            self.messages = process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.ms = (time.perf_counter() - start) * 1e3
        self.cpu_ms = (usage.ru_utime + usage.ru_stime) * 1e3
        self.peak_bytes = usage.ru_maxrss * 1024
        if held:
            ballast.take(held)
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {process.returncode}: {self.messages}")


class Steps:
    """Says on standard error, before each step, what comes, when, and how busy the machine is."""

    def __init__(self):
        self.start = time.perf_counter()
        self.loads = []

    def begin(self, what):
        self.loads.append(os.getloadavg()[0])
        print(f"[{time.perf_counter() - self.start:5.0f} s, load {self.loads[-1]:.1f}] {what}",
              file=sys.stderr)

    def in_words(self):
        return (f"{(time.perf_counter() - self.start) / 60:.1f} minutes; "
                f"load {min(self.loads):.1f} to {max(self.loads):.1f}")


class Table:
    """Rows of: what, ours, theirs, ratio, limit, goal; remembers whether a limit was missed. A limit
    is what has been reached and must stay; a goal is what is wanted."""

    def __init__(self, has_limits):
        self.has_limits = has_limits
        self.rows = [("", "heapattach", "peer", "ratio", "limit", "goal")]
        self.missed = 0

    def add(self, what, ours, theirs, ratio, limit=None, goal=None, at_most=True):
        def in_words(bound, word):
            if bound is None or not self.has_limits:
                return ""
            fits = ratio <= bound if at_most else ratio >= bound
            return f"{'≤' if at_most else '≥'} {bound:.3g}{'' if fits else ', ' + word}"

        limit = in_words(limit, "MISSED")
        self.missed += "MISSED" in limit
        self.rows.append((what, ours, theirs, f"{ratio:.2f}", limit, in_words(goal, "missed")))

    def add_times(self, what, ours, theirs, limit=None, goal=None):
        ours, theirs = statistics.median(ours), statistics.median(theirs)
        self.add(what, f"{ours:.1f} ms", f"{theirs:.1f} ms", ours / theirs, limit, goal)

    def print(self):
        """In Markdown, as in README.md."""
        for number, row in enumerate(self.rows):
            print("|" + "".join(f" {cell} |" if cell else " |" for cell in row))
            if number == 0:
                print("|" + "---|" * len(row))


def pause_ms(run):
    found = re.search(r"paused (?:for )?([0-9.]+) (ms|s)\b", run.messages)
    if not found:
        raise RuntimeError(f"no pause in the summary line: {run.messages!r}")
    return float(found[1]) * (1 if found[2] == "ms" else 1e3)


def measure_copy_and_count(table, places, heap, count, rounds):
    """The pause, --count and its memory, against bare_copy and GC_gcollect."""
    fresh, faulted, pauses, counts, collections, peaks = [], [], [], [], [], []
    ranges = heap.ask("ranges")
    for _ in range(rounds):
        one, two, _ = Run([places.bare_copy, heap.pid, *ranges]).output.split()
        fresh.append(float(one))
        faulted.append(float(two))
        collections.append(float(heap.ask("collect")[0]))
        run = Run([places.heapattach, "--count", "-f", "json", heap.pid])
        counts.append(run.ms)
        pauses.append(pause_ms(run))
        peaks.append(run.peak_bytes)
    found = json.loads(run.output)
    if found["objects"] < count:
        raise RuntimeError(f"{found['objects']} objects found of {count}")
    in_use = found["heap_bytes"] - found["free_bytes"]
    large = count == LARGE
    size = f"{count:,} objects: "
    table.add_times(size + "pause / bare copy, fresh pages", pauses, fresh,
                    *((1.5, 0.6) if large else ()))
    table.add_times(size + "pause / bare copy, faulted pages", pauses, faulted)
    table.add_times(size + "--count / GC_gcollect", counts, collections,
                    *((3, 1) if large else ()))
    if large:
        peak = statistics.median(peaks)
        table.add(size + "peak memory / heap in use", f"{peak / 1e6:.0f} MB",
                  f"{in_use / 1e6:.0f} MB", peak / in_use, 1.5, 0.6)
    else:
        middle = statistics.median(counts)
        table.add(size + "--count in all", f"{middle:.1f} ms", "50 ms", middle / 50, 1,
                  0.4 if count == SMALL[0] else None)
    return counts


def measure_in_passing(table, places, rounds):
    """The memory of --count --snapshot clone. It copies what is scanned if there is memory for it."""
    for shape, words, bounds in ((f"{LARGE:,} objects", [LARGE], (1.5, 0.6)),
                                 (f"{TEXTS:,} texts of {TEXT_BYTES} bytes", [TEXTS, TEXT_BYTES],
                                  (0.15,))):
        peaks, times, holds = [], [], []
        with Heap([os.path.join(places.build, "big_heap"), *map(str, words)]) as heap:
            for _ in range(rounds):
                run = Run([places.heapattach, "--count", "--snapshot", "clone", "-f", "json",
                           heap.pid])
                peaks.append(run.peak_bytes)
                times.append(run.ms)
                holds.append(pause_ms(run))
        found = json.loads(run.output)
        if found["objects"] < words[0] * len(words):
            raise RuntimeError(f"{found['objects']} objects found of {shape}")
        in_use = found["heap_bytes"] - found["free_bytes"]
        peak = statistics.median(peaks)
        table.add(f"{shape}: peak memory of --count --snapshot clone / heap in use",
                  f"{peak / 1e6:.0f} MB", f"{in_use / 1e6:.0f} MB", peak / in_use, *bounds)
        print(f"{shape}: --count --snapshot clone holds the process for "
              f"{statistics.median(holds):.1f} ms and takes {statistics.median(times):.0f} ms")


def measure_snapshot(table, places, heap, count, rounds):
    """JSON Lines to nowhere and to a file, in objects a second."""
    nowhere, to_file = [], []
    for _ in range(rounds):
        nowhere.append(Run([places.heapattach, heap.pid], subprocess.DEVNULL).ms)
        with open(places.scratch, "w") as output:
            to_file.append(Run([places.heapattach, heap.pid], output).ms)
        with open(places.scratch, "rb") as output:
            output.seek(-min(4096, os.path.getsize(places.scratch)), os.SEEK_END)
            end = json.loads(output.read().splitlines()[-1])
        if end["record"] != "end" or not end["complete"] or end["objects"] < count:
            raise RuntimeError(f"the snapshot ends in {end}")
    os.unlink(places.scratch)
    for name, times, goal in (("to /dev/null", nowhere, 8), ("to a file", to_file, 6)):
        rate = count / statistics.median(times) / 1e3
        bounds = (2, goal) if count == LARGE else ()
        table.add(f"{count:,} objects: snapshot {name}", f"{statistics.median(times):.1f} ms",
                  "1 M/s", rate, *bounds, at_most=False)
    return to_file


def measure_sizes(table, places, heap, count_ms, rounds):
    """--sizes against --count, and reading a saved snapshot with all its edges."""
    count_peaks, sizes, peaks, reads = [], [], [], []
    for _ in range(rounds):
        count_peaks.append(Run([places.heapattach, "--count", "-f", "json", heap.pid]).peak_bytes)
        run = Run([places.heapattach, "--sizes", "-f", "json", heap.pid])
        sizes.append(run.ms)
        peaks.append(run.peak_bytes)
    size = f"{LARGE:,} objects: "
    table.add_times(size + "--sizes / --count", sizes, count_ms, 4, 2)
    ours, theirs = statistics.median(peaks), statistics.median(count_peaks)
    table.add(size + "peak memory of --sizes / of --count", f"{ours / 1e6:.0f} MB",
              f"{theirs / 1e6:.0f} MB", ours / theirs, 2)
    saved = places.scratch + ".jsonl"
    Run([places.heapattach, "--force", "-o", saved, heap.pid])
    for _ in range(rounds):
        run = Run([places.heapattach, "-v", "--sizes", "-f", "json", saved])
        reads.append(float(re.search(r"\[ *([0-9.]+) s\] counting", run.messages)[1]))
    rate = os.path.getsize(saved) / statistics.median(reads) / 1e6
    os.unlink(saved)
    table.add(size + "reading a saved snapshot", f"{rate:.0f} MB/s", "300 MB/s", rate / 300, 1,
              2000 / 300, at_most=False)


def measure_answers(table, places, heap, count_ms, rounds):
    """--why and --suspects, which also search the whole heap, against --count."""
    size = f"{LARGE:,} objects: "
    for name, report in (("--why ADDRESS", ["--why", heap.ask("object")[0]]),
                         ("--suspects", ["--suspects"])):
        times = [Run([places.heapattach, *report, heap.pid]).ms for _ in range(rounds)]
        table.add_times(f"{size}{name} / --count", times, count_ms, None, 2)


def measure_exports(table, places, heap, rounds):
    """Snapshots for other readers against JSON Lines, each to a file."""
    bounds = {"jsonl": (), "html": (1, 0.7), "pprof": (1, 1), "heapsnapshot": (2, 1)}
    times = {name: [] for name in bounds}
    peaks = {name: [] for name in bounds}
    for _ in range(rounds):
        for name in bounds:
            file = f"{places.scratch}.{name}"
            run = Run([places.heapattach, "-f", name, "-o", file, heap.pid])
            times[name].append(run.ms)
            peaks[name].append(run.peak_bytes)
            os.unlink(file)
    for name in list(bounds)[1:]:
        table.add_times(f"{LARGE:,} objects: {name} / jsonl", times[name], times["jsonl"],
                        *bounds[name])
    total, free, _ = map(int, heap.ask("heap"))
    peak, in_use = statistics.median(peaks["html"]), total - free
    table.add(f"{LARGE:,} objects: peak memory of html / heap in use", f"{peak / 1e6:.0f} MB",
              f"{in_use / 1e6:.0f} MB", peak / in_use, None, 1.5)


def expect_type(run, name):
    """`run` is of --count -f json."""
    if name not in {row["type"] for row in json.loads(run.output)["types"]}:
        raise RuntimeError(f"no {name} in {run.output[:500]}")


def measure_typing(table, places, rounds):
    """--count where types are known, of the same heap as where there is no debug information."""
    typed, untyped = [], []
    with Heap([os.path.join(places.build, "big_heap"), str(LARGE)]) as without, \
            Heap([os.path.join(places.build, "big_heap_typed"), str(LARGE)]) as with_types:
        for _ in range(rounds):
            untyped.append(Run([places.heapattach, "--count", without.pid]).ms)
            run = Run([places.heapattach, "--count", "-f", "json", with_types.pid])
            typed.append(run.ms)
        expect_type(run, "struct object")
        table.add_times(f"{LARGE:,} objects: --count with types / without", typed, untyped, 1.5)
        typed, untyped = [], []
        for heap in (without, with_types):
            if int(heap.ask("shuffle")[0]) != LARGE:
                raise RuntimeError("the list in random order is not whole")
        for _ in range(min(rounds, EXPORT_ROUNDS)):
            untyped.append(Run([places.heapattach, "--count", without.pid]).ms)
            run = Run([places.heapattach, "--count", "-f", "json", with_types.pid])
            typed.append(run.ms)
    expect_type(run, "struct object")
    table.add_times(f"{LARGE:,} objects in random order: --count with types / without", typed,
                    untyped, None, 1.5)
    with Heap([os.path.join(places.build, "big_heap_typed"), str(SMALL[0])]) as small:
        runs = [Run([places.heapattach, "--count", "-f", "json", small.pid])
                for _ in range(3 * rounds)]
    expect_type(runs[0], "struct object")
    middle = statistics.median(run.ms for run in runs)
    table.add(f"{SMALL[0]:,} objects: --count with types in all", f"{middle:.1f} ms", "50 ms",
              middle / 50, 1)


def clone_ms(places, heap):
    """Infinite if the time for a run passes, as where a list leads all over a large heap."""
    try:
        return Run([places.heapattach, "--count", "--snapshot", "clone", heap.pid]).ms
    except RuntimeError as failed:
        if "the deadline passed" not in str(failed):
            raise
        return math.inf


def measure_shape(places, shape, rounds):
    """The times of one shape by report, with those of GC_gcollect, and its number of objects."""
    program = "shapes_crystal" if shape == "Crystal" else "shapes"
    words = [str(SHAPE_OBJECTS)] if shape == "Crystal" else [shape, str(SHAPE_OBJECTS)]
    reports = {name: [*name.replace("TYPE", SHAPES[shape], 1).split(" ", 1)]
               for name in SHAPE_REPORTS}
    times = {name: [] for name in ("collect", *reports, "clone", "snapshot")}
    with Heap([os.path.join(places.build, program), *words]) as heap:
        count = int(heap.ask("count")[0])
        for _ in range(rounds):
            times["collect"].append(float(heap.ask("collect")[0]))
            for name, report in reports.items():
                run = Run([places.heapattach, *report, "-f", "json", heap.pid])
                times[name].append(run.ms)
                if name == "--count":
                    expect_type(run, SHAPES[shape])
                    found = json.loads(run.output)["objects"]
                    if found < count:
                        raise RuntimeError(f"{found} objects found of {count} in {shape}")
            times["clone"].append(clone_ms(places, heap))
            with open(places.scratch, "w") as output:
                times["snapshot"].append(Run([places.heapattach, heap.pid], output).ms)
    os.unlink(places.scratch)
    return {name: statistics.median(of) for name, of in times.items()}, found


def measure_shapes(table, places, rounds):
    """Reports with types on heaps of five shapes. Prints a table of its own; the worst of each
    figure joins the other."""
    ratios = {name: {} for name in (*SHAPE_REPORTS, "clone", "snapshot")}
    print(f"with types, {SHAPE_OBJECTS:,} objects or more; ratios to GC_gcollect, of --count of a clone to "
          "--count, and\nmillion objects a second of a snapshot to a file:")
    print(f"| shape | GC_gcollect | {' | '.join(ratios)} |\n" + "|---" * (2 + len(ratios)) + "|")
    for shape in SHAPES:
        times, objects = measure_shape(places, shape, rounds)
        for name in SHAPE_REPORTS:
            ratios[name][shape] = times[name] / times["collect"]
        ratios["clone"][shape] = times["clone"] / times["--count"]
        ratios["snapshot"][shape] = objects / times["snapshot"] / 1e3
        row = [f"{of[shape]:.2f}" for of in ratios.values()]
        print(f"| {shape} | {times['collect']:.0f} ms | {' | '.join(row)} |")
    print()
    for name, bounds in SHAPE_REPORTS.items():
        add_worst(table, f"{name} with types / GC_gcollect", ratios[name], *bounds)
    add_worst(table, "--count of a clone / --count", ratios["clone"], 2, 1.5)
    add_worst(table, "snapshot to a file, M/s", ratios["snapshot"], None, 8, at_most=False)


def add_worst(table, what, ratios, limit, goal, at_most=True):
    shape = (max if at_most else min)(ratios, key=ratios.get)
    table.add(f"worst of five shapes: {what}", shape, "", ratios[shape], limit, goal, at_most)


def debug_bytes(program):
    """How large the sections of debug information of a program are, in all."""
    sections = Run(["readelf", "--section-headers", "--wide", program]).output
    found = re.findall(r"\.debug_\w+ +PROGBITS +\w+ +\w+ +(\w+)", sections)
    return sum(int(size, 16) for size in found)


def measure_types(table, places, rounds):
    """A whole --count of a program with much debug information, against walking that once, and
    against a --count that finds the types in the cache."""
    program = os.path.join(places.build, "many_types")
    count = [places.heapattach, "--count", "-v", "-f", "json"]
    counts, walks, again = [], [], []
    with Heap([program]) as heap:
        Run([*count, heap.pid])
        for _ in range(rounds):
            walks.append(Run(["readelf", "--debug-dump=info", program], subprocess.DEVNULL).ms)
            without = Run([*count, "--no-cache", heap.pid])
            counts.append(without.ms)
            run = Run([*count, heap.pid])
            again.append(run.ms)
    for one in (without, run):
        expect_type(one, "known")
    if "from the cache" not in run.messages:
        raise RuntimeError(f"the types were not in the cache: {run.messages}")
    size = f"{debug_bytes(program) / 1e6:.0f} MB of debug information: "
    table.add_times(size + "--count / readelf --debug-dump=info", counts, walks, 2)
    table.add_times(size + "--count with kept types / without", again, counts, 0.4)


def exponent(sizes, times):
    """The slope of a straight line through the logarithms: 1 if times grow as sizes do."""
    x, y = [math.log(size) for size in sizes], [math.log(time) for time in times]
    x_mean, y_mean = statistics.mean(x), statistics.mean(y)
    return (sum((a - x_mean) * (b - y_mean) for a, b in zip(x, y)) /
            sum((a - x_mean) ** 2 for a in x))


def measure_growth(places, rounds):
    """How the processor time of each report grows with the heap. Prints a table of its own."""
    reports = {"--count": ["--count"], "snapshot": [], "--sizes": ["--sizes"]}
    held = ballast.drop()
    sizes = [size for size in GROWTH if size * GROWTH_BYTES_PER_OBJECT < memory_available()]
    ballast.take(held)
    constant = {}  # what a heap of next to nothing takes
    times = {name: [] for name in reports}
    print("processor time in ms (peak memory in MB) less that of a heap of 100 objects:")
    print(f"| objects | {' | '.join(reports)} |\n" + "|---" * (1 + len(reports)) + "|")
    for size in (100, *sizes):
        with Heap([os.path.join(places.build, "big_heap"), str(size)]) as heap:
            row = []
            for name, report in reports.items():
                runs = [Run([places.heapattach, "--timeout", "600", *report, heap.pid],
                            subprocess.DEVNULL)
                        for _ in range(rounds if size < LARGE else 1)]
                middle = statistics.median(run.cpu_ms for run in runs)
                constant.setdefault(name, middle)
                times[name].append(max(middle - constant[name], 0.1))
                row.append(f"{times[name][-1]:.1f} ({runs[-1].peak_bytes / 1e6:.0f})")
        if size in sizes:
            print(f"| {size:,} | {' | '.join(row)} |")
    exponents = [f"{exponent(sizes, times[name][1:]):.2f}" for name in reports]
    print(f"| exponent | {' | '.join(exponents)} |\n")


def measure_java(table, places, counts, snapshots, rounds):
    """The same heap in a Java virtual machine, looked at by its own tools."""
    histograms, dumps, nothing = [], [], []
    command = ["java", "-Xms1g", "-Xmx4g", "-cp", places.classes, "BigHeap", str(LARGE)]
    with Heap(command) as java:
        for _ in range(rounds):
            nothing.append(Run(["jcmd", java.pid, "VM.version"]).ms)
            histograms.append(Run(["jcmd", java.pid, "GC.class_histogram"]).ms)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(places.scratch)
            dumps.append(Run(["jcmd", java.pid, "GC.heap_dump", places.scratch]).ms)
            os.unlink(places.scratch)
    size = f"{LARGE:,} objects: "
    table.add_times(size + "--count / jcmd GC.class_histogram", counts, histograms, 1, 0.8)
    table.add_times(size + "snapshot / jcmd GC.heap_dump", snapshots, dumps, 1, 0.7)
    print(f"(jcmd that does nothing takes {statistics.median(nothing):.0f} ms of these)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heapattach", required=True)
    parser.add_argument("--build", required=True, help="where big_heap, bare_copy and BigHeap are")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-java", action="store_true")
    parser.add_argument("--quick", action="store_true", help="on small heaps, without limits")
    places = parser.parse_args()
    if places.quick:
        global LARGE, SMALL, TEXTS, GROWTH, SHAPE_OBJECTS
        LARGE, SMALL, TEXTS, GROWTH = QUICK_LARGE, QUICK_SMALL, QUICK_TEXTS, QUICK_GROWTH
        SHAPE_OBJECTS = QUICK_SHAPE_OBJECTS
    places.bare_copy = os.path.join(places.build, "bare_copy")
    places.classes = places.build
    places.scratch = os.path.join(places.build, "snapshot.out")

    # Not the user's: the first run shall find nothing.
    os.environ["XDG_CACHE_HOME"] = os.path.join(places.build, "cache")
    shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
    os.mkdir(os.environ["XDG_CACHE_HOME"], 0o700)

    table = Table(has_limits=not places.quick)
    steps = Steps()
    for count in (*SMALL, LARGE):
        rounds = places.rounds if count == LARGE else 3 * places.rounds
        if count == LARGE:
            ballast.take(LARGE * BALLAST_PER_OBJECT)
        with Heap([os.path.join(places.build, "big_heap"), str(count)]) as heap:
            steps.begin(f"{count:,} objects: copying and counting")
            counts = measure_copy_and_count(table, places, heap, count, rounds)
            steps.begin(f"{count:,} objects: snapshots")
            snapshots = measure_snapshot(table, places, heap, count, rounds)
            if count == LARGE:
                steps.begin("sizes")
                measure_sizes(table, places, heap, counts, rounds)
                steps.begin("paths and suspects")
                measure_answers(table, places, heap, counts, min(rounds, EXPORT_ROUNDS))
                steps.begin("snapshots for other readers")
                measure_exports(table, places, heap, min(rounds, EXPORT_ROUNDS))
                heap_bytes, free_bytes, markers = map(int, heap.ask("heap"))
    steps.begin("counting without a copy")
    measure_in_passing(table, places, places.rounds)
    steps.begin("typing")
    measure_typing(table, places, places.rounds)
    steps.begin("five shapes")
    measure_shapes(table, places, min(places.rounds, EXPORT_ROUNDS))
    steps.begin("debug information")
    measure_types(table, places, places.rounds)
    steps.begin("growth")
    measure_growth(places, min(places.rounds, EXPORT_ROUNDS))
    if not places.no_java:
        steps.begin("a Java virtual machine")
        measure_java(table, places, counts, snapshots, places.rounds)
    print(f"{os.cpu_count()} cores, {places.rounds} rounds; the large heap has {heap_bytes:,} bytes, "
          f"{free_bytes:,} free, and is marked by {markers + 1} threads; {steps.in_words()}")
    table.print()
    return 1 if table.missed else 0


sys.exit(main())
