"""Which sources may be compiled as one: integration/unity.py ROOT KEPT SOURCE...

Prints "UNIT SOURCE" for each; sources with the same number share a translation unit. If the file KEPT
exists, it has what this printed last time: sources stay where they are if they can, so that a new one
costs its own unit and not all of them. Most of a build
goes into reading the same headers again for each source, so a few large units build several times as
fast. Two sources do not share a unit if what one declares for itself alone (in its anonymous namespace,
by "using" or by "#define") could be taken for what the other means. A mistake here does not compile.
"""

import os
import pathlib
import re
import sys

# Small enough to leave work for all cores, and to compile in one gigabyte, unless the caller knows better.
UNIT_LINES = int(os.environ.get("HEAPATTACH_UNIT_LINES", 3000))
KEPT_LINES = UNIT_LINES * 11 // 10  # of a unit whose sources have grown
NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
# The sources are formatted: what starts at the margin is the start or the end of a namespace, or a
# declaration. That declares the last word before its parameters, base, value or body.
AT_MARGIN = re.compile(
    r"^(?:inline )?namespace\b *(?P<opened>[\w:]*) *\{$|^(?P<closed>\})  // namespace\b|"
    r"^#define (?P<macro>\w+)|"
    r"^(?P<declaration>using [^;]*|(?!namespace\b)(?:[^\W\d]|\[\[)(?:[^;{=(:]|::)*)", re.MULTILINE)
SHORT_NAMESPACE = re.compile(r"^(namespace \S+ \{\n[^\n]*\n\})$", re.MULTILINE)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
WORD = re.compile(r"[^\W\d]\w*")


class File:
    """What a source or a header declares, by the namespace that it is declared in."""

    def __init__(self, path):
        text = path.read_text() if path.exists() else ""
        code = NOT_CODE.sub(lambda found: found[0] if "// namespace" in found[0] else " ", text)
        code = SHORT_NAMESPACE.sub(r"\1  // namespace", code)
        self.lines = text.count("\n")
        self.includes = INCLUDE.findall(text)
        self.words = set(WORD.findall(code))
        self.declared = set()  # (namespace, name)
        self.private = {}  # (namespace, name) -> how it is declared
        self.macros = set()
        self.opened = set()  # "using namespace …"
        spaces = []
        for found in AT_MARGIN.finditer(code):
            if found["closed"]:
                spaces.pop()
            elif found["macro"]:
                self.macros.add(found["macro"])
            elif found["declaration"] is None:
                spaces.append(found["opened"])
            else:
                self.declare(spaces, found["declaration"])

    def declare(self, spaces, declaration):
        name = WORD.findall(declaration.split("=")[0])[-1]
        if declaration.startswith("using namespace "):
            if not declaration.startswith("using namespace std::"):  # of literals, which disturb nobody
                self.opened.add(declaration.split()[-1])
            return
        if name.isupper():  # a macro is used
            return
        key = ("::".join(filter(None, spaces)), name)
        self.declared.add(key)
        if "" in spaces or declaration.startswith("using "):
            self.private[key] = declaration


class Files:
    def __init__(self, root):
        self.root = root
        self.files = {}
        self.visible = {}

    def file(self, path):
        if path not in self.files:
            self.files[path] = File(self.root / path)
        return self.files[path]

    def declared_by_headers(self, path):
        """(namespace, name) of all that the headers declare which a file includes, at any depth."""
        if path not in self.visible:
            self.visible[path] = set()  # ends a circle
            self.visible[path] = set().union(
                *(self.file(header).declared | self.declared_by_headers(header)
                  for header in self.file(path).includes))
        return self.visible[path]


class Source:
    def __init__(self, files, path):
        self.path = path
        self.file = files.file(path)
        self.headers = files.declared_by_headers(path)

    def disturbs(self, other):
        # A macro may also be what a header looks for.
        if self.file.macros or self.file.opened != other.file.opened:
            return True
        for (space, name), how in self.file.private.items():
            theirs = other.file.private.get((space, name))
            if theirs is not None and not (theirs == how and how.startswith("using ")):
                return True
            # Something in a function or a class may have the name of a constant or an alias.
            is_hidden_easily = name[:1] == "k" and name[1:2].isupper() or "=" in how and theirs is None
            if is_hidden_easily and name in other.file.words:
                return True
            parts = space.split("::")
            scopes = ["::".join(parts[:depth]) for depth in range(len(parts) + 1)]
            if any((scope, name) in other.headers for scope in (*scopes, *self.file.opened)):
                return True
        return False

    def fits(self, unit, most=UNIT_LINES):
        return (sum(source.file.lines for source in unit) + self.file.lines <= most and
                not any(self.disturbs(source) or source.disturbs(self) for source in unit))


def kept_units(path):
    """The unit of each source, as it was last time."""
    if not path.exists():
        return {}
    rows = (line.split(" ", 1) for line in path.read_text().splitlines() if " " in line)
    return {source: int(number) for number, source in rows}


def main():
    files = Files(pathlib.Path(sys.argv[1]))
    kept = kept_units(pathlib.Path(sys.argv[2]))
    sources = [Source(files, path) for path in sys.argv[3:]]
    sources.sort(key=lambda source: -len(source.file.private))
    units = {}
    rest = []
    for source in sources:
        unit = units.setdefault(kept[source.path], []) if source.path in kept else None
        if unit is not None and source.fits(unit, KEPT_LINES):
            unit.append(source)
        else:
            rest.append(source)
    for source in rest:
        number = next((number for number, unit in sorted(units.items()) if source.fits(unit)), None)
        if number is None:
            number = max(units, default=-1) + 1
        units.setdefault(number, []).append(source)
    for number, unit in sorted(units.items()):
        for source in unit:
            print(number, source.path)


main()
