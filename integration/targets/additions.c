// Makes objects that it keeps, and objects that it replaces. "add N" opens N sessions, which a list
// keeps forever, and makes N requests, of which a ring keeps the newest. "replace N" only makes
// requests. Sessions and requests each come from their own function. Prints how many sessions it
// keeps. Compiled with GC, everything is the collector's, otherwise malloc's.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WITH_GC
#include <gc.h>
#define ALLOCATE(bytes) GC_MALLOC(bytes)
#define RELEASE(at) ((void)(at))
#else
#define ALLOCATE(bytes) malloc(bytes)
#define RELEASE(at) free(at)
#endif

#define SITE __attribute__((noinline))
enum { kRecent = 256, kBallast = 4000, kSessionBytes = 200, kRequestBytes = 600 };

struct session {
  struct session* next;
  char* name;
  char state[kSessionBytes];
};
struct request {
  char text[kRequestBytes];
};

static struct session* sessions;
static struct request* recent[kRecent];
static void* ballast[kBallast];
static long kept, requests;

SITE static char* name_session(long number) {
  char* const name = ALLOCATE(64);
  snprintf(name, 64, "session %ld", number);
  return name;
}

SITE static void open_session(void) {
  struct session* const made = ALLOCATE(sizeof *made);
  memset(made->state, 1, sizeof made->state);
  made->name = name_session(kept);
  made->next = sessions;
  sessions = made;
  ++kept;
}

SITE static void make_request(void) {
  struct request** const place = &recent[requests++ % kRecent];
  RELEASE(*place);
  *place = ALLOCATE(sizeof **place);
  memset((*place)->text, 2, sizeof(*place)->text);
}

SITE static void fill_ballast(void) {
  for (int i = 0; i < kBallast; ++i) {
    ballast[i] = ALLOCATE(1000);
    memset(ballast[i], 3, 1000);
  }
}

int main(void) {
#ifdef WITH_GC
  GC_INIT();
#endif
  static char in[1024];
  static char out[1024];
  setvbuf(stdin, in, _IOLBF, sizeof in);
  setvbuf(stdout, out, _IOFBF, sizeof out);
  fill_ballast();
  for (int i = 0; i < kRecent; ++i) make_request();
  for (int i = 0; i < 50; ++i) open_session();
  printf("ready\n");
  fflush(stdout);
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    const int adds = strncmp(line, "add ", 4) == 0;
    const int replaces = strncmp(line, "replace ", 8) == 0;
    const long count = adds ? atol(line + 4) : replaces ? atol(line + 8) : 0;
    for (long i = 0; i < count; ++i) {
      make_request();
      if (adds) open_session();
    }
    printf("sessions=%ld requests=%ld\n", kept, requests);
    fflush(stdout);
  }
  return 0;
}
