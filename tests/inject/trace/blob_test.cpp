#include "inject/trace/blob.h"

#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/trace/find_room.h"
#include "inject/trace/move_entry.h"
#include "inject/trace/ring.h"

using namespace heapattach;
using namespace heapattach::trace;

// The functions that are hooked, with first instructions like those of a collector: they return
// what a static counter says, so that a test knows what it got.
asm(R"(
  .text
  .balign 4096
  .globl ha_test_allocate, ha_test_allocate_end, ha_test_release, ha_test_release_end
ha_test_allocate:
  push %r15
  push %r14
  push %rbx
  mov %rdi, %rbx
  call ha_test_next
  pop %rbx
  pop %r14
  pop %r15
  ret
ha_test_allocate_end:
  .balign 16
ha_test_release:
  test %rdi, %rdi
  je 1f
  incq ha_test_released(%rip)
1: ret
ha_test_release_end:
)");

extern "C" {
extern const std::byte ha_test_allocate_end[];
extern const std::byte ha_test_release_end[];
void* ha_test_allocate(std::size_t bytes, int kind);
void ha_test_release(void* object);
std::uint64_t ha_test_released = 0;
void* ha_test_next();
}

namespace {

std::atomic<std::uint64_t> next_address{0x1000000};
std::atomic<bool> is_without_memory{false};
constexpr std::uint64_t kRingBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kStackBytes = 4096;

int event_given = -1;
void on_event(int event) {
  event_given = event;
}

// What the test's collector says.
std::uint32_t collections = 0;
std::uint64_t only_marked = 0;
int is_marked(const void* object) {
  return reinterpret_cast<std::uint64_t>(object) == only_marked ? 1 : 0;
}
void* object_base(void* object) {
  return object;
}

template <class F>
std::uint64_t number(F* function) {
  return reinterpret_cast<std::uint64_t>(function);
}

// The blob in our own process, put in as the installer does it from outside.
class OwnBlob {
 public:
  explicit OwnBlob(std::uint64_t every, std::uint64_t ring_bytes = kRingBytes) {
    file_ = Fd(static_cast<int>(syscall(SYS_memfd_create, "blob-test", MFD_CLOEXEC)));
    const auto whole = static_cast<off_t>(kBlobCodeBytes + kRingHeadBytes + ring_bytes);
    REQUIRE(ftruncate(file_.get(), whole) == 0);
    ring_.emplace(Ring::map(file_, kBlobCodeBytes, ring_bytes).value());
    const Fd text = Fd::open("/proc/self/maps", 0).value();
    const MemoryMap map = *parse_maps(*read_all(text, 1 << 24));
    const std::array near = {RemoteAddr{number(ha_test_allocate)}};
    const auto room = find_room(map, kBytes, near);
    REQUIRE(room);
    base_ = reinterpret_cast<std::byte*>(room->value);
    REQUIRE(mmap(base_, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0) == base_);
    REQUIRE(madvise(base_ + kBlobCodeBytes, kBytes - kBlobCodeBytes, MADV_WIPEONFORK) == 0);
    fill(ring_bytes, every);
    REQUIRE(mprotect(base_, kBlobCodeBytes, PROT_READ | PROT_EXEC) == 0);
    hook(0, number(ha_test_allocate), number(ha_test_allocate_end));
    hook(kFreeHook, number(ha_test_release), number(ha_test_release_end));
    control().enabled = 1;
  }
  ~OwnBlob() {
    for (const auto& [at, bytes] : originals_) put(at, bytes);
    munmap(base_, kBytes);
  }
  OwnBlob(const OwnBlob&) = delete;
  OwnBlob& operator=(const OwnBlob&) = delete;

  [[nodiscard]] BlobControl& control() const {
    return *reinterpret_cast<BlobControl*>(base_ + kBlobCodeBytes);
  }
  [[nodiscard]] Ring& ring() { return *ring_; }
  void collect(int event = kMarkEnd) const {
    reinterpret_cast<void (*)(int)>(base_ + head_.handler)(event);
  }
  // All records, with their stacks.
  struct Record {
    RingRecord record;
    std::vector<std::byte> stack;
  };
  std::vector<Record> read() {
    std::vector<Record> all;
    for (;;) {
      const auto entry = ring_->front();
      REQUIRE(entry);
      if (!*entry) return all;
      const auto stack = (*entry)->stack;
      all.push_back({(*entry)->record, {stack.begin(), stack.end()}});
      ring_->pop();
    }
  }

