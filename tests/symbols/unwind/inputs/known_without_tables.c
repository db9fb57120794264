#include "tests/symbols/unwind/inputs/known_stack.h"

long known_without_tables(known_visitor visit, void* context) {
  visit(context);
  return 1;
}
