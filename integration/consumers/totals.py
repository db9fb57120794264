"""The total of objects and bytes in a file of any format: totals.py FORMAT FILE.

Prints "OBJECTS BYTES"; "-" for a number that the format does not have. Each reader knows only as much
of its format as adding up takes.
"""

import csv
import gzip
import json
import re
import struct
import sys


def of_pairs(pairs):
    pairs = list(pairs)
    return sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)


def of_html(data):
    report = json.loads(re.search(rb'id="data">(.*?)</script>', data, re.S)[1])
    rows, rest = report["types"], report["left_out"]
    totals = report["totals"]["objects"], report["totals"]["bytes"]
    assert totals == of_pairs([row[:2] for row in rows] + [(rest["objects"], rest["bytes"])])
    return totals


def of_jsonl(data):
    records = [json.loads(line) for line in data.splitlines()]
    objects = [(1, record["bytes"]) for record in records if record["record"] == "object"]
    end = records[-1]
    assert (end["objects"], end["bytes"]) == of_pairs(objects)
    return of_pairs(objects)


def of_heapsnapshot(data):
    nodes = json.loads(data)["nodes"]
    return of_pairs((1, nodes[at + 3]) for at in range(0, len(nodes), 7) if nodes[at] != 9)


def of_ruby(data):
    records = [json.loads(line) for line in data.splitlines()]
    return of_pairs((1, one["memsize"]) for one in records if one["type"] not in ("ROOT", "CLASS"))


def of_dhat(data):
    return of_pairs((point["tbk"], point["tb"]) for point in json.loads(data)["pps"])


def of_folded(data):
    return "-", sum(int(line.rsplit(None, 1)[1]) for line in data.splitlines())


def of_svg(data):
    return "-", int(re.search(rb"all: (\d+) bytes retained", data)[1])


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag % 8 == 2:
            value, at = data[at : at + value], at + value
        yield tag // 8, value


def of_pprof(data):
    pairs = []
    for number, sample in fields(gzip.decompress(data)):
        if number != 2:
            continue
        values = dict(fields(sample))[2]
        objects, at = varint(values, 0)
        pairs.append((objects, varint(values, at)[0]))
    return of_pairs(pairs)


def of_perfetto(data):
    graphs = (graph for _, packet in fields(data) for number, graph in fields(packet) if number == 56)
    objects = (dict(fields(one)) for graph in graphs for number, one in fields(graph) if number == 2)
    # The objects that stand for roots have no size.
    return of_pairs((1, one[3]) for one in objects if one.get(3, 0) > 0)


def of_dump(data):
    words = memoryview(data[8:]).cast("Q")
    pairs, at, end = [], 0, 2**64 - 1
    while words[at] != end:
        bytes_, is_atomic = words[at + 1] & (end >> 1), words[at + 1] >> 63
        at += 2 + (bytes_ // 8 if data.startswith(b"GCFULL") else 1)
        if data.startswith(b"GCGRPH") and not is_atomic:
            while words[at] != end:
                at += 2
            at += 1
        pairs.append((1, bytes_))
    return of_pairs(pairs)


def of_hprof(data):
    objects, at = 0, 19 + 4 + 8
    while at < len(data):
        tag, length = data[at], struct.unpack_from(">I", data, at + 5)[0]
        at += 9
        inner, end = at, at + length
        while tag == 0x1C and inner < end:
            kind = data[inner]
            if kind == 0x01:
                inner += 17
            elif kind == 0xFF:
                inner += 9
            elif kind == 0x20:
                statics = struct.unpack_from(">H", data, inner + 1 + 8 + 4 + 48 + 4 + 2)[0]
                inner += 1 + 8 + 4 + 48 + 4 + 2 + 2 + 17 * statics
                inner += 2 + 9 * struct.unpack_from(">H", data, inner)[0]
            else:
                # Two objects exist only for readers, at addresses that no heap has.
                is_of_readers = data[inner + 1] >= 0x10
                count = struct.unpack_from(">I", data, inner + 13 + (8 if kind == 0x21 else 0))[0]
                inner += 1 + 8 + 4 + 8 + 4 + count * (1 if kind == 0x21 else 8)
                objects += not is_of_readers
        at = end
    return objects, "-"


def of_table(data):
    line = re.search(rb"^ *(\d+) +(\d+) +[\d.]+ +live$", data, re.M)
    return int(line[1]), int(line[2])


def of_markdown(data):
    line = re.search(rb"^\| (\d+) \| (\d+) \| live \|$", data, re.M)
    return int(line[1]), int(line[2])


def of_rows(data, separator):
    rows = csv.DictReader(data.decode().splitlines(), delimiter=separator)
    return of_pairs((int(row["objects"]), int(row["bytes"])) for row in rows)


def of_json(data):
    report = json.loads(data)
    assert (report["objects"], report["bytes"]) == of_pairs(
        (one["objects"], one["bytes"]) for one in report["types"]
    )
    return report["objects"], report["bytes"]


def of_memprof(data):
    return sum(int(line.split(b"\t")[0]) for line in data.splitlines()[1:]), "-"


READERS = {
    "csv": lambda data: of_rows(data, ","),
    "tsv": lambda data: of_rows(data, "\t"),
    "gcgrph": of_dump,
    "gcfull": of_dump,
}
reader = READERS.get(sys.argv[1]) or globals()["of_" + sys.argv[1]]
print(*reader(open(sys.argv[2], "rb").read()))
