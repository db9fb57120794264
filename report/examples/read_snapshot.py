#!/usr/bin/env python3
"""Counts the objects of a saved heapattach snapshot by type, and says what the roots reference.

Usage: read_snapshot.py [--roots] FILE

FILE is plain or gzipped; - is standard input. Prints objects, bytes and type, tab-separated, the
type with the most bytes first, as `heapattach --count -f tsv` does. With --roots, prints instead
how many objects each kind of root references, and their types. The status is 7 if the snapshot is
partial, and 1 if the file cannot be read.

The format is described in DATA.md, "The snapshot". This reader needs nothing else: copy what you
need of it.
"""

import collections
import gzip
import io
import json
import sys

KNOWN_VERSION = 1


class Snapshot:
    """The records of a file. `objects` maps addresses to records; `end` is None if it is missing."""

    def __init__(self, lines):
        self.header, self.end = None, None
        self.types, self.threads, self.fibers, self.roots, self.objects = {}, [], [], [], {}
        number, line = 0, "\n"
        try:
            for number, line in enumerate(lines, 1):
                self.take(json.loads(line))
        except EOFError:
            pass  # a gzipped file that was cut off; it has no end record
        except (ValueError, KeyError) as error:
            if line.endswith("\n"):
                raise SystemExit(f"line {number}: {error!r}") from error
            # It was cut off in the middle of its last line.

    def take(self, record):
        kind = record["record"]
        if self.header is None:
            if kind != "snapshot" or record["version"] != KNOWN_VERSION:
                raise ValueError("not a snapshot of version 1")
            self.header = record
        elif kind == "type":
            self.types[record["name"]] = record
        elif kind in ("thread", "fiber", "root"):
            {"thread": self.threads, "fiber": self.fibers, "root": self.roots}[kind].append(record)
        elif kind == "object":
            self.objects[record["address"]] = record
        elif kind == "end":
            self.end = record
        # Later releases may have more kinds of records, which are left alone.

    def is_complete(self):
        return self.end is not None and self.end["complete"]

    def counts(self):
        """{type: (objects, bytes)} of what is alive."""
        found = collections.Counter(), collections.Counter()
        for record in self.objects.values():
            if record.get("reachable", True):
                found[0][record["type"]] += 1
                found[1][record["type"]] += record["bytes"]
        return {name: (found[0][name], found[1][name]) for name in found[0]}

    def held_by_roots(self):
        """{(kind of root, type): objects that are referenced}."""
        held = {(root["kind"], root["to"]) for root in self.roots}
        return collections.Counter((kind, self.objects[to]["type"]) for kind, to in held)


def open_lines(name):
    file = sys.stdin.buffer if name == "-" else open(name, "rb")
    start = file.peek(2)[:2]
    return io.TextIOWrapper(gzip.GzipFile(fileobj=file) if start == b"\x1f\x8b" else file, "utf-8")


def main(arguments):
    with open_lines(arguments[-1]) as lines:
        snapshot = Snapshot(lines)
    if snapshot.header is None:
        raise SystemExit("no record in it")
    if arguments[0] == "--roots":
        for (kind, name), objects in sorted(snapshot.held_by_roots().items()):
            print(objects, kind, name, sep="\t")
    else:
        rows = sorted(snapshot.counts().items(), key=lambda row: (-row[1][1], row[0]))
        for name, (objects, size) in rows:
            print(objects, size, name, sep="\t")
    return 0 if snapshot.is_complete() else 7


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
