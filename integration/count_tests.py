"""Counts the tests of a ctest JUnit report: prints "passed failed skipped".

Usage: count_tests.py REPORT SKIPS. The names and reasons of what was skipped go to the file SKIPS. A
test is skipped if ctest says so, or if it printed a line "skipped: why" and passed. A group of tests
(tests/group.py) counts for each of them.
"""

import re
import sys
import xml.etree.ElementTree as xml


def main():
    report, skips = sys.argv[1:]
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with open(skips, "w") as lines:
        for case in xml.parse(report).getroot().iter("testcase"):
            output = case.findtext("system-out") or ""
            reasons = re.findall(r"^skipped: (.*)$", output, re.MULTILINE)
            if case.find("failure") is not None or case.get("status") == "fail":
                counts["failed"] += 1
            elif reasons or case.get("status") in ("notrun", "disabled"):
                counts["skipped"] += 1
                skipped = case.find("skipped")
                why = "; ".join(reasons) or (skipped is not None and skipped.get("message"))
                lines.write(f"  skipped: {case.get('name')}: {why or 'not run'}\n")
            else:
                group = re.search(r"^tests in this group: (\d+)$", output, re.MULTILINE)
                counts["passed"] += int(group[1]) if group else 1
    print(counts["passed"], counts["failed"], counts["skipped"])


main()
