// Which part of a stack the blob copies.

#include <algorithm>
#include <csignal>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/inject/trace/own_blob.h"

using namespace heapattach;
using namespace heapattach::trace;

namespace {

// Allocates at the very end of a stack that is smaller than what is copied, with nothing after it.
void allocate_on_short_stack(void* (*allocate)(std::size_t, int), std::byte* end) {
  asm volatile(
      "mov %%rsp, %%r12\n mov %0, %%rsp\n mov $24, %%edi\n xor %%esi, %%esi\n call *%1\n"
      "mov %%r12, %%rsp\n"
      :
      : "r"(end), "r"(allocate)
      : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "memory", "cc");
}

void* (*allocate_now)(std::size_t, int) = nullptr;
void allocate_in_handler(int) {
  static_cast<void>(allocate_now(48, 0));
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

TEST_CASE("a copy of a stack takes the room that the stack needs, and grows with it") {
  OwnBlob blob(1);
  constexpr std::size_t kPages = 4;
  auto* const room = static_cast<std::byte*>(mmap(
      nullptr, (kPages + 1) * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::byte* const end = room + kPages * 4096;
  REQUIRE(munmap(end, 4096) == 0);
  const auto copied = [&] {
    allocate_on_short_stack(ha_test_allocate, end - 64);
    const auto records = blob.read();
    REQUIRE(records.size() == 1);
    CHECK(records[0].record.bytes >= kRecordBytes + records[0].stack.size());
    return std::pair(records[0].stack.size(), std::size_t{records[0].record.bytes});
  };
  CHECK(copied() == std::pair(std::size_t{64}, kRecordBytes + kTestStackBytes));
  // Where it ends is known now.
  CHECK(copied() == std::pair(std::size_t{64}, std::size_t{kRecordBytes} + 128));
  CHECK(copied() == std::pair(std::size_t{64}, std::size_t{kRecordBytes} + 128));
  // Something is mapped there: once it is cut, and then it is whole.
  REQUIRE(mmap(end, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
          end);
  CHECK(copied().first == 65);
  CHECK(copied().first == kTestStackBytes);
  munmap(room, (kPages + 1) * 4096);
}

TEST_CASE("a copy of a thread's stack ends at its thread pointer") {
  OwnBlob blob(1);
  std::uint64_t thread_pointer = 0;
  std::thread([&] {
    asm("mov %%fs:0, %0" : "=r"(thread_pointer));
    static_cast<void>(ha_test_allocate(16, 0));
  }).join();
  std::uint64_t longest = 0;
  for (const OwnBlob::Record& record : blob.read()) {
    if (record.record.thread == static_cast<std::uint32_t>(gettid())) continue;
    longest = std::max(longest, record.record.rsp + record.stack.size());
  }
  CHECK(longest == thread_pointer);
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
  CHECK(records[0].record.rsp - begin < stack.size());
}
