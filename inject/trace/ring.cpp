#include "inject/trace/ring.h"

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>

#include "attach/base/check.h"

namespace heapattach::trace {

namespace {

std::atomic_ref<std::uint64_t> atomic(std::uint64_t& word) {
  return std::atomic_ref<std::uint64_t>(word);
}

}  // namespace

Result<Ring> Ring::map(const Fd& file, std::uint64_t offset, std::uint64_t bytes) {
  HA_CHECK(std::has_single_bit(bytes));
  const std::size_t whole = kRingHeadBytes + bytes;
  void* const room = mmap(nullptr, whole + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int failure = errno;
  if (room == MAP_FAILED) return os_error("reserving memory for the buffer of the trace", failure);
  Ring ring(static_cast<std::byte*>(room), bytes);
  const auto put = [&](std::size_t at, std::size_t count, std::uint64_t from) -> Result<void> {
    const void* const got = mmap(ring.begin_ + at, count, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_FIXED, file.get(), static_cast<off_t>(from));
    const int why = errno;
    return got == MAP_FAILED ? Result<void>(os_error("mapping the buffer of the trace", why))
                             : Result<void>();
  };
  HA_TRY(put(0, whole, offset));
  HA_TRY(put(whole, bytes, offset + kRingHeadBytes));
  return ring;
}

Ring::~Ring() {
  if (begin_ != nullptr) munmap(begin_, kRingHeadBytes + 2 * bytes_);
}
Ring::Ring(Ring&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), bytes_(other.bytes_), tail_(other.tail_) {}
Ring& Ring::operator=(Ring&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(bytes_, other.bytes_);
  std::swap(tail_, other.tail_);
  return *this;
}

RingHead& Ring::head() const {
  return *reinterpret_cast<RingHead*>(begin_);
}

std::uint64_t Ring::written() const {
  return atomic(head().head).load(std::memory_order_acquire);
}

bool Ring::is_waiting() const {
  return written() != tail_;
}

Result<std::optional<Ring::Entry>> Ring::front() const {
  const std::uint64_t end = atomic(head().head).load(std::memory_order_acquire);
  if (end == tail_) return std::optional<Entry>();
  std::byte* const at = records() + (tail_ & (bytes_ - 1));
  auto& commit = *reinterpret_cast<std::uint64_t*>(at);
  if (atomic(commit).load(std::memory_order_acquire) != (tail_ | 1)) return std::optional<Entry>();
  Entry entry;
  std::memcpy(&entry.record, at, kShortRecordBytes);
  const RingRecord& record = entry.record;
  const bool is_long = record.what == kRecordAllocated;
  const std::uint64_t least = is_long ? kRecordBytes : kShortRecordBytes;
  const bool makes_sense = record.what >= kRecordAllocated && record.what <= kRecordNothing &&
                           record.bytes >= least && record.bytes <= bytes_ &&
                           record.bytes % kShortRecordBytes == 0 && record.bytes <= end - tail_;
  if (!makes_sense || (is_long && record.stack_bytes > record.bytes - least)) {
    return Error{ErrorKind::Malformed, "a record of the trace is invalid"};
  }
  if (is_long) {
    const std::uint32_t stack_bytes = record.stack_bytes;
    std::memcpy(&entry.record, at, kRecordBytes);
    entry.stack = {at + kRecordBytes, stack_bytes};
  }
  return std::optional(entry);
}

void Ring::pop() {
  std::byte* const at = records() + (tail_ & (bytes_ - 1));
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, at + offsetof(RingRecord, bytes), sizeof bytes);
  if (bytes > bytes_ || bytes < kShortRecordBytes) bytes = kShortRecordBytes;
  // In the next lap, the reader must not find a commit of this one.
  std::memset(at, 0, bytes);
  tail_ += bytes;
  atomic(head().tail).store(tail_, std::memory_order_release);
}

void Ring::beat() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  atomic(head().time)
      .store(static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
             static_cast<std::uint64_t>(now.tv_nsec));
  atomic(head().beat).fetch_add(1, std::memory_order_relaxed);
}

Ring::Counts Ring::counts() const {
  RingHead& at = head();
  return {.dropped = atomic(at.dropped).load(),
          .lost_ends = atomic(at.lost_ends).load(),
          .untracked = atomic(at.untracked).load(),
          .missed_collections = atomic(at.missed).load(),
          .has_given_up = atomic(at.given_up).load() != 0};
}

}  // namespace heapattach::trace
