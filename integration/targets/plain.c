// Nothing but a process: works, naps and answers, in plain C so that it builds as a 32-bit program
// too. "--hide" makes it one that its own user may not look into.

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int count, char** words) {
  if (count > 1 && strcmp(words[1], "--hide") == 0) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  printf("ready\n");
  fflush(stdout);
  int asked = 0;
  int interrupted = 0;
  for (;;) {
    char letter = 0;
    const ssize_t got = read(0, &letter, 1);
    if (got < 0) {
      ++interrupted;
      continue;
    }
    if (got == 0) return 0;
    if (letter != '\n') continue;
    printf("asked=%d interrupted=%d\n", ++asked, interrupted);
    fflush(stdout);
  }
}
