#pragma once

// Functions that call back from a stack of theirs that is known, in three ways: described by tables
// and debug information, by frame pointers alone, and below a signal's handler.

#ifdef __cplusplus
extern "C" {
#endif

struct known_node {
  struct known_node* next;
  long value;
};

typedef void (*known_visitor)(void* context);

// known_outer holds `first` in a parameter, calls known_inner with `second`, which has it in a
// parameter, in `array[1]` and in `inside.next`, and the word 77 in `inside.value`.
long known_outer(known_visitor visit,
                 void* context,
                 struct known_node* first,
                 struct known_node* second);
// The same call without call frame information.
long known_without_tables(known_visitor visit, void* context);

#ifdef __cplusplus
}
#endif
