"""Runs one of several groups of a program's tests in one process: group.py PROGRAM NUMBER GROUPS.

With sanitizers, starting a process takes longer than most tests. What a test leaves behind may harm
another in its group, so tests that run by themselves pass in groups, too, or are wrong.
"""

import os
import re
import subprocess
import sys


def main():
    program, number, groups = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    listed = subprocess.run([program, "--count"], check=True, stdout=subprocess.PIPE, text=True).stdout
    count = int(re.search(r"current filters: (\d+)", listed)[1])
    first, last = (count * at // groups for at in (number, number + 1))
    print(f"tests in this group: {last - first}", flush=True)
    os.execv(program, [program, f"--first={first + 1}", f"--last={last}"])


main()
