#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <sys/mman.h>

namespace heapattach::snapshot {

// Allocates memory for large arrays of plain values. Avoids clearing it twice, and uses huge pages
// if available: ten million objects would otherwise cost forty thousand page faults.
template <class T>
struct FlatAllocator {
  using value_type = T;
  static constexpr std::size_t kHugeBytes = std::size_t{2} << 20;

  FlatAllocator() = default;
  template <class U>
  FlatAllocator(const FlatAllocator<U>&) noexcept {}  // NOLINT(*-explicit-*): as in the standard

  [[nodiscard]] T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kHugeBytes) return static_cast<T*>(::operator new(bytes));
    void* at = ::operator new (bytes, std::align_val_t{kHugeBytes});
    ::madvise(at, bytes, MADV_HUGEPAGE);
    return static_cast<T*>(at);
  }
  void deallocate(T* at, std::size_t count) noexcept {
    if (count * sizeof(T) < kHugeBytes) {
      ::operator delete(at);
    } else {
      ::operator delete (at, std::align_val_t{kHugeBytes});
    }
  }
  // resize() leaves new elements uninitialised: the caller fills them.
  template <class U>
  void construct(U* at) noexcept {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Args>
  void construct(U* at, Args&&... args) {
    ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
  }

  friend bool operator==(const FlatAllocator&, const FlatAllocator&) { return true; }
};

template <class T>
using FlatArray = std::vector<T, FlatAllocator<T>>;

}  // namespace heapattach::snapshot
