// Allocates without end, once it has read a line. "grows MILLISECONDS" uses that much processor
// time for each mebibyte, so that it grows slowly on a busy machine, too. Each allocation is a
// session in a list that is never emptied.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct session {
  struct session* next;
  char name[1000];
};

struct session* sessions;

static double processor_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void add_session(void) {
  struct session* made = malloc(sizeof *made);
  if (made == NULL) exit(1);
  memset(made->name, 'x', sizeof made->name);
  made->next = sessions;
  sessions = made;
}

int main(int count, char** arguments) {
  const double pace = count > 1 ? atof(arguments[1]) : 40;
  char line[64];
  printf("ready\n");
  fflush(stdout);
  if (fgets(line, sizeof line, stdin) == NULL) return 0;
  for (long mebibytes = 0;; ++mebibytes) {
    const double until = processor_ms() + pace;
    for (int i = 0; i < 1024; ++i) add_session();
    while (processor_ms() < until) continue;
  }
}
