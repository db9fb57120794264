#pragma once

// A C or C++ program prints what it knows about its own heap: a line
// ADDRESS<TAB>TYPE<TAB>PATH<TAB>TARGET for each edge, and a line with empty PATH and TARGET for
// each object. The function that prints them runs twice, because "lines=N" comes first.

#include <gc.h>
#include <stdio.h>
#include <string.h>

static int lines_are_counted;
static int line_count;

static void* base_of(const void* address) {
  return GC_base((void*)address);
}

static void object_line(const void* object, const char* type) {
  ++line_count;
  if (!lines_are_counted) printf("%p\t%s\t\t\n", base_of(object), type);
}

static void edge_line(const void* object, const char* type, const char* path, const void* to) {
  if (base_of(to) == NULL) return;
  ++line_count;
  if (!lines_are_counted) printf("%p\t%s\t%s\t%p\n", base_of(object), type, path, base_of(to));
}

// The edge of a member, by its name in the language: EDGE("struct node", node, next).
#define EDGE(type, object, path) edge_line((object), (type), #path, (const void*)(object)->path)

// The edge of a member of an element: EDGE_OF("struct item", items, 3, name) is "[3].name".
#define EDGE_OF(type, array, index, path)                                     \
  do {                                                                        \
    char name_of_it[64];                                                      \
    snprintf(name_of_it, sizeof name_of_it, "[%d].%s", index, #path);         \
    edge_line((array), (type), name_of_it, (const void*)(array)[index].path); \
  } while (0)

// The edge of an element that is a pointer.
#define EDGE_AT(type, array, index)                                      \
  do {                                                                   \
    char name_of_it[64];                                                 \
    snprintf(name_of_it, sizeof name_of_it, "[%d]", index);              \
    edge_line((array), (type), name_of_it, (const void*)(array)[index]); \
  } while (0)

static void print_lines(void (*print)(void)) {
  lines_are_counted = 1;
  line_count = 0;
  print();
  lines_are_counted = 0;
  printf("lines=%d\n", line_count);
  print();
  fflush(stdout);
}

// Answers "edges" until the test is gone.
static void answer_questions(void (*print_edges)(void)) {
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "edges") == 0) print_lines(print_edges);
  }
}
