// Tests which part of a stack the blob copies.

#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/inject/trace/own_blob.h"

namespace heapattach::trace {

namespace {

// Allocates at the very end of a stack that is smaller than a copy, with nothing mapped after it.
void allocate_on_short_stack(void* (*allocate)(std::size_t, int), std::byte* end) {
#ifdef __x86_64__
  asm volatile(
      "mov %%rsp, %%r12\n mov %0, %%rsp\n mov $24, %%edi\n xor %%esi, %%esi\n call *%1\n"
      "mov %%r12, %%rsp\n"
      :
      : "r"(end), "r"(allocate)
      : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "memory", "cc");
#else
  asm volatile("mov x19, sp\n mov sp, %0\n mov x0, #24\n mov x1, #0\n blr %1\n mov sp, x19\n"
               :
               : "r"(end), "r"(allocate)
               : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",
                 "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x30", "memory", "cc");
#endif
}

void* (*allocate_now)(std::size_t, int) = nullptr;
void allocate_in_handler(int) {
  static_cast<void>(allocate_now(48, 0));
}

// Runs `work` in a thread that may end without its C library's knowledge. The library would give
// the stack to a later thread, with the data that it keeps there for the first.
template <class Work>
void run_on_own_stack(const Work& work) {
  std::vector<std::byte> stack(1 << 20);
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstack(&attributes, stack.data(), stack.size()) == 0);
  const auto start = [](void* at) -> void* {
    (*static_cast<const Work*>(at))();
    return nullptr;
  };
  pthread_t thread{};
  REQUIRE(pthread_create(&thread, &attributes, start, const_cast<Work*>(&work)) == 0);
  REQUIRE(pthread_join(thread, nullptr) == 0);
  pthread_attr_destroy(&attributes);
}

}  // namespace

