#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>

#include "attach/base/fault_points.h"
#include "attach/base/page.h"
#include "attach/base/spare_memory.h"
#include "attach/memory/capture.h"

namespace heapattach {

namespace {

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Makes the kernel allocate memory for all of `bytes` now.
void touch(std::span<std::byte> bytes) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(bytes.data(), bytes.size(), MADV_POPULATE_WRITE) == 0) return;  // since Linux 5.14
#endif
  for (std::size_t at = 0; at < bytes.size(); at += page_bytes()) {
    *static_cast<volatile std::byte*>(&bytes[at]) = std::byte{0};
  }
}

void touch_on_all_cores(std::span<std::byte> bytes) {
  const std::size_t share = rounded_up(
      bytes.size() / std::max(1U, std::thread::hardware_concurrency()) + 1, kHugePageBytes);
  std::vector<std::jthread> threads;
  while (bytes.size() > share) {
    try {
      threads.emplace_back(touch, bytes.first(share));
    } catch (const std::system_error&) {
      break;  // no more threads available: touch the rest here
    }
    bytes = bytes.subspan(share);
  }
  touch(bytes);
}

}  // namespace

Result<Arena> Arena::reserve(std::size_t bytes, std::size_t touched) {
  if (bytes > SIZE_MAX / 2) {
    return Error{ErrorKind::Os, fmt::format("an arena of {} bytes", bytes), ENOMEM};
  }
  const std::size_t size = std::max(rounded_up(bytes, page_bytes()), page_bytes());
  // In whole huge pages, as memory that is used again comes in these.
  const std::size_t now = std::min(rounded_up(touched, kHugePageBytes), size);
  void* const begin = fault_at(FaultPoint::MapArena) ? nullptr : take_addresses(size, now);
  const int failure = errno;
  if (begin == nullptr) {
    return os_error(fmt::format("reserving {} bytes for the copy", size), failure);
  }
  Arena arena(static_cast<std::byte*>(begin), size);
  arena.touched_ = now;
  if (now > 0) touch_on_all_cores(arena.bytes().first(now));
  return arena;
}

void Arena::clear(std::span<std::byte> part) noexcept {
  constexpr std::size_t kLarge = 1U << 20;  // cheaper to give back than to write
  const auto from = static_cast<std::size_t>(part.data() - begin_);
  if (from >= touched_) return;
  part = part.first(std::min(part.size(), touched_ - from));
  if (part.size() < kLarge) {
    if (!part.empty()) std::memset(part.data(), 0, part.size());
    return;
  }
  const std::size_t before = rounded_up(from, page_bytes()) - from;
  const std::size_t pages = (part.size() - before) / page_bytes() * page_bytes();
  std::memset(part.data(), 0, before);
  if (madvise(part.data() + before, pages, MADV_DONTNEED) != 0) {
    std::memset(part.data() + before, 0, pages);
  }
  const auto rest = part.subspan(before + pages);
  if (!rest.empty()) std::memset(rest.data(), 0, rest.size());
}

void Arena::use_small_pages(std::span<std::byte> part) noexcept {
  const auto from = rounded_up(static_cast<std::size_t>(part.data() - begin_), page_bytes());
  const auto end = static_cast<std::size_t>(part.data() - begin_) + part.size();
  if (from + page_bytes() > end) return;
  // If this fails, the result is the same but takes more memory.
  static_cast<void>(
      madvise(begin_ + from, (end - from) / page_bytes() * page_bytes(), MADV_NOHUGEPAGE));
}

void Arena::reset() noexcept {
  if (begin_ != nullptr) {
    // It must be one mapping again, whatever use_small_pages() has done.
    static_cast<void>(madvise(begin_, size_, MADV_HUGEPAGE));
    give_memory(begin_, size_, touched_);
  }
  begin_ = nullptr;
  size_ = 0;
  touched_ = 0;
}

Arena::~Arena() {
  reset();
}

Arena::Arena(Arena&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      touched_(std::exchange(other.touched_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  if (this != &other) {
    reset();
    begin_ = std::exchange(other.begin_, nullptr);
    size_ = std::exchange(other.size_, 0);
    touched_ = std::exchange(other.touched_, 0);
  }
  return *this;
}

}  // namespace heapattach
