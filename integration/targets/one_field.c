// Keeps 30 objects whose only field is a number, 0 to 29, and 30 whose only field is such a struct.

#include <gc.h>
#include <unistd.h>

enum { kAll = 30 };

struct one {
  long number;
};
struct outer {
  struct one inner;
};

static struct one* ones[kAll];
static struct outer* outers[kAll];

int main(void) {
  GC_INIT();
  for (int i = 0; i < kAll; ++i) {
    ones[i] = GC_MALLOC(sizeof *ones[i]);
    outers[i] = GC_MALLOC(sizeof *outers[i]);
    ones[i]->number = i;
    outers[i]->inner.number = i;
  }
  if (write(STDOUT_FILENO, "ready\n", 6) != 6) return 1;
  char none = 0;
  while (read(STDIN_FILENO, &none, 1) > 0) {
  }
  return 0;
}
