/* The format of the file, version 1. All numbers have 8 bytes and are little-endian.
 *   GCGRPH\x01\0   each object: address; size (the highest bit is set if it has no pointers); first
 *                  word; and unless it has no pointers, a pair of an offset and the word there for
 *                  each word that points into an object of the file, ended by 2^64 - 1
 *   GCFULL\x01\0   each object: address, size (as above), its bytes
 * At the end of the file is 2^64 - 1. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heapattach.h"

/* Functions of the program's collector, from gc.h and gc_mark.h since release 7.6. They are
 * declared here so that this can be built without the headers. */
extern void GC_gcollect(void);
extern int GC_is_heap_ptr(const void*);
extern void* GC_base(void*);
extern int GC_is_marked(const void*);
extern int GC_get_kind_and_size(const void*, size_t* size);
extern void GC_enumerate_reachable_objects_inner(void (*)(void*, size_t, void*), void*);
/* Some releases lack these two. */
extern void GC_stop_world_external(void) __attribute__((weak));
extern void GC_start_world_external(void) __attribute__((weak));

enum { kBufferBytes = 65536 };

static const uint64_t kEnd = UINT64_MAX;
static const uint64_t kAtomic = UINT64_C(1) << 63;

/* Static, because a stack may be small. Only one dump runs at a time; `busy` is set meanwhile. */
struct output {
  int descriptor;
  int failure; /* the errno of the first error; all later output is dropped */
  int is_full_mode;
  long objects;
  size_t used;
  unsigned char bytes[kBufferBytes];
};
static struct output output;
static volatile int busy;

static void flush(void) {
  size_t done = 0;
  while (done < output.used && output.failure == 0) {
    const long put = syscall(SYS_write, output.descriptor, output.bytes + done, output.used - done);
    if (put > 0) {
      done += (size_t)put;
    } else if (put == 0 || errno != EINTR) {
      output.failure = put == 0 ? EIO : errno;
    }
  }
  output.used = 0;
}

static void put(const void* from, size_t count) {
  const unsigned char* at = from;
  while (count > 0 && output.failure == 0) {
    size_t step = kBufferBytes - output.used;
    if (step > count) step = count;
    memcpy(output.bytes + output.used, at, step);
    output.used += step;
    at += step;
    count -= step;
    if (output.used == kBufferBytes) flush();
  }
}

static void put_number(uint64_t number) {
  put(&number, sizeof number);
}

/* Whether a word points into an object that the file lists. */
static int is_edge(uintptr_t word) {
  if (!GC_is_heap_ptr((void*)word)) return 0;
  void* const base = GC_base((void*)word);
  return base != NULL && GC_is_marked(base);
}

static void put_edges(const unsigned char* object, size_t bytes) {
  for (size_t offset = 0; offset + sizeof(uintptr_t) <= bytes; offset += sizeof(uintptr_t)) {
    uintptr_t word = 0;
    memcpy(&word, object + offset, sizeof word);
    if (!is_edge(word)) continue;
    put_number(offset);
    put_number(word);
  }
  put_number(kEnd);
}

static void put_object(void* object, size_t bytes, void* nothing) {
  (void)nothing;
  if (output.failure != 0) return;
  size_t whole = 0;
  const int kind = GC_get_kind_and_size(object, &whole);
  const int is_atomic = kind == 0 || kind == 3; /* uncollectable */
  ++output.objects;
  put_number((uintptr_t)object);
  put_number(bytes | (is_atomic ? kAtomic : 0));
  if (output.is_full_mode) {
    put(object, bytes);
    return;
  }
  uint64_t first = 0;
  memcpy(&first, object, bytes < sizeof first ? bytes : sizeof first);
  put_number(first);
  if (!is_atomic) put_edges(object, bytes);
}

/* Whether there are no other threads that must be stopped, as in a copy of a process. */
static int is_alone(void) {
  struct {
    uint64_t words[128]; /* struct linux_dirent64: 8 bytes, 8, the length in 2, 1, the name */
  } listing;
  const unsigned char* const entries = (const unsigned char*)&listing;
  int threads = 0;
  const long directory = syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_CLOEXEC, 0);
  if (directory < 0) return 0;
  const long got = syscall(SYS_getdents64, directory, &listing, sizeof listing);
  syscall(SYS_close, directory);
  for (long at = 0; at + 19 < got;) {
    uint16_t length = 0;
    memcpy(&length, entries + at + 16, sizeof length);
    if (length == 0) break;
    threads += entries[at + 19] != '.';
    at += length;
  }
  return threads == 1;
}

long heapattach_dump_to(int descriptor, int mode) {
  const int what = mode & ~HEAPATTACH_NO_COLLECTION;
  if (what != HEAPATTACH_GRAPH && what != HEAPATTACH_FULL) return -EINVAL;
  if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) return -EBUSY;
  output.descriptor = descriptor;
  output.failure = 0;
  output.is_full_mode = what == HEAPATTACH_FULL;
  output.objects = 0;
  output.used = 0;
  if ((mode & HEAPATTACH_NO_COLLECTION) == 0) GC_gcollect();
  const int stops =
      !is_alone() && GC_stop_world_external != NULL && GC_start_world_external != NULL;
  if (stops) GC_stop_world_external();
  put(output.is_full_mode ? "GCFULL\x01" : "GCGRPH\x01", 8);
  GC_enumerate_reachable_objects_inner(put_object, NULL);
  put_number(kEnd);
  flush();
  if (stops) GC_start_world_external();
  const long result = output.failure != 0 ? -(long)output.failure : output.objects;
  __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
  return result;
}

long heapattach_dump(const char* path, int mode) {
  const long descriptor =
      syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) return -(long)errno;
  const long result = heapattach_dump_to((int)descriptor, mode);
  const long closed = syscall(SYS_close, descriptor);
  return result >= 0 && closed < 0 ? -(long)errno : result;
}
