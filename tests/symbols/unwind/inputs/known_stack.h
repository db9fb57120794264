#pragma once

// Functions that call back from a known stack, in four ways: described by tables and debug
// information, by frame pointers only, by nothing, and below a signal handler.

#ifdef __cplusplus
extern "C" {
#endif

struct known_node {
  struct known_node* next;
  long value;
};

typedef void (*known_visitor)(void* context);

// known_outer has `first` in a parameter and calls known_inner with `second`, which has it in a
// parameter, in `array[1]` and in `inside.next`, and the word 77 in `inside.value`.
long known_outer(known_visitor visit,
                 void* context,
                 struct known_node* first,
                 struct known_node* second);
// A call without call frame information.
long known_without_tables(known_visitor visit, void* context);
// A call without a frame pointer, too, from a function known_frameless_inner.
long known_without_frame(known_visitor visit, void* context);
// A call from a loop that never ends.
long known_endless(known_visitor visit, void* context);
// Calls known_endless from a function whose tables need the frame pointer.
long known_call_endless(known_visitor visit, void* context);
// Calls getppid first.
long known_call_outside(void);

#ifdef __cplusplus
}
#endif
