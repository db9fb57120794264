#include "symbols/boehm/arch/thread_ids.h"

#include <doctest/doctest.h>
#include <elf.h>

#include "tests/fakes/captured_heap.h"
#include "tests/fakes/fake_gc_heap.h"

namespace heapattach::boehm {

namespace {

constexpr RemoteAddr kMemory{0x7000'0000'0000};
constexpr RemoteAddr kPointer{kMemory.value + 0x2000};
// As in glibc 2.36.
constexpr std::uint64_t kBytes = 0x740;
constexpr std::uint64_t kNumberAt = 0xd0;

// The memory of one thread or more, in glibc's structures.
struct Target {
  FakeGcHeap fake;
  std::vector<FrozenThread> threads;

  Target() { fake.add_memory(kMemory, 0x8000); }

  // `stored` is the number in the structure, `own` the one that the kernel says the thread knows.
  void add(std::uint64_t stored, pid_t tid, pid_t own = 0) {
    FrozenThread& thread = threads.emplace_back();
    thread.tid = tid;
    thread.tid_in_namespace = own;
    const RemoteAddr pointer = kPointer + (threads.size() - 1) * 0x2000;
    thread.registers.emplace().thread_pointer = pointer;
    fake.put(pointer - kBytes + kNumberAt - 16, kMemory);
    fake.put(pointer - kBytes + kNumberAt - 8, kMemory);
    fake.put(pointer - kBytes + kNumberAt, stored);
  }

  [[nodiscard]] std::uint64_t below(std::uint16_t machine) {
    const CapturedHeap captured(fake, {{kMemory, 0x8000}});
    return id_below_pointer(machine, captured.capture(), threads);
  }
};

// A target with one thread.
std::uint64_t below(std::uint64_t stored, pid_t tid, pid_t own, std::uint16_t machine) {
  Target target;
  target.add(stored, tid, own);
  return target.below(machine);
}

}  // namespace

TEST_CASE("on aarch64, a thread's number shows how far its pthread_t is below its thread pointer") {
  CHECK(below(4711, 4711, 0, EM_AARCH64) == kBytes);
  CHECK(below(4712, 4711, 0, EM_AARCH64) == 0);
}

TEST_CASE("in a pid namespace, a thread of aarch64 is known by its own number, not by ours") {
  CHECK(below(7, 4711, 7, EM_AARCH64) == kBytes);
  CHECK(below(4711, 4711, 7, EM_AARCH64) == 0);
}

TEST_CASE("a small number that is there by chance does not hide the place where numbers are") {
  Target target;
  target.add(1, 4711, 1);
  target.fake.put(kPointer - 0x40, std::uint64_t{1});  // without links before it
  CHECK(target.below(EM_AARCH64) == kBytes);
  // Two words before it look like links, but only in one of two threads.
  target.fake.put(kPointer - 0x50, kMemory);
  target.fake.put(kPointer - 0x48, kMemory);
  target.add(2, 4712, 2);
  CHECK(target.below(EM_AARCH64) == kBytes);
  // One that has ended does not matter.
  target.add(3, 4713, 4713);
  CHECK(target.below(EM_AARCH64) == kBytes);
}

TEST_CASE("a pthread_t is the thread pointer on x86-64, and nothing is known of other processors") {
  CHECK(below(4711, 4711, 0, EM_X86_64) == 0);
  CHECK(below(4711, 4711, 0, EM_RISCV) == 0);
}

}  // namespace heapattach::boehm
