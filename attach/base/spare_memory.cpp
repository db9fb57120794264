#include "attach/base/spare_memory.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "attach/base/page.h"
#include "attach/base/sanitized.h"

namespace heapattach {

namespace {

// Sanitizers keep a shadow of memory, which does not move with it.
#ifdef __SANITIZE_THREAD__
constexpr bool kReuses = false;
#else
constexpr bool kReuses = !kIsSanitized;
#endif

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Aligned to a huge page.
std::byte* map_aligned(std::size_t bytes) {
  void* const mapped = mmap(nullptr, bytes + kHugePageBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(mapped);
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(begin) % kHugePageBytes;
  const std::size_t before = (kHugePageBytes - beyond) % kHugePageBytes;
  if (before > 0) munmap(begin, before);
  munmap(begin + before + bytes, kHugePageBytes - before);
  // Falls back to small pages where huge pages are off.
  madvise(begin + before, bytes, MADV_HUGEPAGE);
  return begin + before;
}

// mremap(2) moves memory only within one mapping of the kernel's. Each piece is within one.
using Piece = std::span<std::byte>;

class SpareMemory {
 public:
  std::byte* take(std::size_t bytes, std::size_t used) {
    const std::size_t size = rounded_up(bytes, page_bytes());
    const std::size_t wanted =
        std::min(rounded_up(used, kHugePageBytes), size / kHugePageBytes * kHugePageBytes);
    std::byte* const memory = map_aligned(size);
    if (memory == nullptr || move_into({memory, wanted})) return memory;
    drop();
    return map_aligned(size);  // the kernel may have unmapped the other addresses: they are lost
  }

  void give(std::byte* memory, std::size_t bytes, std::size_t used) noexcept {
    const std::size_t size = rounded_up(bytes, page_bytes());
    const std::size_t kept = kReuses ? std::min(used, size) / kHugePageBytes * kHugePageBytes : 0;
    if (kept < size) munmap(memory + kept, size - kept);
    if (kept > 0) keep({memory, kept});
  }

  void drop() {
    const std::lock_guard lock(mutex_);
    for (const Piece piece : std::exchange(spare_, {})) munmap(piece.data(), piece.size());
  }

  std::size_t bytes() {
    const std::lock_guard lock(mutex_);
    std::size_t sum = 0;
    for (const Piece piece : spare_) sum += piece.size();
    return sum;
  }

 private:
  // Moves spare memory to the beginning of `into`. False if the kernel refused.
  bool move_into(Piece into) {
    const std::lock_guard lock(mutex_);
    std::vector<std::size_t> moved;
    Piece rest = into;
    while (!rest.empty() && !spare_.empty()) {
      Piece& last = spare_.back();
      const Piece from = last.first(std::min(last.size(), rest.size()));
      if (mremap(from.data(), from.size(), from.size(), MREMAP_MAYMOVE | MREMAP_FIXED,
                 rest.data()) == MAP_FAILED) {
        return false;
      }
      moved.push_back(from.size());
      rest = rest.subspan(from.size());
      last = last.subspan(from.size());
      if (last.empty()) spare_.pop_back();
    }
    if (!moved.empty()) moved_[into.data()] = std::move(moved);
    return true;
  }

  void keep(Piece all) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      const auto found = moved_.find(all.data());
      if (found != moved_.end()) {
        for (const std::size_t count : found->second) {
          const std::size_t part = std::min(count, all.size());
          if (part > 0) spare_.push_back(all.first(part));
          all = all.subspan(part);
        }
        moved_.erase(found);
      }
      if (!all.empty()) spare_.push_back(all);
    } catch (const std::bad_alloc&) {
      munmap(all.data(), all.size());
    }
  }

  std::mutex mutex_;
  std::vector<Piece> spare_;  // the last is used first
  // By the beginning of taken memory: the sizes of the pieces that were moved there.
  std::unordered_map<std::byte*, std::vector<std::size_t>> moved_;
};

// Never destroyed: arrays with static lifetime may be returned later.
SpareMemory& spare_memory() {
  static auto* const only = new SpareMemory;
  return *only;
}

}  // namespace

void* take_memory(std::size_t bytes) {
  return spare_memory().take(bytes, bytes);
}

void* take_addresses(std::size_t bytes, std::size_t used) {
  return spare_memory().take(bytes, used);
}

void give_memory(void* memory, std::size_t bytes, std::size_t used) {
  spare_memory().give(static_cast<std::byte*>(memory), bytes, used);
}

void drop_spare_memory() {
  spare_memory().drop();
}

std::size_t spare_bytes() {
  return spare_memory().bytes();
}

}  // namespace heapattach
