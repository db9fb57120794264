# The view of `go tool pprof` of a profile: pprof.py FILE. Prints objects, bytes and name of each
# function, a line each. Fails if the profile is inconsistent or has no tags. The status is 77 if this
# script does not know the form of the view.
import subprocess
import sys


def pprof(*options):
    command = ["go", "tool", "pprof", *options, sys.argv[1]]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def flat(sample, unit):
    numbers = {}
    everything = ["-nodecount=1000000", "-nodefraction=0", "-edgefraction=0"]
    text = pprof("-top", f"-sample_index={sample}", f"-unit={unit}", *everything)
    if "flat%" not in text:
        print("the view has no column flat%:", text, file=sys.stderr)
        sys.exit(77)
    table = text[text.index("flat%"):].splitlines()[1:]
    for line in table:
        value, _, _, _, _, name = line.split(None, 5)
        if value != "0":
            numbers[name] = int(float(value.removesuffix("B")))
    return numbers


objects = flat("inuse_objects", "count")
for name, count in flat("inuse_space", "B").items():
    print(objects[name], count, name, sep="\t")
assert "for 0, 0% of" in pprof("-top", f"-diff_base={sys.argv[1]}"), "it is inconsistent"
tags = pprof("-tags")
assert " type:" in tags and " root:" in tags, tags
