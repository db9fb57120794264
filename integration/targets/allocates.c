// Allocates a little with the malloc with which it was linked, prints "ready", and waits for the
// end of its standard input. With OWN_MALLOC, it defines its own malloc. With NEVER_FREES, it never
// frees, so that a static program gets musl's smallest malloc, which cannot free.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef OWN_MALLOC
static _Alignas(16) char heap[1 << 20];
static size_t used;
void* malloc(size_t bytes) {
  const size_t whole = (bytes + 15) / 16 * 16;
  if (whole > sizeof heap - used) return NULL;
  void* const at = heap + used;
  used += whole;
  return at;
}
void free(void* at) {
  (void)at;
}
void* calloc(size_t count, size_t bytes) {
  return malloc(count * bytes);  // memory is never used twice, so it is zero
}
void* realloc(void* at, size_t bytes) {
  void* const moved = malloc(bytes);
  if (at != NULL && moved != NULL) memcpy(moved, at, bytes);
  return moved;
}
#endif

int main(void) {
  void* volatile held = malloc(100);
  const char ready[] = "ready\n";
  if (held == NULL || write(1, ready, sizeof ready - 1) < 0) return 1;
  char end = 0;
  while (read(0, &end, 1) > 0) {
  }
#ifndef NEVER_FREES
  free(held);
#endif
  return 0;
}
