// Waits for events, as a scheduler of fibers does, in a C library without tables for unwinding.
// Return addresses of earlier calls are left on the stack where the call's frames are now.

#include <stdio.h>
#include <sys/epoll.h>

static volatile int depth = 200;

__attribute__((noinline)) static int leave_addresses(int left) {
  return left == 0 ? 0 : leave_addresses(left - 1) + depth;
}

__attribute__((noinline)) static int wait_for_events(int epoll) {
  struct epoll_event events[4];
  return epoll_pwait(epoll, events, 4, -1, NULL) + depth;
}

__attribute__((noinline)) static int run_loop(int epoll) {
  int sum = leave_addresses(depth);
  printf("ready\n");
  fflush(stdout);
  for (;;) sum += wait_for_events(epoll);
}

int main(void) {
  return run_loop(epoll_create1(0));
}