TEST_CASE("a stack shorter than the copy gives what there is") {
  OwnBlob blob(1);
  constexpr std::size_t kPages = 4;
  auto* const room = static_cast<std::byte*>(mmap(
      nullptr, (kPages + 1) * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(munmap(room + kPages * 4096, 4096) == 0);
  allocate_on_short_stack(ha_test_allocate, room + kPages * 4096 - 64);
  const auto records = blob.read();
  REQUIRE(records.size() == 1);
  CHECK(records[0].stack.size() == 64);
  CHECK(records[0].record.size == 24);
  munmap(room, kPages * 4096);
}

namespace {

// Some pages for stacks, with nothing mapped after them.
class Room {
 public:
  Room() : at_(mmap(nullptr, kBytes + 4096, PROT_READ | PROT_WRITE, kFlags, -1, 0)) {
    REQUIRE(at_ != MAP_FAILED);
    REQUIRE(munmap(end(), 4096) == 0);
  }
  ~Room() {
    munmap(at_, kBytes);
    test_collector.stack_bottom = 0;
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  [[nodiscard]] std::byte* begin() const { return static_cast<std::byte*>(at_); }
  [[nodiscard]] std::byte* end() const { return begin() + kBytes; }

 private:
  static constexpr std::size_t kBytes = 4 * 4096;
  static constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  void* at_;
};

// The number of bytes that are copied of a stack whose pointer is at `at`.
std::size_t copied_at(OwnBlob& blob, std::byte* at) {
  allocate_on_short_stack(ha_test_allocate, at);
  const auto records = blob.read();
  REQUIRE(records.size() == 1);
  CHECK(records[0].record.bytes - kRecordBytes - records[0].stack.size() < kShortRecordBytes);
  return records[0].stack.size();
}

}  // namespace

TEST_CASE("a stack without a known end is copied up to the end of its page") {
  OwnBlob blob(1);
  const Room room;
  CHECK(copied_at(blob, room.end() - 4096 - 128) == 128);
  CHECK(copied_at(blob, room.end() - 4096) == 0);
  CHECK(copied_at(blob, room.end() - 64) == 64);
}

TEST_CASE("a stack is copied up to where the collector was told that it ends") {
  OwnBlob blob(1);
  const Room room;
  test_collector.stack_bottom = number(room.end());
  CHECK(copied_at(blob, room.end() - 4096 - 128) == 128);
  CHECK(blob.has_asked(number(room.end())));
  blob.tell_span(number(room.begin()), number(room.end()));
  CHECK(copied_at(blob, room.end() - 2048 - 128) == 2048 + 128);
  CHECK(copied_at(blob, room.end() - 4096 - 128) == kTestStackBytes);
  CHECK(copied_at(blob, room.end() - 64) == 64);
  // Now only the last page is known to be mapped.
  blob.tell_span(number(room.end()) - 4096, number(room.end()));
  CHECK(copied_at(blob, room.end() - 2048) == 2048);
  CHECK(copied_at(blob, room.end() - 4096 - 128) == 128);
  // The memory is mapped, but is no longer the thread's stack.
  blob.tell_span(number(room.begin()), number(room.end()));
  test_collector.stack_bottom = 0;
  CHECK(copied_at(blob, room.end() - 4096 - 128) == 128);
}

TEST_CASE("a stack is copied up to the end in the collector's record of the thread") {
  OwnBlob blob(1);
  const Room room;
  const std::uint64_t thread = own_thread_pointer();
  // A record has the end itself, or in a part that it references.
  std::uint64_t part[] = {1, 2, number(room.end())};
  std::uint64_t record[] = {0, thread, number(room.end()), number(part)};
  std::uint64_t first[] = {number(record), 4711, 0, 0};
  const std::uint64_t list = number(first);
  BlobControl& control = blob.control();
  control.threads[thread >> 12 & (kSlots - 1)] = {thread, number(&list)};
  blob.tell_span(number(room.begin()), number(room.end()));
  CHECK(copied_at(blob, room.end() - 4096 - 128) == 128);
  control.record_id_at = 8;
  control.record_end_at = 16;
  CHECK(copied_at(blob, room.end() - 4096 - 128) == kTestStackBytes);
  record[2] = 0;
  CHECK(copied_at(blob, room.end() - 4096 - 128) == 128);
  control.record_part_at = 24;
  CHECK(copied_at(blob, room.end() - 4096 - 128) == kTestStackBytes);
  record[1] = 4712;
  CHECK(copied_at(blob, room.end() - 4096 - 128) == 128);
}

TEST_CASE("a stack is copied up to the nearest end only, even if more is known of another one") {
  OwnBlob blob(1);
  const Room room;
  // A coroutine's stack is below the first thread's. How far it can be read is not known yet.
  std::byte* const end = room.end() - 4096;
  const std::uint64_t thread = own_thread_pointer();
  std::uint64_t record[] = {0, thread, number(end)};
  std::uint64_t first[] = {number(record), 4711};
  const std::uint64_t list = number(first);
  BlobControl& control = blob.control();
  control.threads[thread >> 12 & (kSlots - 1)] = {thread, number(&list)};
  control.record_id_at = 8;
  control.record_end_at = 16;
  test_collector.stack_bottom = number(room.end());
  blob.tell_span(number(room.begin()), number(room.end()));
  CHECK(copied_at(blob, end - 4096 - 128) == 128);
  CHECK(blob.has_asked(number(end)));
  blob.tell_span(number(room.begin()), number(end));
  CHECK(copied_at(blob, end - 2048 - 128) == 2048 + 128);
  CHECK(copied_at(blob, end + 2048) == 2048);
}

TEST_CASE("only the first thread's stack ends where the collector has its bottom") {
  OwnBlob blob(1);
  const Room room;
  test_collector.stack_bottom = number(room.end());
  blob.tell_span(number(room.begin()), number(room.end()));
  blob.control().first_thread = own_thread_pointer() + 64;
  CHECK(copied_at(blob, room.end() - 4096 - 128) == 128);
}

TEST_CASE("the first thread's thread pointer is not taken for the end of a coroutine's stack") {
  OwnBlob blob(1);
  const std::uint64_t thread = own_thread_pointer();
  constexpr std::uint64_t kStep = std::uint64_t{16} << 20;
  constexpr std::uint64_t kBytes = 2 * 4096;
  // A stack, and a page after it that has just been unmapped.
  void* stack = MAP_FAILED;
  for (std::uint64_t at = (thread & ~std::uint64_t{4095}) - kStep;
       stack == MAP_FAILED && thread - at < std::uint64_t{1} << 30; at -= kStep) {
    stack = mmap(reinterpret_cast<void*>(at), kBytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  }
  REQUIRE(stack != MAP_FAILED);
  auto* const end = static_cast<std::byte*>(stack) + 4096;
  REQUIRE(munmap(end, 4096) == 0);
  blob.tell_span(number(stack), thread);
  CHECK(copied_at(blob, end - 128) == 128);
  CHECK_FALSE(blob.has_asked(thread));
  munmap(stack, 4096);
}

TEST_CASE("a copy of a thread's stack ends at its thread pointer") {
  OwnBlob blob(1);
  blob.control().stack_most = 4 * kTestStackBytes;
  std::uint64_t thread_pointer = 0;
  std::thread([&] {
    thread_pointer = own_thread_pointer();
    blob.tell_span(0, thread_pointer);
    static_cast<void>(ha_test_allocate(16, 0));
  }).join();
  std::uint64_t longest = 0;
  for (const OwnBlob::Record& record : blob.read()) {
    if (record.record.thread == static_cast<std::uint32_t>(gettid())) continue;
    longest = std::max(longest, record.record.stack_pointer + record.stack.size());
  }
  CHECK(longest == thread_pointer);
}

TEST_CASE("a thread that may make no system call records as before") {
  OwnBlob blob(1);
  std::atomic<bool> has_recorded = false;
  const auto record = [&] {
    // Strict mode; the processor's counter is forbidden, too.
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return;
    for (int i = 0; i < 10; ++i) static_cast<void>(ha_test_allocate(24, 0));
    blob.collect();
    has_recorded = true;
    syscall(SYS_exit, 0);
  };
  run_on_own_stack(record);
  CHECK(has_recorded);
  const auto records = blob.read();
  REQUIRE(records.size() >= 10);
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(records[i].record.thread != 0);
    CHECK(records[i].record.thread != static_cast<std::uint32_t>(gettid()));
    CHECK(records[i].record.time != 0);
  }
}

TEST_CASE("a signal handler on another stack may allocate") {
  OwnBlob blob(1);
  std::vector<std::byte> stack(64 << 10);
  stack_t other{};
  stack_t before{};
  other.ss_sp = stack.data();
  other.ss_size = stack.size();
  REQUIRE(sigaltstack(&other, &before) == 0);
  struct sigaction action {};
  struct sigaction old {};
  action.sa_handler = allocate_in_handler;
  action.sa_flags = SA_ONSTACK;
  allocate_now = ha_test_allocate;
  REQUIRE(sigaction(SIGUSR2, &action, &old) == 0);
  raise(SIGUSR2);
  sigaction(SIGUSR2, &old, nullptr);
  sigaltstack(&before, nullptr);
  const auto records = blob.read();
  REQUIRE(records.size() == 1);
  CHECK(records[0].record.size == 48);
  const std::uint64_t begin = number(stack.data());
  CHECK(records[0].record.stack_pointer - begin < stack.size());
}

}  // namespace heapattach::trace
