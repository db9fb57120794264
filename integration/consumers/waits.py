#!/usr/bin/env python3
"""Compares what heapattach reports about the waits of targets/waits.cr's fibers with the truth.

    waits.py HEAPATTACH PROGRAM...
    waits.py --bare HEAPATTACH PROGRAM [TYPES]

Each PROGRAM is targets/waits.cr, built by any Crystal compiler in any way. A fiber's name says what it
waits for, and the program prints which descriptors and which process these are. --stacks is asked, and a
snapshot that was saved and read again. Prints a line for each program, and one for each fiber that is not
as it should be; the status is 1 if there is any. A bare program is optimized and has no debug information,
and perhaps no symbols: what is known of its fibers' waits must be true, and the rest must be unknown. TYPES is
its list of type ids, with which the waits for channels are known.
"""

import json
import subprocess
import sys
import time

# By the fiber's name: its wait in JSON, and further required keys. A word in capitals is a number
# that the program has printed.
CHANNEL = {"object": "0x", "type": "Channel("}
EXPECTED = {
    "receive": ("receive", CHANNEL),
    "receive?": ("receive", CHANNEL),
    "send": ("send", CHANNEL),
    "select": ("select", {}),
    "select-timeout": ("select", {"left_s": None}),
    "holder": ("sleep", {"left_s": None}),
    "mutex": ("mutex", {"object": "0x", "owner": "holder"}),
    "deadlock-first": ("mutex", {"object": "0x", "owner": "deadlock-second", "holder": "Blog::SECOND_LOCK"}),
    "deadlock-second": ("mutex", {"object": "0x", "owner": "deadlock-first", "holder": "Blog::FIRST_LOCK"}),
    "wait-group": ("wait group", {"object": "0x"}),
    "lock-holder": ("sleep", {"left_s": None}),
    "rw-lock": ("mutex", {"object": "0x"}),
    "condition": ("condition", {"object": "0x"}),
    "read-socket": ("read", {"descriptor": "NEAR: unix socket"}),
    "read-limited": ("read", {"descriptor": "FAR: unix socket", "event_left_s": None}),
    "read-pipe": ("read", {"descriptor": "READER: pipe"}),
    "accept": ("accept", {"descriptor": "SERVER: TCP 127.0.0.1:"}),
    "write-pipe": ("write", {"descriptor": "FILLED: pipe"}),
    "connect": ("connect", {"descriptor": "TCP 127.0.0.1:"}),
    "process": ("process", {"process": "PROCESS"}),
    "sleep": ("sleep", {"left_s": None}),
    "sleep-forever": ("sleep forever", {}),
    "main": ("read", {"descriptor": "0: pipe"}),
}
LIMITED = 900  # seconds, at most
IDLE_SHAPES = ("pool", "actors", "signals")


