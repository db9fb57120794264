// Whoever opens this program's file waits until this program allows it, as with a virus scanner.
// Prints "ready guards=1", or guards=0 if the kernel does not let it, and ends with its standard
// input.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fanotify.h>
#include <unistd.h>

static void* volatile kept;

static void allow_all(int opens) {
  struct fanotify_event_metadata events[16];
  long bytes = read(opens, events, sizeof events);
  for (struct fanotify_event_metadata* one = events; FAN_EVENT_OK(one, bytes);
       one = FAN_EVENT_NEXT(one, bytes)) {
    const struct fanotify_response answer = {.fd = one->fd, .response = FAN_ALLOW};
    if (write(opens, &answer, sizeof answer) != sizeof answer) exit(1);
    close(one->fd);
  }
}

int main(void) {
  kept = malloc(100);
  const int opens = fanotify_init(FAN_CLASS_CONTENT, O_RDONLY | O_CLOEXEC);
  const int guards = opens >= 0 && fanotify_mark(opens, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD,
                                                 "/proc/self/exe") == 0;
  printf("ready guards=%d\n", guards);
  fflush(stdout);
  for (;;) {
    struct pollfd both[2] = {{.fd = 0, .events = POLLIN},
                             {.fd = guards ? opens : -1, .events = POLLIN}};
    if (poll(both, 2, -1) < 0) return 1;
    if (both[1].revents != 0) allow_all(opens);
    if (both[0].revents != 0) return 0;
  }
}
