"""Runs the commands of a Markdown page and compares their output with the page.

Usage: try_page.py PAGE TOOL...: runs the commands that call one of the TOOLs, in a directory with
heap.jsonl. A command is a line "$ ..." in a fenced block, its output the lines that follow it.
Prints how many were run; fails, with the difference, if one printed something else.
"""

import difflib
import re
import subprocess
import sys


def commands(text):
    for block in re.split(r"^```.*\n", text, flags=re.MULTILINE)[1::2]:
        found = []
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found:
                found[-1][1].append(line)
        yield from found


page, *tools = sys.argv[1:]
run = 0
for command, expected in commands(open(page, encoding="utf-8").read()):
    if not any(word in tools for word in command.split()):
        continue
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    printed = done.stdout.splitlines()
    if done.returncode != 0 or printed != expected:
        print(f"$ {command}\n{done.stderr}")
        sys.exit("\n".join(difflib.unified_diff(expected, printed, "on the page", "printed")))
    run += 1
print(f"ran={run}")
