#include "attach/stop/rewind.h"

#include <cerrno>

#include <doctest/doctest.h>
#include <sys/syscall.h>

namespace heapattach {

namespace {

constexpr unsigned long long kMinusOne = static_cast<unsigned long long>(-1);

RawRegisters in_call(long number, int error) {
  RawRegisters at_stop{};
  at_stop.orig_rax = static_cast<unsigned long long>(number);
  at_stop.rax = static_cast<unsigned long long>(-error);
  at_stop.rip = 0x401002;
  at_stop.rdi = 5;
  return at_stop;
}

}  // namespace

TEST_CASE("untimed calls are rewound, timed ones and all others are not") {
  struct Row {
    long number;
    unsigned long long rdx, r10, r8;
    bool is_rewound;
  };
  const Row rows[] = {
      {SYS_epoll_wait, 8, kMinusOne, 0, true},
      {SYS_epoll_wait, 8, 0xffffffff, 0, true},  // an int: the kernel ignores the upper half
      {SYS_epoll_wait, 8, 0xffffffff00000010, 0, false},
      {SYS_epoll_wait, 8, 0, 0, false},
      {SYS_epoll_wait, 8, 1500, 0, false},
      {SYS_epoll_pwait, 8, kMinusOne, 0x7000, true},
      {SYS_epoll_pwait, 8, 1500, 0, false},
      {SYS_epoll_pwait2, 8, 0, 0, true},
      {SYS_epoll_pwait2, 8, 0x7000, 0, false},
      {SYS_rt_sigtimedwait, 0, 8, 0, true},
      {SYS_rt_sigtimedwait, 0x7000, 8, 0, false},
      {SYS_semop, 1, 77, 0, true},
      {SYS_semtimedop, 1, 0, 0, true},
      {SYS_semtimedop, 1, 0x7000, 0, false},
      {SYS_io_getevents, 4, 0x7000, 0, true},
      {SYS_io_getevents, 4, 0x7000, 0x8000, false},
      {SYS_io_pgetevents, 4, 0x7000, 0, true},
      {SYS_io_pgetevents, 4, 0x7000, 0x8000, false},
      {SYS_io_uring_enter, 1, 1, 0, true},
      {SYS_io_uring_enter, 1, 1 | 8, 0x7000, false},  // its argument may contain a time limit
      {SYS_io_uring_enter, 1, 0, 0, false},
      {SYS_recvfrom, 8, 0, 0, false},  // the socket's own time limit is invisible
      {SYS_accept, 8, 0, 0, false},
      {SYS_read, 8, 0, 0, false},
      {SYS_nanosleep, 0, 0, 0, false},
      {SYS_poll, kMinusOne, 0, 0, false},  // restarted by the kernel
      {-1, 0, kMinusOne, 0, false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.number);
    CAPTURE(row.r10);
    RawRegisters at_stop = in_call(row.number, EINTR);
    at_stop.rdx = row.rdx;
    at_stop.r10 = row.r10;
    at_stop.r8 = row.r8;
    CHECK(is_rewindable(at_stop) == row.is_rewound);
    CHECK(rewound(at_stop, 0).has_value() == row.is_rewound);
    CHECK_FALSE(rewound(at_stop, 1));
  }
}

TEST_CASE("only EINTR is rewound: the kernel restarts the rest, and results stay") {
  for (const int error : {0, -7, EAGAIN, EFAULT, 512, 513, 514, 516}) {
    CAPTURE(error);
    RawRegisters at_stop = in_call(SYS_epoll_wait, error);
    at_stop.r10 = kMinusOne;
    CHECK_FALSE(rewound(at_stop, 0));
  }
}

TEST_CASE("a rewound thread is before its call, in no call, with everything else unchanged") {
  RawRegisters at_stop = in_call(SYS_epoll_wait, EINTR);
  at_stop.r10 = kMinusOne;
  const auto again = rewound(at_stop, 0);
  REQUIRE(again);
  CHECK(again->rip == 0x401000);
  CHECK(again->rax == SYS_epoll_wait);
  CHECK(again->orig_rax == kMinusOne);
  CHECK(again->rdi == 5);
  CHECK(again->r10 == kMinusOne);
}

}  // namespace heapattach
