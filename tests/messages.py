#!/usr/bin/env python3
"""All texts that heapattach shows to people, by source file, and the rules that they follow.

messages.py ROOT           checks the rules; exits with 1 and a list if a text breaks one
messages.py ROOT --print   prints all texts, to be read as a whole

A text is a string literal of at least two words in attach, inject, symbols or report; adjacent
literals are one text. Raw strings, which are code, and assembly are left out.
"""

import pathlib
import re
import sys

ROOMS = ("attach", "inject", "symbols", "report")
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
# A comment, a raw string, a character, or a text, whichever begins first.
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<end>[^(\s]*)\(.*?\)(?P=end)"'
    r"|'(?:[^'\\\n]|\\.)'"
    rf'|(?P<text>{LITERAL}(?:\s*{LITERAL})*)', re.S)
# Calls and values whose first text is the reason or the advice of an Error.
ERROR = re.compile(
    r'(?:\bError\{ErrorKind::\w+,|\b(?:usage|impossible|malformed|unsupported|advise|context|os_error)\()'
    r'\s*(?:fmt::format\(|std::string\()?\s*$')
SKIPPED_LINES = ("#include", "asm(")
# Lists of other people's names.
SKIPPED_FILES = ("library_names.cpp", "ruby_names.cpp")

# Phrases that a reader has to translate, and the usual words.
PHRASES = [
    (r"\bmakes no (?:progress|sense)\b", "say what is missing or invalid"),
    (r"\ba file does not contain\b", "not available for"),
    (r"\bno closing\b", "unterminated"),
    (r"\bstand-in\b", "placeholder"),
    (r"(?<!there )\b(?:is|was) no (?!longer\b)[a-z]", "is not a"),
    (r"\bother things\b", "name them"),
    (r"\beach of \{\} [a-z]+ of\b", "{} of {}"),
    (r"\bin the midst of\b", "inside"),
    (r"\bnot to be had\b", "not available"),
    (r"\btells\b", "reports"),
    (r"\bWhat [a-z]+s\b.*[^?]$", "name the thing"),
]
# Names, which begin with a capital letter anywhere.
NAMES = re.compile(
    r"(?:[A-Z][A-Z0-9_]+\b|Ruby|Linux|Landlock|Crystal|Boehm|C\b|C\+\+|DWARF|ELF|Guile|Nim|Thread\b)")


def texts_of(path):
    """Yields (line, text, whether it is an error's) for each text of a source."""
    source = path.read_text(encoding="utf-8")
    for found in TOKEN.finditer(source):
        literals = found.group("text")
        if literals is None:
            continue
        start = found.start()
        line = source[source.rfind("\n", 0, start) + 1:start]
        if line.lstrip().startswith(SKIPPED_LINES):
            continue
        text = "".join(one[1:-1] for one in re.findall(LITERAL, literals))
        if re.search(r"[A-Za-z]{2,}[,:;.]? +\(?[A-Za-z]{2,}", text):
            before = source[max(0, start - 200):start]
            yield source.count("\n", 0, start) + 1, text, bool(ERROR.search(before))


def faults_of(text, is_error):
    for phrase, better in PHRASES:
        if re.search(phrase, text):
            yield f"uses words that a reader has to translate; better: {better}"
    if not is_error:
        return
    if text[0].isupper() and not NAMES.match(text):
        yield "an error begins with a capital letter"
    if text.endswith(".") and not text.endswith("..."):
        yield "an error ends in a full stop"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    is_list = "--print" in sys.argv[2:]
    count = errors = faults = 0
    for room in ROOMS:
        for path in sorted(one for one in (root / room).rglob("*") if one.suffix in (".h", ".cpp")):
            if path.name in SKIPPED_FILES:
                continue
            name = path.relative_to(root)
            is_first = True
            for line, text, is_error in texts_of(path):
                count += 1
                errors += is_error
                if is_list:
                    if is_first:
                        print(f"\n{name}")
                    is_first = False
                    print(f"  {text}")
                    continue
                for fault in faults_of(text, is_error):
                    faults += 1
                    print(f"{name}:{line}: {fault}\n  {text}")
    if not is_list:
        print(f"{count} texts, {errors} of them errors; {faults} break a rule")
        # Without these numbers, a change of the sources' form could leave nothing to check.
        if count < 1000 or errors < 200:
            sys.exit("most texts were not found")
    sys.exit(faults != 0)


if __name__ == "__main__":
    main()
