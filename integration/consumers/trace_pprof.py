# The view of `go tool pprof` of a trace: trace_pprof.py FILE. Prints value, own, with callees and
# name of each function, a line each, then the tags with their keys. The status is 77 if this script
# does not know the form of the view.
import subprocess
import sys


def pprof(*options):
    command = ["go", "tool", "pprof", *options, sys.argv[1]]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def bytes_or_count(text):
    return int(float(text.removesuffix("B")))


everything = ["-nodecount=1000000", "-nodefraction=0", "-edgefraction=0"]
for value, unit in [("alloc_objects", "count"), ("alloc_space", "B"), ("inuse_objects", "count"),
                    ("inuse_space", "B")]:
    text = pprof("-top", f"-sample_index={value}", f"-unit={unit}", *everything)
    if "flat%" not in text:
        print("the view has no column flat%:", text, file=sys.stderr)
        sys.exit(77)
    for line in sorted(text[text.index("flat%"):].splitlines()[1:]):
        own, _, _, with_callees, _, name = line.split(None, 5)
        print(value, bytes_or_count(own), bytes_or_count(with_callees), name, sep="\t")
key = ""
for line in pprof("-tags", "-sample_index=alloc_space", "-unit=B").splitlines():
    if line.strip().endswith("B") and ":" in line:
        key = line.split(":")[0].strip()
    elif "%" in line and key:
        number, rest = line.split("(", 1)
        print(key, bytes_or_count(number.strip()), rest.split(":", 1)[1].strip(), sep="\t")
