#include <csignal>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "blocking_calls.h"

namespace {

// A processor that lacks the old call has a newer one, which the C library's function makes.
#ifdef SYS_poll
long poll_call(pollfd* files, int milliseconds) {
  return syscall(SYS_poll, files, 1, milliseconds);
}
long select_call(int end, fd_set* files, timeval* time) {
  return syscall(SYS_select, end, files, nullptr, nullptr, time);
}
long epoll_wait_call(int file, epoll_event* events, int milliseconds) {
  return syscall(SYS_epoll_wait, file, events, 4, milliseconds);
}
#else
long poll_call(pollfd* files, int milliseconds) {
  return poll(files, 1, milliseconds);
}
long select_call(int end, fd_set* files, timeval* time) {
  return select(end, files, nullptr, nullptr, time);
}
long epoll_wait_call(int file, epoll_event* events, int milliseconds) {
  return epoll_wait(file, events, 4, milliseconds);
}
#endif

constexpr int kDueMilliseconds = 1500;
constexpr std::size_t kMaskBytes = 8;

int silent_pipe() {
  int ends[2] = {-1, -1};
  return pipe(ends) == 0 ? ends[0] : -1;
}

long poll_with(int milliseconds) {
  pollfd file{silent_pipe(), POLLIN, 0};
  return poll_call(&file, milliseconds);
}

long poll_for() {
  return poll_with(kDueMilliseconds);
}
long poll_for_ever() {
  return poll_with(-1);
}

long ppoll_for() {
  pollfd file{silent_pipe(), POLLIN, 0};
  timespec time = in_due_time();
  sigset_t none;
  sigemptyset(&none);
  return syscall(SYS_ppoll, &file, 1, &time, &none, kMaskBytes);
}

long select_for() {
  const int file = silent_pipe();
  fd_set files;
  FD_ZERO(&files);
  FD_SET(file, &files);
  timeval time{1, 500'000};
  return select_call(file + 1, &files, &time);
}

long pselect_for() {
  const int file = silent_pipe();
  fd_set files;
  FD_ZERO(&files);
  FD_SET(file, &files);
  timespec time = in_due_time();
  return syscall(SYS_pselect6, file + 1, &files, nullptr, nullptr, &time, nullptr);
}

int epoll_of_silent_pipe() {
  const int events = epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(events, EPOLL_CTL_ADD, silent_pipe(), &event);
  return events;
}

long epoll_with(int milliseconds) {
  epoll_event events[4];
  return epoll_wait_call(epoll_of_silent_pipe(), events, milliseconds);
}

long epoll_for_ever() {
  return epoll_with(-1);
}
long epoll_for() {
  return epoll_with(kDueMilliseconds);
}

long epoll_pwait_for_ever() {
  epoll_event events[4];
  sigset_t none;
  sigemptyset(&none);
  return syscall(SYS_epoll_pwait, epoll_of_silent_pipe(), events, 4, -1, &none, kMaskBytes);
}

long epoll_pwait2_for() {
  epoll_event events[4];
  constexpr long kEpollPwait2 = 441;
  const timespec time = in_due_time();
  return syscall(kEpollPwait2, epoll_of_silent_pipe(), events, 4, &time, nullptr, kMaskBytes);
}

}  // namespace

std::vector<BlockingCall> calls_of_polling() {
  return {
      {"poll-timed", kDueSeconds, poll_for},
      {"poll", 0, poll_for_ever},
      {"ppoll-timed", kDueSeconds, ppoll_for},
      {"select-timed", kDueSeconds, select_for},
      {"pselect6-timed", kDueSeconds, pselect_for},
      {"epoll_wait", 0, epoll_for_ever},
      {"epoll_wait-timed", kDueSeconds, epoll_for},
      {"epoll_pwait", 0, epoll_pwait_for_ever},
      {"epoll_pwait2-timed", kDueSeconds, epoll_pwait2_for},
  };
}
