#include "tests/symbols/unwind/inputs/known_stack.h"

static __attribute__((noinline)) long known_inner(known_visitor visit,
                                                  void* context,
                                                  struct known_node* parameter) {
  static struct known_node* no_local;
  struct known_node* array[2] = {0, parameter};
  struct known_node inside = {.next = parameter, .value = 77};
  struct known_node** to_pointer = &array[1];
  no_local = parameter;
  visit(context);
  return inside.value + array[1]->value + (*to_pointer)->value + no_local->value;
}

long known_outer(known_visitor visit,
                 void* context,
                 struct known_node* first,
                 struct known_node* second) {
  struct known_node* plain = first;
  const long found = known_inner(visit, context, second);
  return found + plain->value;
}

long known_call_endless(known_visitor visit, void* context) {
  return known_endless(visit, context) + 1;
}
