"""Times --sizes on a program of growing size, and MemProf's log_object_sizes inside it. Started by
memprof.sh: memprof.py HEAPATTACH PROGRAM PROGRAM_WITH_MEMPROF COUNT...
"""

import contextlib
import statistics
import subprocess
import sys
import time

ROUNDS = 3


@contextlib.contextmanager
def started(program, count):
    process = subprocess.Popen([program, count], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               bufsize=1)
    try:
        if process.stdout.readline().strip() != "ready":
            raise RuntimeError("the program did not get ready")
        yield process
    finally:
        process.kill()
        process.wait()


def inside(program, count):
    with started(program, count) as process:
        process.stdin.write("sizes\n")
        process.stdin.flush()
        return float(process.stdout.readline())


def outside(heapattach, program, count):
    with started(program, count) as process:
        before = time.monotonic()
        subprocess.run([heapattach, "-q", "--sizes", "-f", "json", str(process.pid)], check=True,
                       stdout=subprocess.DEVNULL)
        return (time.monotonic() - before) * 1e3


def main():
    heapattach, program, with_memprof = sys.argv[1:4]
    print("| objects | `heapattach --sizes` ms | MemProf's `log_object_sizes` ms |")
    print("|---|---|---|")
    for count in " ".join(sys.argv[4:]).split():
        ours = statistics.median(outside(heapattach, program, count) for _ in range(ROUNDS))
        theirs = statistics.median(inside(with_memprof, count) for _ in range(ROUNDS))
        print(f"| {int(count):,} | {ours:.0f} | {theirs:.1f} |", flush=True)


main()
