#pragma once

#include <cstddef>
#include <cstdint>

// Counts the allocations that a target has not freed: defines malloc and its relatives, which call
// glibc's. Include it in one source file. Its own memory comes from mmap.
#include <atomic>

#include <sys/mman.h>

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* at, std::size_t bytes);
void* __libc_memalign(std::size_t to, std::size_t bytes);
void __libc_free(void* at);
}

namespace malloc_counter {
inline std::atomic<long> in_use = 0;
inline void* counted(void* at) {
  if (at != nullptr) in_use += 1;
  return at;
}
}  // namespace malloc_counter

extern "C" {
void* malloc(std::size_t bytes) noexcept {
  return malloc_counter::counted(__libc_malloc(bytes));
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return malloc_counter::counted(__libc_calloc(count, bytes));
}
void* realloc(void* at, std::size_t bytes) noexcept {
  void* const moved = __libc_realloc(at, bytes);
  if (at == nullptr) return malloc_counter::counted(moved);
  if (bytes == 0 && moved == nullptr) malloc_counter::in_use -= 1;
  return moved;
}
void* memalign(std::size_t to, std::size_t bytes) noexcept {
  return malloc_counter::counted(__libc_memalign(to, bytes));
}
void* aligned_alloc(std::size_t to, std::size_t bytes) noexcept {
  return malloc_counter::counted(__libc_memalign(to, bytes));
}
int posix_memalign(void** at, std::size_t to, std::size_t bytes) noexcept {
  *at = malloc_counter::counted(__libc_memalign(to, bytes));
  return *at == nullptr ? 12 : 0;
}
void free(void* at) noexcept {
  if (at != nullptr) malloc_counter::in_use -= 1;
  __libc_free(at);
}
}

inline std::size_t count_in_use() {
  return static_cast<std::size_t>(malloc_counter::in_use.load());
}
