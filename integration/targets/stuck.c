/* Its only thread is in uninterruptible sleep for ever: its child by vfork never ends by itself. */

#include <unistd.h>

int main(void) {
  char letter;
  if (vfork() != 0) return 0;
  if (write(STDOUT_FILENO, "ready\n", 6) != 6) _exit(1);
  while (read(STDIN_FILENO, &letter, 1) > 0) continue;
  _exit(0);
}
