// Tests the parts of --stacks: ranges to copy, descriptors, system calls, mutexes.

#include <array>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "report/stacks/held_stacks.h"
#include "report/stacks/mutexes.h"
#include "report/stacks/named_stacks.h"
#include "report/stacks/system_calls.h"
#include "tests/fakes/fake_memory.h"

namespace heapattach::stacks {

namespace {

Range range(std::uint64_t start, std::uint64_t bytes) {
  return {RemoteAddr{start}, bytes};
}

SystemCall waits_at(std::uint64_t futex) {
  return {SYS_futex, {futex, FUTEX_WAIT_PRIVATE, 2}};
}

// A mutex of glibc, locked by `owner` while others wait.
struct MutexMemory {
  explicit MutexMemory(std::int32_t owner) {
    memory.map_zero(RemoteAddr{0x1000}, 64);
    memory.put(RemoteAddr{0x1000}, std::uint32_t{2});
    memory.put(RemoteAddr{0x1008}, owner);
  }
  FakeMemory memory;
};

NamedStack stack_of(const char* function) {
  NamedStack stack;
  stack.frames.emplace_back().function = function;
  return stack;
}

}  // namespace

TEST_CASE("ranges are joined, made of whole words, and cut where others are") {
  const auto ranges = merged({range(0x2001, 2), range(0x1000, 16), range(0x1008, 16), range(9, 0)});
  CHECK(ranges == std::vector{range(0x1000, 24), range(0x2000, 8)});
  CHECK(less(ranges, {range(0x1008, 8), range(0x1ff0, 0x100)}) ==
        std::vector{range(0x1000, 8), range(0x1010, 8)});
  CHECK(less(ranges, {}) == ranges);
}

TEST_CASE("sockets are described by address, peer and state") {
  std::map<std::uint64_t, std::string> sockets;
  read_inet_sockets(
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode\n"
      "   0: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 71 1\n"
      "   1: 0100007F:0050 0200007F:C001 01 00000000:00000000 00:00000000 00000000 0 0 72 1\n"
      "   2: nonsense\n",
      "TCP", sockets);
  CHECK(sockets.size() == 2);
  CHECK(sockets[71] == "TCP 127.0.0.1:80 listening");
  CHECK(sockets[72] == "TCP 127.0.0.1:80 to 127.0.0.2:49153");
  read_inet_sockets(
      "   0: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A "
      "00000000:00000000 00:00000000 00000000 0 0 73 1\n",
      "TCP", sockets);
  CHECK(sockets[73] == "TCP [::1]:80 listening");
  read_unix_sockets("0000: 00000002 00000000 00010000 0001 01 80 /run/app.sock\n", sockets);
  CHECK(sockets[80] == "unix socket /run/app.sock");
}

TEST_CASE("the access mode of a descriptor is read from its flags") {
  CHECK(read_access("pos:\t0\nflags:\t02004000\nmnt_id:\t15\n") == O_RDONLY);
  CHECK(read_access("flags:\t0100001\n") == O_WRONLY);
  CHECK(read_access("flags:\t02004002\n") == O_RDWR);
  CHECK_FALSE(read_access("flags: 9\n"));
  CHECK_FALSE(read_access("pos: 0\n"));
}

TEST_CASE("the descriptors that an epoll instance watches are read line by line") {
  const auto watched = read_watched(
      "pos:\t0\nflags:\t02\ntfd:        7 events:       19 data: 7  pos:0 ino:1 sdev:d\n"
      "tfd: x events: 1\ntfd:        9 events: 4 data: 9\n");
  REQUIRE(watched.size() == 2);
  CHECK(watched[0].fd == 7);
  CHECK((watched[0].events & EPOLLIN) != 0);
  CHECK(watched[1].fd == 9);
  CHECK((watched[1].events & EPOLLOUT) != 0);
}

TEST_CASE("the owner of the mutex that a thread waits for is found") {
  const auto owner =
      owner_of_awaited_lock(waits_at(0x1000), stack_of("__lll_lock_wait"), MutexMemory(77).memory);
  REQUIRE(owner);
  CHECK(owner->thread == 77);
  // The owner is also found without names of functions.
  CHECK(owner_of_awaited_lock(waits_at(0x1000), {}, MutexMemory(77).memory)->thread == 77);
}

TEST_CASE("the owner of a mutex between processes may be in another process") {
  constexpr RemoteAddr kKind{0x1000 + 16};
  MutexMemory mutex(77);
  mutex.memory.put(kKind, std::uint32_t{0});
  const NamedStack stack = stack_of("pthread_mutex_lock");
  CHECK(owner_of_awaited_lock(waits_at(0x1000), stack, mutex.memory)->is_private);
  CHECK_FALSE(owner_of_awaited_lock(waits_at(0x1000), {}, mutex.memory)->is_private);
  mutex.memory.put(kKind, std::uint32_t{512});  // PTHREAD_MUTEX_NORMAL, by an attribute
  CHECK(owner_of_awaited_lock(waits_at(0x1000), stack, mutex.memory)->is_private);
  mutex.memory.put(kKind, std::uint32_t{512 | 128});
  CHECK_FALSE(owner_of_awaited_lock(waits_at(0x1000), stack, mutex.memory)->is_private);
}

TEST_CASE("a mutex with priority inheritance has its owner in its first word") {
  FakeMemory memory;
  memory.put(RemoteAddr{0x1000}, std::uint32_t{FUTEX_WAITERS | 78});
  CHECK(owner_of_awaited_lock(waits_at(0x1000), {}, memory)->thread == 78);
}

TEST_CASE("the writer that holds a read-write lock is found by those who wait to read or write") {
  constexpr RemoteAddr kLock{0x1000};
  FakeMemory memory;
  memory.map_zero(kLock, 64);
  memory.put(kLock + 24, std::int32_t{79});
  const auto reader =
      owner_of_awaited_lock(waits_at(0x1008), stack_of("pthread_rwlock_rdlock"), memory);
  const auto writer =
      owner_of_awaited_lock(waits_at(0x100c), stack_of("pthread_rwlock_wrlock"), memory);
  for (const auto& owner : {reader, writer}) {
    REQUIRE(owner);
    CHECK(owner->thread == 79);
    CHECK(owner->is_private);
    CHECK(owner->lock == kLock);
    CHECK(thread_wait(owner->kind).words == "read-write lock");
  }
  // Nothing records which readers hold a lock.
  memory.put(kLock + 24, std::int32_t{0});
  CHECK(!owner_of_awaited_lock(waits_at(0x1008), stack_of("pthread_rwlock_wrlock"), memory));
  CHECK(!owner_of_awaited_lock(waits_at(0x1008), stack_of("pthread_rwlock_rdlock"), memory));
}

TEST_CASE("something that is not a mutex has no owner") {
  const MutexMemory mutex(77);
  const FakeMemory& memory = mutex.memory;
  CHECK(!owner_of_awaited_lock(waits_at(0x1000), stack_of("pthread_cond_wait"), memory));
  CHECK(!owner_of_awaited_lock(waits_at(0x9000), {}, memory));
  CHECK(!owner_of_awaited_lock({SYS_read, {0x1000}}, {}, memory));
  CHECK(!owner_of_awaited_lock(waits_at(0x1000), {}, MutexMemory(-1).memory));
}

TEST_CASE(
    "stacks of a report share places, and inlined functions come before the one around them") {
  unwind::Stacks from;
  from.places = {
      {RemoteAddr{0x10}, {{"inlined", "a.c", 3, 0, true}, {"around", "a.c", 7, 0, false}}}};
  unwind::StackRecord record;
  record.frames.resize(3);
  record.frames[0].pc = record.frames[2].pc = RemoteAddr{0x10};
  record.frames[1].pc = RemoteAddr{0x20};
  record.left_out = 5;
  record.left_out_behind = 2;
  const Modules modules({});
  const CrystalLibrary library;
  StackReport report;
  StackAdder stacks(from, {modules, library}, report);
  CHECK(stacks.add(record) == 0);
  CHECK(stacks.add(record) == 1);
  CHECK(report.places.size() == 2);
  const NamedStack stack = named(report, 1);
  REQUIRE(stack.frames.size() == 5);
  CHECK(stack.frames[0].function == "inlined");
  CHECK(stack.frames[0].is_inlined);
  CHECK(stack.frames[1].function == "around");
  CHECK_FALSE(stack.frames[1].is_inlined);
  CHECK(stack.frames[2].function.empty());
  CHECK(stack.left_out == 5);
  CHECK(stack.left_out_behind == 3);  // after three functions in two frames
  CHECK(named(report, std::nullopt).frames.empty());
}

TEST_CASE("system calls are shown with their arguments") {
  const Process self = Process::open(getppid()).value();
  Descriptors descriptors(&self);
  FakeMemory memory;
  memory.put(RemoteAddr{0x1000}, std::array<std::int64_t, 2>{10, 500'000'000});
  CHECK(describe({SYS_nanosleep, {0x1000}}, memory, descriptors) == "nanosleep(10.5 s)");
  CHECK(describe({SYS_nanosleep, {0x9000}}, memory, descriptors) == "nanosleep()");
  memory.put(RemoteAddr{0x3000}, std::array<std::int64_t, 2>{999, 499'000'000});
  CHECK(describe({SYS_nanosleep, {0x3000}}, memory, descriptors) == "nanosleep(999 s)");
  memory.put(RemoteAddr{0x4000}, std::array<std::int64_t, 2>{999, 700'000'000});
  CHECK(describe({SYS_nanosleep, {0x4000}}, memory, descriptors) == "nanosleep(17 min)");
  memory.put(RemoteAddr{0x2000}, std::array<std::int64_t, 2>{1'000'000, 0});
  const SystemCall sleep{SYS_clock_nanosleep, {CLOCK_MONOTONIC, TIMER_ABSTIME, 0x2000}};
  CHECK(describe(sleep, memory, descriptors) == "clock_nanosleep(until 12 days after boot)");
  CHECK(describe(sleep, memory, descriptors, std::chrono::seconds(49'600)) ==
        "clock_nanosleep(11 days left)");
  CHECK(describe(sleep, memory, descriptors, std::chrono::seconds(2'000'000)) ==
        "clock_nanosleep(0 s left)");
  CHECK(describe({SYS_clock_nanosleep, {CLOCK_REALTIME, TIMER_ABSTIME, 0x2000}}, memory,
                 descriptors) == "clock_nanosleep(until 1970-01-12 13:46:40 UTC)");
  CHECK(describe({SYS_clock_nanosleep, {CLOCK_TAI, TIMER_ABSTIME, 0x2000}}, memory, descriptors) ==
        "clock_nanosleep(until 1000000 s on clock 11)");
  const auto futex = [&](std::uint64_t operation, std::uint64_t time) {
    return describe({SYS_futex, {0x5000, operation, 0, time}}, memory, descriptors,
                    std::chrono::seconds(49'600));
  };
  CHECK(futex(FUTEX_WAIT, 0) == "futex(0x5000)");
  CHECK(futex(FUTEX_WAIT, 0x1000) == "futex(0x5000, timeout 10.5 s)");
  CHECK(futex(FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0x2000) == "futex(0x5000, 11 days left)");
  CHECK(futex(FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0x2000) ==
        "futex(0x5000, until 1970-01-12 13:46:40 UTC)");
  CHECK(futex(FUTEX_WAIT, 0x9000) == "futex(0x5000, with a timeout)");
  CHECK(describe({SYS_wait4, {~std::uint64_t{0}}}, memory, descriptors) == "wait4(any child)");
  CHECK(describe({4711, {}}, memory, descriptors) == "system call 4711()");
  CHECK(describe({SYS_read, {~std::uint64_t{0}}}, memory, descriptors) == "read(-1)");
}

}  // namespace heapattach::stacks
