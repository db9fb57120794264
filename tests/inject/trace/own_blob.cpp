#include "tests/inject/trace/own_blob.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <ctime>
#include <span>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/arch/processors.h"
#include "inject/trace/arch/jump.h"
#include "inject/trace/arch/move_entry.h"
#include "inject/trace/arch/thread_memory.h"
#include "inject/trace/find_room.h"
#include "inject/trace/stack_ends.h"

extern "C" {
extern const std::byte ha_test_allocate_end[];
extern const std::byte ha_test_release_end[];
extern const std::byte ha_test_lead_end[];
extern const std::byte ha_test_plain_end[];
std::uint64_t ha_test_released = 0;
void* ha_test_next();
}

namespace heapattach::trace {

TestCollector test_collector;

std::uint64_t own_thread_pointer() {
  std::uint64_t value = 0;
#ifdef __x86_64__
  asm("mov %%fs:0, %0" : "=r"(value));
#else
  asm("mrs %0, tpidr_el0" : "=r"(value));
#endif
  return value;
}

namespace {

constexpr std::size_t kBytes = kBlobCodeBytes + ((sizeof(BlobControl) + 4095) & ~std::size_t{4095});

// The blob reads the objects that it records, so they are real memory: pages of zeros, which take
// no room. Half of kMostStack (recorder.c), so that tests find free memory for a stack near the
// thread pointer.
constexpr std::size_t kRoomBytes = std::size_t{1} << 29;

std::uint64_t room_begin() {
  void* const room = mmap(nullptr, kRoomBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(room != MAP_FAILED);
  return number(room);
}

std::atomic<std::uint64_t> next_offset{0};

void on_event(int event) {
  test_collector.event_given = event;
}
int is_marked(const void* object) {
  return reinterpret_cast<std::uint64_t>(object) == test_collector.only_marked ? 1 : 0;
}
int coarse_time(int clock, std::uint64_t* time) {
  timespec now{};
  const int got = clock_gettime(clock, &now);
  time[0] = static_cast<std::uint64_t>(now.tv_sec);
  time[1] = static_cast<std::uint64_t>(now.tv_nsec);
  return clock == CLOCK_MONOTONIC_COARSE ? got : -1;
}
void* object_base(void* object) {
  return object;
}

}  // namespace

OwnBlob::OwnBlob(std::uint64_t every, std::uint64_t ring_bytes) {
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
  hook(0, number(ha_test_allocate));
  hook(1, number(ha_test_plain));
  hook(kLeadingHook, number(ha_test_lead));
  hook(kCollectorFreeHook, number(ha_test_release));
  ha_test_next();  // the first call makes system calls, which the threads of some tests must not
  control().enabled = 1;
}

OwnBlob::~OwnBlob() {
  for (const auto& [at, bytes] : originals_) put(at, bytes);
  munmap(base_, kBytes);
}

void OwnBlob::collect(int event) const {
  reinterpret_cast<void (*)(int)>(base_ + head_.handler)(event);
}

std::vector<OwnBlob::Record> OwnBlob::read() {
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

void OwnBlob::fill(std::uint64_t ring_bytes, std::uint64_t every) {
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
  head_.collections = number(&test_collector.collections);
  head_.clock = number(coarse_time);
  head_.stack_bottom = number(&test_collector.stack_bottom);
  move(0, number(ha_test_allocate), number(ha_test_allocate_end));
  move(1, number(ha_test_plain), number(ha_test_plain_end));
  move(kLeadingHook, number(ha_test_lead), number(ha_test_lead_end));
  head_.led = 1;  // ha_test_allocate
  move(kCollectorFreeHook, number(ha_test_release), number(ha_test_release_end));
  std::memcpy(base_, &head_, sizeof head_);
  auto* const begin = reinterpret_cast<char*>(base_);
  __builtin___clear_cache(begin, begin + kBlobCodeBytes);
  const auto control = new_control(every, kTestStackBytes, 12345);
  std::memcpy(base_ + kBlobCodeBytes, control.data(), control.size());
  // On aarch64, glibc's structure of a thread has 0x740 bytes, and may begin its mapping.
  constexpr std::size_t kNeeded = kThreadBelow == 0 ? kThreadBytes / 2 : 0x740;
  constexpr std::size_t kBefore = kThreadBelow == 0 ? 0 : kThreadBelow - kNeeded;
  NumberedThread here{.number = static_cast<std::uint32_t>(gettid()),
                      .memory = std::vector<std::byte>(kBefore + kNeeded)};
  std::memcpy(here.memory.data() + kBefore,
              reinterpret_cast<const void*>(own_thread_pointer() - kThreadBelow + kBefore),
              kNeeded);
  this->control().tid_at = offset_of_number(std::span(&here, 1)) - kThreadBelow;
  this->control().first_thread = own_thread_pointer();
}

void OwnBlob::tell_span(std::uint64_t begin, std::uint64_t end) const {
  control().spans[span_of(end)] = {end, begin};
}

bool OwnBlob::has_asked(std::uint64_t end) const {
  return control().asked[span_of(end) & (kAsked - 1)] == end;
}

std::uint64_t OwnBlob::ring_address(std::uint64_t ring_bytes) {
  auto* const room =
      static_cast<std::byte*>(mmap(nullptr, kRingHeadBytes + 2 * ring_bytes, PROT_READ | PROT_WRITE,
                                   MAP_SHARED, file_.get(), kBlobCodeBytes));
  REQUIRE(mmap(room + kRingHeadBytes + ring_bytes, ring_bytes, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_FIXED, file_.get(), kBlobCodeBytes + kRingHeadBytes) != MAP_FAILED);
  return number(room);
}

void OwnBlob::move(std::size_t hook, std::uint64_t entry, std::uint64_t end) {
  const auto disassembler = Disassembler::open(kOwnProcessor);
  const std::span function(reinterpret_cast<const std::byte*>(entry), end - entry);
  const auto moved = move_entry(*disassembler, function, RemoteAddr{entry},
                                RemoteAddr{number(base_) + head_.trampoline[hook]});
  REQUIRE(moved);
  std::memcpy(base_ + head_.trampoline[hook], moved->code.data(), moved->code.size());
  std::copy(moved->undo.begin(), moved->undo.end(), base_ + head_.hook[hook]);
  kept_[hook] = moved->kept;
}

void OwnBlob::hook(std::size_t hook, std::uint64_t entry) {
  entry += kept_[hook];
  const auto* const bytes = reinterpret_cast<const std::byte*>(entry);
  originals_.emplace_back(entry, std::vector<std::byte>(bytes, bytes + kJumpBytes));
  put(entry, jump(entry, number(base_) + head_.hook[hook]));
}

void OwnBlob::put(std::uint64_t at, const std::vector<std::byte>& bytes) {
  auto* const page = reinterpret_cast<void*>(at & ~std::uint64_t{4095});
  REQUIRE(mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
  std::memcpy(reinterpret_cast<void*>(at), bytes.data(), bytes.size());
  auto* const begin = reinterpret_cast<char*>(at);
  __builtin___clear_cache(begin, begin + bytes.size());
  REQUIRE(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
}

}  // namespace heapattach::trace

extern "C" void* ha_test_next() {
  using namespace heapattach::trace;
  if (test_collector.is_without_memory) return nullptr;
  static const std::uint64_t begin = room_begin();
  return reinterpret_cast<void*>(begin + (next_offset += 64) % kRoomBytes);
}
