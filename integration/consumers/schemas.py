"""Runs every report that can be written as JSON, and validates its output with its schema.

Usage: schemas.py HEAPATTACH SCHEMAS SERVICE HUNG BOTH SNAPSHOT TRACE: the pids of a service, of a
process with a deadlock and of one with two heaps, a saved snapshot, and a saved trace. The reports
are those that `--version --json` lists: one without a run here, without a schema, or with a status
that its schema does not name is a failure. A key that a schema does not describe is one, too.
Prints how many outputs were validated.
"""

import collections
import json
import pathlib
import subprocess
import sys

import jsonschema

tool, schemas, service, hung, both, saved, trace = sys.argv[1:]

# The name of a report, or of another schema, and the arguments of its runs.
RUNS = {
    "count": [["--all", service], ["--heap", "both", both]],
    "retained": [[service]],
    "object_sizes": [["0x7f3a10002000", saved]],
    "suspects": [[service], ["--with-trace", "1s", service]],
    "why": [["Shop::Session", saved], ["0x7f3a10002000", saved]],
    "graph": [["Shop::Session", saved]],
    "find": [["Shop::Session[@cart == nil]", saved]],
    "stacks": [[hung], [saved]],
    "diff": [[saved, service], [saved, saved, saved]],
    "watch": [["100ms", "--rounds", "1", both]],
    "strings": [[service]],
    "summary": [[service], [both]],
    "leaks": [["--heap", "malloc", "--confirm", "100ms", both]],
    "trace": [[trace], ["--by", "type", "--top", "1", trace]],
    "merge": [[saved, saved], ["--top", "1", saved, trace]],
    "check": [[service], [both]],
    "diagnose": [[hung], [saved]],
    "list": [["--top", "1"], ["--name", "no such name"]],
    "snapshot": [["--values", "--all", service], ["--heap", "both", both], [hung]],
    "trace_lines": [[trace]],
    "version": [[]],
}
SUBCOMMANDS = {"object_sizes": "retained", "trace_lines": "trace", "version": "--version"}
# Written in the formats of snapshots alone, or not one run.
OTHERS = {"export", "inject", "call", "ruby", "serve"}


def strict(schema):
    """The schema, refusing keys that it does not describe."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: strict(value) for key, value in schema.items()}
    if found.get("type") == "object" and "properties" in found and "allOf" not in found:
        found.setdefault("additionalProperties", False)
    return found


def some_of_each(lines):
    """At most 100 lines of each kind of record: a validator needs a millisecond for one."""
    seen = collections.Counter()
    for line in lines:
        kind = line[:20]
        seen[kind] += 1
        if seen[kind] <= 100:
            yield line


def run(name, arguments):
    lines = name in ("snapshot", "trace_lines")
    how = ["-f", "jsonl"] if lines else ["--json"]
    command = [tool, SUBCOMMANDS.get(name, name), *how, "-q", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return command, done, done.stdout.splitlines() if lines else [done.stdout]


statuses = {}
for report in json.loads(subprocess.run([tool, "--version", "--json"], capture_output=True,
                                        check=True).stdout)["exit_statuses"]:
    statuses[str(report["status"])] = report["meaning"]
version = json.loads(subprocess.run([tool, "--version", "-f", "json"], capture_output=True,
                                    check=True).stdout)
missing = {row["report"] for row in version["reports"]} - RUNS.keys() - OTHERS
assert not missing, f"no run of {missing}"
files = {path.name.removesuffix(".schema.json"): path for path in pathlib.Path(schemas).iterdir()}
assert files.keys() == RUNS.keys(), files.keys() ^ RUNS.keys()

validated = 0
for name, runs in RUNS.items():
    schema = json.loads(files[name].read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    for status, meaning in schema["exitStatuses"].items():
        assert statuses[status] == meaning, (name, status)
    validator = jsonschema.Draft202012Validator(strict(schema))
    for arguments in runs:
        command, done, lines = run(name, arguments)
        shown = " ".join(command)
        assert str(done.returncode) in schema["exitStatuses"], (shown, done.returncode, done.stderr)
        assert lines and lines[0], (shown, done.stderr)
        for line in some_of_each(lines):
            for error in validator.iter_errors(json.loads(line)):
                sys.exit(f"{shown}\n{error.json_path}: {error.message}\n{line[:2000]}")
        validated += 1
print(f"validated={validated}")