 private:
  static constexpr std::size_t kBytes =
      kBlobCodeBytes + ((sizeof(BlobControl) + 4095) & ~std::size_t{4095});

  void fill(std::uint64_t ring_bytes, std::uint64_t every) {
    const auto code = blob_code();
    std::memcpy(base_, code.data(), code.size());
    head_ = blob_head();
    head_.base = number(base_);
    head_.ring = ring_address(ring_bytes);
    head_.ring_bytes = ring_bytes;
    head_.event_variable = 1;
    head_.program_handler = number(on_event);
    head_.is_marked = number(is_marked);
    head_.object_base = number(object_base);
    head_.collections = number(&collections);
    move(0, number(ha_test_allocate), number(ha_test_allocate_end));
    move(kFreeHook, number(ha_test_release), number(ha_test_release_end));
    std::memcpy(base_, &head_, sizeof head_);
    const auto control = new_control(every, kStackBytes, 12345);
    std::memcpy(base_ + kBlobCodeBytes, control.data(), control.size());
  }
  std::uint64_t ring_address(std::uint64_t ring_bytes) {
    auto* const room = static_cast<std::byte*>(mmap(nullptr, kRingHeadBytes + 2 * ring_bytes,
                                                    PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(),
                                                    kBlobCodeBytes));
    REQUIRE(mmap(room + kRingHeadBytes + ring_bytes, ring_bytes, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_FIXED, file_.get(),
                 kBlobCodeBytes + kRingHeadBytes) != MAP_FAILED);
    return number(room);
  }
  void move(std::size_t hook, std::uint64_t entry, std::uint64_t end) {
    const auto disassembler = Disassembler::open();
    const std::span function(reinterpret_cast<const std::byte*>(entry), end - entry);
    const auto moved = move_entry(*disassembler, function, RemoteAddr{entry},
                                  RemoteAddr{number(base_) + head_.trampoline[hook]});
    REQUIRE(moved);
    std::memcpy(base_ + head_.trampoline[hook], moved->code.data(), moved->code.size());
  }
  void hook(std::size_t hook, std::uint64_t entry, std::uint64_t) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(entry);
    originals_.emplace_back(entry, std::vector<std::byte>(bytes, bytes + kJumpBytes));
    put(entry, jump(entry, number(base_) + head_.hook[hook]));
  }
  static void put(std::uint64_t at, const std::vector<std::byte>& bytes) {
    auto* const page = reinterpret_cast<void*>(at & ~std::uint64_t{4095});
    REQUIRE(mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    std::memcpy(reinterpret_cast<void*>(at), bytes.data(), bytes.size());
    REQUIRE(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
  }

  Fd file_;
  std::optional<Ring> ring_;
  std::byte* base_ = nullptr;
  BlobHead head_{};
  std::vector<std::pair<std::uint64_t, std::vector<std::byte>>> originals_;
};

}  // namespace

extern "C" void* ha_test_next() {
  return is_without_memory ? nullptr : reinterpret_cast<void*>(next_address += 64);
}

TEST_CASE("the blob records each allocation with its result, size and caller") {
  OwnBlob blob(1);
  std::vector<void*> got;
  for (std::size_t i = 0; i < 10; ++i) got.push_back(ha_test_allocate(32 + i, 7));
  const auto records = blob.read();
  REQUIRE(records.size() == got.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const RingRecord& record = records[i].record;
    CHECK(record.what == kRecordAllocated);
    CHECK(record.address == number(static_cast<char*>(got[i])));
    CHECK(record.size == 32 + i);
    CHECK(record.kind == 7);
    CHECK(record.thread == static_cast<std::uint32_t>(gettid()));
    CHECK(record.time != 0);
    CHECK(records[i].stack.size() > 0);
  }
  CHECK(records[0].record.rip == records[1].record.rip);
  CHECK(blob.control().inside == 0);
}

TEST_CASE("a blob that is off, or an allocation that fails, leaves no record") {
  OwnBlob blob(1);
  is_without_memory = true;
  CHECK(ha_test_allocate(16, 0) == nullptr);
  is_without_memory = false;
  blob.control().enabled = 0;
  CHECK(ha_test_allocate(16, 0) != nullptr);
  CHECK(blob.read().empty());
  CHECK(blob.control().inside == 0);
}

TEST_CASE("samples are as many as the interval says, in each thread") {
  constexpr std::uint64_t kEvery = 4096;
  constexpr int kEach = 200'000;
  OwnBlob blob(kEvery, std::uint64_t{64} << 20);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < kEach; ++k) static_cast<void>(ha_test_allocate(32, 0));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto counts = blob.ring().counts();
  const double expected = 3.0 * kEach * -std::expm1(-32.0 / kEvery);
  const auto got = static_cast<double>(blob.read().size() + counts.dropped);
  CHECK(std::abs(got - expected) < 4 * std::sqrt(expected));
}

