#!/usr/bin/env python3
"""What Perfetto's own importer makes of our traces:

  perfetto_importer.py TRACE_PROCESSOR HEAPATTACH [SNAPSHOT]...

TRACE_PROCESSOR is Perfetto's trace_processor_shell, built from its public source. Of each saved
SNAPSHOT (default: those of the tests), two of them in the wrong order, and a recording, prints what
was imported, and fails if the importer found an error, or its totals are not ours.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
ERRORS = "select name, value from stats where value > 0 and severity in ('error', 'data_loss')"
# The objects that stand for the locations of roots have no size.
HEAP = ("select count(*), ifnull(sum(self_size), 0) from heap_graph_object "
        "where root_type is null or self_size > 0")
STACKS = "select count(*) from stack_sample where callsite_id is not null"
LEFT = "select ifnull(sum(count), 0), ifnull(sum(size), 0) from heap_profile_allocation"


def rows(importer, file, query):
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as text:
        text.write(query + ";")
        text.flush()
        out = subprocess.run([importer, "-q", text.name, file], check=True, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return list(csv.reader(out.strip().splitlines()))[1:]


def numbers(importer, file, query):
    return [int(value) for value in rows(importer, file, query)[0]]


def expected(snapshot):
    """The objects, bytes and stacks of a snapshot."""
    objects = size = stacks = 0
    with open(snapshot, encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if record["record"] == "object" and record.get("reachable", True):
                objects, size = objects + 1, size + record["bytes"]
            stacks += "frames" in record or "same_frames_as" in record
    return objects, size, stacks


def check(importer, file, wanted, query=HEAP):
    errors = rows(importer, file, ERRORS)
    found = numbers(importer, file, query) + numbers(importer, file, STACKS)
    is_good = not errors and found == list(wanted)
    print(f"{os.path.basename(file)}: objects, bytes and stacks {found}, of {list(wanted)}; "
          f"errors: {errors or 'none'}{'' if is_good else ' WRONG'}")
    return is_good


def main():
    importer, tool, snapshots = sys.argv[1], sys.argv[2], sys.argv[3:]
    heap, trace = f"{DATA}/heap.jsonl", f"{DATA}/trace.jsonl"
    good = True
    with tempfile.TemporaryDirectory() as directory:
        for number, snapshot in enumerate(snapshots or [heap]):
            file = f"{directory}/{number}-{os.path.basename(snapshot)}.pftrace"
            subprocess.run([tool, "snapshot", "-q", "-f", "perfetto", "-o", file, snapshot], check=True)
            good &= check(importer, file, expected(snapshot))
        later = f"{directory}/later.jsonl"
        with open(heap, encoding="utf-8") as old, open(later, "w", encoding="utf-8") as new:
            new.write(old.read().replace("T11:34:07", "T11:44:07"))
        file = f"{directory}/backwards.pftrace"
        subprocess.run([tool, "merge", "-q", "-o", file, later, heap], check=True)
        good &= check(importer, file, [2 * one for one in expected(heap)])
        file = f"{directory}/trace.pftrace"
        subprocess.run([tool, "trace", "-q", "-o", file, trace], check=True)
        good &= check(importer, file, (2, 248, 0), LEFT)  # as perfetto_test.cpp has it
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
