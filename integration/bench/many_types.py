"""Writes the sources of a program with much debug information: many_types.py DIRECTORY UNITS STRUCTS

Each unit has that many structs of its own and containers of them, so that the standard library's
templates are instantiated with many different arguments, as in really large programs. run.sh links
each unit several times, because headers are repeated in such programs.
"""

import os
import sys

INCLUDES = ("map", "memory", "string", "unordered_map", "vector")

STRUCT = """
struct {name} {{
  std::string name;
  struct {before}* before;
  int numbers[{count}];
  std::vector<{name}*> others;
  std::map<std::string, {name}*> by_name;
  std::unordered_map<long, std::unique_ptr<{name}>> owned;
}};

__attribute__((used)) static void fill({name}& at, long key) {{
  at.others.push_back(&at);
  at.by_name[at.name] = &at;
  at.owned[key] = std::make_unique<{name}>();
}}
"""

MAIN = """
#include <gc.h>
#include <stdio.h>

struct known {
  struct known* next;
  long numbers[4];
};

static struct known* volatile first;

int main() {
  GC_INIT();
  for (int i = 0; i < 1000; ++i) {
    struct known* made = static_cast<known*>(GC_MALLOC(sizeof(struct known)));
    made->next = first;
    first = made;
  }
  puts("ready");
  fflush(stdout);
  return getchar() == EOF ? 0 : 1;
}
"""


def main(directory, units, structs):
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "main.cpp"), "w") as source:
        source.write(MAIN)
    for unit in range(units):
        with open(os.path.join(directory, f"unit_{unit}.cpp"), "w") as source:
            source.writelines(f"#include <{header}>\n" for header in INCLUDES)
            for i in range(structs):
                source.write(STRUCT.format(name=f"record_{unit}_{i}",
                                           before=f"record_{unit}_{max(i - 1, 0)}",
                                           count=i % 7 + 1))


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
