// A program that has not allocated anything: it prints "ready" and waits for the end of its input.

#include <unistd.h>

int main(void) {
  if (write(STDOUT_FILENO, "ready\n", 6) != 6) return 1;
  char none = 0;
  while (read(STDIN_FILENO, &none, 1) > 0) {
  }
  return 0;
}