class Target:
    """A running program, and what it printed before "ready"."""

    def __init__(self, program, shape):
        self.numbers = {}
        self.process = subprocess.Popen([program, shape], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            if line.startswith("ready"):
                self.wait_until_asleep()
                return
            for pair in line.split():
                name, _, value = pair.partition("=")
                self.numbers[name.upper()] = value
        raise SystemExit(f"{program} {shape}: ended before it was ready")

    def wait_until_asleep(self):
        """Waits until the fiber that printed "ready" waits as well."""
        while self.process.poll() is None:
            with open(f"/proc/{self.process.pid}/stat", encoding="ascii", errors="replace") as stat:
                if stat.read().rpartition(")")[2].split()[0] == "S":
                    return
            time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if "PROCESS" in self.numbers:
            subprocess.run(["kill", self.numbers["PROCESS"]], check=False)
        self.process.kill()
        self.process.wait()


def stacks_of(tool, pid, options=()):
    command = [tool, "--stacks", "--max-pause", "60000", "-f", "json", *options, str(pid)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def snapshot_of(tool, pid):
    """The same of the records of a snapshot, after these were read and written again."""
    saved = subprocess.run([tool, "--max-pause", "60000", str(pid)], check=True, capture_output=True)
    again = subprocess.run([tool, "/dev/stdin"], input=saved.stdout, check=True, capture_output=True)
    records = [json.loads(line) for line in again.stdout.splitlines()]
    report = {"findings": records[0].get("findings", []), "fibers": [], "groups": records}
    for record in records:
        if record["record"] == "fiber":
            waits = record.get("waits", {"for": "unknown"})
            report["fibers"].append(record | waits | {"wait": waits["for"]})
    return report


def has_own_events(version):
    """Before 1.15 the limit of a read is in libevent, which the fiber does not reference."""
    return tuple(int(part) for part in version.split("-")[0].split(".")[:2]) >= (1, 15)


def has_lines(report):
    """Whether the program has debug information; without it lld leaves no names of methods."""
    return any(frame.get("file", "").endswith(".cr") for group in report["groups"] for frame in group.get("frames", []))


def faults_of(fiber, expected, names, numbers, has_methods):
    """The unexpected facts about a fiber."""
    word, details = expected
    faults = []
    is_channel = word in ("send", "receive") and not has_methods and fiber["wait"] == "channel"
    is_io = word in ("read", "write") and not has_methods and fiber["wait"] == "io"
    if fiber["wait"] != word and not is_channel and not is_io:
        faults.append(f"wait is {fiber['wait']!r}, not {word!r}")
    for key, wanted in details.items():
        value = fiber.get(key)
        if key == "event_left_s" and not has_own_events(numbers["CRYSTAL"]):
            continue
        if key.endswith("left_s"):
            value = fiber.get("left_s")
            is_right = value is not None and 0 < value <= LIMITED
        elif key == "owner":
            is_right = names.get(value) == wanted
        elif key == "process":
            is_right = str(value) == numbers[wanted]
        else:
            name, colon, rest = wanted.partition(": ")
            if colon and name in numbers:
                wanted = f"{numbers[name]}: {rest}"
            is_right = value is not None and wanted in value
        if not is_right:
            faults.append(f"{key} is {value!r}, not {wanted!r}")
    return faults


def check_report(report, numbers):
    faults, right = [], 0
    names = {fiber["address"]: fiber.get("name", "") for fiber in report["fibers"]}
    for fiber in report["fibers"]:
        name = fiber.get("name", "")
        if fiber.get("runtime") or fiber.get("of_thread") or name not in EXPECTED:
            continue
        wrong = faults_of(fiber, EXPECTED[name], names, numbers, has_lines(report))
        faults += [f'fiber "{name}": {fault}' for fault in wrong]
        right += not wrong
        is_locked = name.startswith("deadlock-")
        if is_locked != ("finding" in fiber):
            faults.append(f'fiber "{name}": finding is {fiber.get("finding")}')
    missing = {"receive", "send", "select", "mutex", "main", "sleep", "accept", "process"} - set(names.values())
    faults += [f'fiber "{name}" is missing' for name in missing]
    finding = (report["findings"] or ["none"])[0]
    for word in ("deadlock: ", "Blog::publish", "Blog::archive", "Blog::FIRST_LOCK", "Blog::SECOND_LOCK"):
        if word not in finding.replace("Blog.", "Blog::"):
            faults.append(f"the finding lacks {word!r}: {finding}")
    return right, faults


def check_all(tool, program):
    with Target(program, "all") as target:
        right, faults = check_report(stacks_of(tool, target.process.pid), target.numbers)
        in_snapshot, more = check_report(snapshot_of(tool, target.process.pid), target.numbers)
    faults += [f"in the snapshot: {fault}" for fault in more]
    return min(right, in_snapshot), faults


def check_shapes(tool, program):
    faults = []
    for shape in IDLE_SHAPES:
        with Target(program, shape) as target:
            report = stacks_of(tool, target.process.pid)
            faults += [f"{shape}: a false alarm: {finding}" for finding in report["findings"]]
    with Target(program, "wedged") as target:
        report = stacks_of(tool, target.process.pid)
        if not any(finding.startswith("deadlock: ") for finding in report["findings"]):
            faults.append(f"wedged: no deadlock is found: {report['findings']} {report.get('remarks')}")
    return faults


def bare_faults(fiber, expected, has_types):
    """The false statements about a fiber of a program without debug information."""
    wait, wanted = fiber["wait"], expected[0]
    must_be_known = has_types and fiber["name"] in ("send", "receive")
    if wait == wanted or (wait == "unknown" and not must_be_known):
        return []
    if wait == "channel" and wanted in ("send", "receive", "select", "process"):
        return [] if fiber.get("type", "").startswith("Channel(") else [f"type is {fiber.get('type')!r}"]
    is_of_process = wanted == "process" and wait == "receive"  # it does wait for a channel
    is_io = wait in ("io", "read", "write") and wanted in ("read", "write", "accept", "connect")
    return [] if is_io or is_of_process else [f"wait is {wait!r}, not {wanted!r}"]


def check_bare(tool, program, types=None):
    options = ["--type-info", types] if types else []
    with Target(program, "all") as target:
        report = stacks_of(tool, target.process.pid, options)
    faults, known = [], 0
    for fiber in report["fibers"]:
        name = fiber.get("name", "")
        if name == "Signal Loop" and fiber["wait"] not in ("read", "io", "unknown"):
            faults.append(f'fiber "{name}": wait is {fiber["wait"]!r}')
        if name not in EXPECTED or fiber.get("of_thread") or fiber.get("runtime"):
            continue
        faults += [f'fiber "{name}": {fault}' for fault in bare_faults(fiber, EXPECTED[name], types)]
        known += fiber["wait"] != "unknown"
    print(f"{program}: {known} waits known, {len(faults)} faults")
    for fault in faults:
        print(f"  {fault}")
    return 1 if faults or not report["fibers"] else 0


def main():
    if sys.argv[1] == "--bare":
        return check_bare(*sys.argv[2:])
    tool, programs = sys.argv[1], sys.argv[2:]
    status = 0
    for program in programs:
        right, faults = check_all(tool, program)
        faults += check_shapes(tool, program)
        print(f"{program}: {right} fibers right, {len(faults)} faults")
        for fault in faults:
            print(f"  {fault}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
