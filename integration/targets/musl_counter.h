#pragma once

// Counts the allocations of musl's malloc that a target has not freed, by wrappers that the linker
// puts around malloc and its relatives (--wrap).
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_long in_use, bytes_in_use, zeros;

static void* counted(void* at, long sign) {
  if (at == NULL) return at;
  const size_t bytes = malloc_usable_size(at);
  in_use += sign;
  bytes_in_use += sign * (long)bytes;
  if (bytes == 0) zeros += sign;
  return at;
}

void* __real_malloc(size_t bytes);
void* __real_calloc(size_t count, size_t bytes);
void* __real_realloc(void* at, size_t bytes);
void* __real_aligned_alloc(size_t to, size_t bytes);
void __real_free(void* at);

// In a static program, calls inside the C library arrive here, too.
static _Thread_local int is_inside;

void* __wrap_malloc(size_t bytes) {
  void* const at = __real_malloc(bytes);
  return is_inside ? at : counted(at, 1);
}
void* __wrap_calloc(size_t count, size_t bytes) {
  is_inside += 1;
  void* const at = __real_calloc(count, bytes);
  is_inside -= 1;
  return is_inside ? at : counted(at, 1);
}
void* __wrap_realloc(void* at, size_t bytes) {
  if (!is_inside) counted(at, -1);
  is_inside += 1;
  void* const moved = __real_realloc(at, bytes);
  is_inside -= 1;
  return is_inside ? moved : counted(moved, 1);
}
void* __wrap_aligned_alloc(size_t to, size_t bytes) {
  is_inside += 1;
  void* const at = __real_aligned_alloc(to, bytes);
  is_inside -= 1;
  return is_inside ? at : counted(at, 1);
}
void __wrap_free(void* at) {
  if (!is_inside) counted(at, -1);
  __real_free(at);
}
