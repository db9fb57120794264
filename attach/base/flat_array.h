#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "attach/base/spare_memory.h"

namespace heapattach {

// Allocates memory for large arrays of plain values. Avoids clearing it twice, and uses huge pages
// and memory that was used before: ten million objects would otherwise cost forty thousand page
// faults, and reading them at random a walk of the page table each.
template <class T>
struct FlatAllocator {
  using value_type = T;

  FlatAllocator() = default;
  template <class U>
  FlatAllocator(const FlatAllocator<U>&) noexcept {}  // NOLINT(*-explicit-*): as in the standard

  [[nodiscard]] T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kHugePageBytes) return static_cast<T*>(::operator new(bytes));
    void* const memory = take_memory(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* at, std::size_t count) noexcept {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kHugePageBytes) {
      ::operator delete(at);
    } else {
      give_memory(at, bytes, bytes);
    }
  }
  // resize() leaves new elements uninitialised, also in fresh arrays: the caller fills them.
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

}  // namespace heapattach