TEST_CASE("a full ring drops and counts, and never waits") {
  OwnBlob blob(1, std::uint64_t{64} << 10);
  constexpr std::uint64_t kMade = 1000;
  for (std::uint64_t i = 0; i < kMade; ++i) CHECK(ha_test_allocate(16, 0) != nullptr);
  const std::uint64_t dropped = blob.ring().counts().dropped;
  CHECK(dropped > 0);
  CHECK(blob.read().size() + dropped == kMade);
  // There is room again, over the end of the ring.
  for (int lap = 0; lap < 5; ++lap) {
    for (int i = 0; i < 10; ++i) static_cast<void>(ha_test_allocate(16, 0));
    CHECK(blob.read().size() == 10);
  }
  CHECK(blob.ring().counts().dropped == dropped);
}

TEST_CASE("a blob turns itself off when nothing reads, and only then") {
  OwnBlob blob(1);
  blob.control().patience = 1;
  for (int i = 0; i < 5; ++i) {
    blob.ring().beat();
    static_cast<void>(ha_test_allocate(16, 0));
  }
  CHECK(blob.control().enabled == 1);
  static_cast<void>(ha_test_allocate(16, 0));
  static_cast<void>(ha_test_allocate(16, 0));
  CHECK(blob.control().enabled == 0);
  CHECK(blob.ring().counts().has_given_up);
}

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

TEST_CASE("a forked child is off and runs on") {
  OwnBlob blob(1);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 100; ++i) {
      if (ha_test_allocate(16, 0) == nullptr) _exit(2);
    }
    blob.collect();
    ha_test_release(reinterpret_cast<void*>(64));
    _exit(event_given == kMarkEnd ? 0 : 3);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(blob.read().empty());
}

TEST_CASE("an object ends when it is freed, or when a collection does not mark it") {
  OwnBlob blob(1);
  collections = 1;
  void* const freed = ha_test_allocate(16, 0);
  void* const dead = ha_test_allocate(16, 0);
  void* const alive = ha_test_allocate(16, 0);
  static_cast<void>(blob.read());
  ha_test_released = 0;
  ha_test_release(freed);
  CHECK(ha_test_released == 1);
  only_marked = number(static_cast<char*>(alive));
  blob.collect(0);  // another event
  collections = 2;
  blob.collect();
  CHECK(event_given == kMarkEnd);
  auto records = blob.read();
  REQUIRE(records.size() == 2);
  CHECK(records[0].record.what == kRecordFreed);
  CHECK(records[0].record.address == number(static_cast<char*>(freed)));
  CHECK(records[1].record.what == kRecordDead);
  CHECK(records[1].record.address == number(static_cast<char*>(dead)));
  CHECK(records[1].record.collection == 2);
  // Another object at the place of the dead one is another object.
  only_marked = 0;
  collections = 3;
  blob.collect();
  records = blob.read();
  REQUIRE(records.size() == 1);
  CHECK(records[0].record.address == number(static_cast<char*>(alive)));
}

TEST_CASE("after a collection that was missed, the ends of all objects are unknown") {
  OwnBlob blob(1);
  collections = 1;
  void* const object = ha_test_allocate(16, 0);
  only_marked = number(static_cast<char*>(object));
  blob.collect();
  static_cast<void>(blob.read());
  collections = 3;
  blob.collect();
  const auto records = blob.read();
  REQUIRE(records.size() == 1);
  CHECK(records[0].record.what == kRecordForgotten);
  CHECK(blob.ring().counts().missed_collections == 1);
}

TEST_CASE("a ring that the target has overwritten is refused, not followed") {
  OwnBlob blob(1);
  static_cast<void>(ha_test_allocate(16, 0));
  // The first record claims to be longer than the ring.
  auto entry = blob.ring().front();
  REQUIRE(entry);
  REQUIRE(*entry);
  auto* const bytes = const_cast<std::byte*>((*entry)->stack.data()) - kRecordBytes;
  const std::uint32_t wrong = 1U << 30;
  std::memcpy(bytes + offsetof(RingRecord, bytes), &wrong, sizeof wrong);
  CHECK(!blob.ring().front());
  blob.ring().pop();
}
