// Tests a ring into which the test writes any records, as a corrupted program may.

#include "report/trace/recording.h"

#include <chrono>
#include <cstring>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/arch/addresses.h"

namespace heapattach::trace {

namespace {

constexpr std::uint64_t kBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kObject = 0x7000'0000'0010;
constexpr auto kNoEnd = std::chrono::steady_clock::time_point::max();

class WrittenRing {
 public:
  WrittenRing() : file_(memfd_create("ring", MFD_CLOEXEC)) {
    REQUIRE(ftruncate(file_.get(), kRingHeadBytes + kBytes) == 0);
    void* const got =
        mmap(nullptr, kRingHeadBytes + kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
    REQUIRE(got != MAP_FAILED);
    begin_ = static_cast<std::byte*>(got);
    ring_.emplace(Ring::map(file_, 0, kBytes).value());
  }
  ~WrittenRing() { munmap(begin_, kRingHeadBytes + kBytes); }
  WrittenRing(const WrittenRing&) = delete;
  WrittenRing& operator=(const WrittenRing&) = delete;

  [[nodiscard]] Ring& ring() { return *ring_; }

  void write(RingRecord record) {
    auto& head = *reinterpret_cast<RingHead*>(begin_);
    record.commit = head.head | 1;
    record.bytes = kRecordBytes;
    record.what = kRecordAllocated;
    std::memcpy(begin_ + kRingHeadBytes + (head.head & (kBytes - 1)), &record, sizeof record);
    head.head += kRecordBytes;
  }

 private:
  Fd file_;
  std::byte* begin_ = nullptr;
  std::optional<Ring> ring_;
};

RingRecord allocation(std::uint64_t address) {
  RingRecord record{};
  record.address = address;
  record.size = 48;
  record.returns_to = 0x1000;
  record.stack_pointer = 0x7fff'0000'0000;
  record.thread = 1;
  return record;
}

struct Recorded {
  Recorded() = default;
  const Process process = Process::open(getppid()).value();
  const Modules modules{std::vector<Module>{}};
  const std::uint64_t began = monotonic_ns();
  Recording recording{process, modules, 0, began};
  WrittenRing written;

  void drain() { REQUIRE(recording.drain(written.ring(), kNoEnd)); }
  std::vector<Event> finish() {
    Trace trace;
    REQUIRE(recording.finish(trace, std::chrono::steady_clock::now() + std::chrono::seconds(20)));
    std::vector<Event> events;
    EventLog::Reader reader(trace.events);
    for (Event event; reader.next(event);) events.push_back(event);
    return events;
  }
};

}  // namespace

TEST_CASE("a recording takes no more records than it may have memory for, and loses the rest") {
  Recorded all;
  all.recording.set_most_bytes(std::size_t{3} << 20);
  constexpr std::uint64_t kAtOnce = 4000;
  std::uint64_t written = 0;
  while (!all.recording.is_full()) {
    REQUIRE(written < 1'000'000);
    for (std::uint64_t i = 0; i < kAtOnce; ++i) {
      all.written.write(allocation(kObject + 16 * written++));
    }
    all.drain();
  }
  const std::uint64_t taken = all.recording.samples();
  CHECK(taken < written);
  CHECK(all.recording.memory_bytes() < (std::size_t{5} << 20));
  all.drain();
  CHECK(all.recording.samples() == taken);
  CHECK(all.recording.drain_rest(all.written.ring(), kNoEnd) == written - taken);
  CHECK(all.finish().size() == taken);
}

TEST_CASE("many different stacks fill a recording, too") {
  Recorded all;
  all.recording.set_most_bytes(std::size_t{2} << 20);
  std::uint64_t written = 0;
  while (!all.recording.is_full()) {
    REQUIRE(written < 1'000'000);
    for (int i = 0; i < 1000; ++i) {
      RingRecord record = allocation(kObject);
      record.frame_pointer = ++written;
      record.thread = static_cast<std::uint32_t>(written);
      all.written.write(record);
    }
    all.drain();
  }
  CHECK(written < 10'000);
}

TEST_CASE("records that could not be true are counted and left out") {
  Recorded all;
  all.written.write(allocation(kObject));
  const auto write = [&](const auto& change) {
    RingRecord record = allocation(kObject);
    change(record);
    all.written.write(record);
  };
  constexpr std::uint64_t kKernel = kUsualAddressEnd;
  write([](RingRecord& record) { record.address = 0; });
  write([](RingRecord& record) { record.address = kObject + 1; });
  write([](RingRecord& record) { record.address = kKernel; });
  write([](RingRecord& record) { record.size = kKernel; });
  write([](RingRecord& record) { record.stack_pointer = 0; });
  write([](RingRecord& record) { record.hook = kAllocationHooks; });
  all.drain();
  CHECK(all.recording.impossible() == 6);
  CHECK(all.recording.samples() == 1);
  CHECK(all.finish().size() == 1);
}

TEST_CASE("a record of the future is one of now") {
  Recorded all;
  RingRecord record = allocation(kObject);
  record.time = ~std::uint64_t{0};
  all.written.write(record);
  all.drain();
  const auto events = all.finish();
  REQUIRE(events.size() == 1);
  CHECK(events[0].time_ns <= monotonic_ns() - all.began);
}

}  // namespace heapattach::trace
