#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "blocking_calls.h"

namespace {

struct Pipe {
  int ends[2] = {-1, -1};
  explicit Pipe(int flags = 0) {
    if (pipe2(ends, flags) != 0) std::abort();
  }
};

// Opens the same file again.
int reopen(int file, int flags) {
  return open(("/proc/self/fd/" + std::to_string(file)).c_str(), flags);
}

long read_pipe() {
  char byte = 0;
  return read(Pipe().ends[0], &byte, 1);
}

long write_full_pipe() {
  const Pipe full(O_NONBLOCK);
  const std::vector<char> bytes(4096);
  while (write(full.ends[1], bytes.data(), bytes.size()) > 0) {
  }
  fcntl(full.ends[1], F_SETFL, 0);
  return write(full.ends[1], bytes.data(), bytes.size());
}

// Blocks once the pipe is full.
long write_much_to_pipe() {
  const std::vector<char> bytes(1 << 20);
  return write(Pipe().ends[1], bytes.data(), bytes.size());
}

long lock_file() {
  const int first = memfd_create("locked", 0);
  flock(first, LOCK_EX);
  return flock(reopen(first, O_RDWR), LOCK_EX);
}

long lock_open_file() {
  const int first = memfd_create("locked", 0);
  struct flock range {};
  range.l_type = F_WRLCK;
  fcntl(first, F_OFD_SETLK, &range);
  return fcntl(reopen(first, O_RDWR), F_OFD_SETLKW, &range);
}

long read_inotify() {
  char events[512];
  return read(inotify_init1(0), events, sizeof events);
}

long read_eventfd() {
  std::uint64_t value = 0;
  return read(eventfd(0, 0), &value, sizeof value);
}

long read_timerfd() {
  const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  itimerspec time{};
  time.it_value = in_due_time();
  timerfd_settime(timer, 0, &time, nullptr);
  std::uint64_t value = 0;
  return read(timer, &value, sizeof value);
}

long read_signalfd() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  char bytes[512];
  return read(signalfd(-1, &set, 0), bytes, sizeof bytes);
}

long wait_for_aio() {
  aio_context_t context = 0;
  if (syscall(SYS_io_setup, 4, &context) != 0) return -1;
  io_event event{};
  timespec time = in_due_time();
  return syscall(SYS_io_getevents, context, 1, 1, &event, &time);
}

long wait_for_uring() {
  constexpr long kSetup = 425;
  constexpr long kEnter = 426;
  io_uring_params parameters{};
  const long ring = syscall(kSetup, 4, &parameters);
  if (ring < 0) return ring;
  return syscall(kEnter, ring, 0, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
}

long read_terminal() {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  grantpt(master);
  unlockpt(master);
  char byte = 0;
  return read(open(ptsname(master), O_RDWR | O_NOCTTY), &byte, 1);
}

// Opens a FIFO without a name, whose reader waits for the first writer.
long open_fifo() {
  const std::string name = "/tmp/heapattach-fifo-" + std::to_string(getpid());
  if (mkfifo(name.c_str(), 0600) != 0) return -1;
  const int fifo = open(name.c_str(), O_PATH);
  unlink(name.c_str());
  return reopen(fifo, O_RDONLY);
}

long splice_pipes() {
  return splice(Pipe().ends[0], nullptr, Pipe().ends[1], nullptr, 100, 0);
}

}  // namespace

std::vector<BlockingCall> calls_of_files() {
  return {
      {"read-pipe", 0, read_pipe},
      {"write-full-pipe", 0, write_full_pipe},
      {"write-much-to-pipe", 0, write_much_to_pipe},
      {"flock", 0, lock_file},
      {"fcntl-ofd-setlkw", 0, lock_open_file},
      {"read-inotify", 0, read_inotify},
      {"read-eventfd", 0, read_eventfd},
      {"read-timerfd", kDueSeconds, read_timerfd},
      {"read-signalfd", 0, read_signalfd},
      {"io_getevents-timed", kDueSeconds, wait_for_aio},
      {"io_uring_enter", 0, wait_for_uring},
      {"read-terminal", 0, read_terminal},
      {"open-fifo", 0, open_fifo},
      {"splice", 0, splice_pipes},
  };
}
