// The recorder: the code that the tracer puts into its target, to which the traced functions jump.
// It is linked on its own at address 0, refers to nothing outside except the control pages after
// it, and runs at any address. It calls no library, uses no thread-local variable and no vector
// register, and waits for nothing.
//
// The first instructions of a traced function are replaced with a jump to its hook. They move to
// the hook's trampoline, which ends in a jump to the rest of the function. The hooks are in
// arch/entered_*.h.
//
// The recorder makes no system call: at any moment, a thread may put itself or all threads under a
// seccomp filter that kills the process for most calls. Therefore:
//
// - The time is that of the kernel's last tick, which the kernel writes into each process
//   (CLOCK_MONOTONIC_COARSE). The processor's counter cannot be used: strict mode forbids that.
// - A thread's number is read from the thread's own memory, where its C library keeps it.
// - Stacks are copied with instructions, so only as far as they are certainly mapped
//   (end_of_stack).
//
// We rejected copying the stack with a system call (process_vm_readv of the process itself), with
// hooks in prctl() and seccomp() to stop that in time. Programs can install filters without the C
// library, and for all threads at once, while some of these are making that call.
#include <stddef.h>

#include "arch/layout.h"

#define HIDDEN __attribute__((visibility("hidden")))
#define CALLED __attribute__((used, noinline, visibility("hidden")))

extern BlobControl blob_control HIDDEN;
extern const BlobHead blob_head HIDDEN;

enum { kPage = 4096 };

#define FILTER 585408  // offsetof(BlobControl, filter)
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

_Static_assert(offsetof(BlobControl, inside) == 64, "in the assembly of arch/entered_*.h");
_Static_assert(offsetof(BlobControl, slots) == 128, "likewise");
_Static_assert(offsetof(BlobControl, leading) == 128 + 16384, "likewise");
_Static_assert(offsetof(BlobControl, filter) == FILTER, "likewise");
_Static_assert(sizeof(BlobSlot) == 16 && kSlots == 1024 && kTrampolineBytes == 64, "likewise");
_Static_assert(kFilterBytes == 0x80000 && kGranule == 32, "likewise");
_Static_assert(kAllocationHooks == 16 && kHooks == 18, "likewise");
_Static_assert(kLeadingHook == 5 && kLeadingHooks == 2 && kSecondHook == 7, "likewise");
_Static_assert(kMallocHook == 8 && kCallocHook == 9 && kReallocHook == 10, "likewise");
_Static_assert(kAlignedHook == 11 && kStoringHook == 13 && kWholePagesHook == 14, "likewise");
_Static_assert(kCollectorFreeHook == 16 && kMallocFreeHook == 17, "likewise");

#ifdef __x86_64__
#include "arch/entered_x86_64.h"
#else
#include "arch/entered_aarch64.h"
#endif

static const uint64_t kMostStack = (uint64_t)1 << 30;

typedef int (*Clock)(int, uint64_t*);

// Returns the time in nanoseconds. The vdso makes no system call: it reads the coarse clock from
// memory.
static uint64_t now(void) {
  enum { kMonotonicCoarse = 6 };
  uint64_t time[2] = {0, 0};
  if (blob_head.clock == 0) {
    return __atomic_load_n(&((RingHead*)blob_head.ring)->time, __ATOMIC_RELAXED);
  }
  ((Clock)blob_head.clock)(kMonotonicCoarse, time);
  return time[0] * 1000000000 + time[1];
}

// Draws the number of bytes up to the next sample. Its distribution is exponential with the mean
// `interval`, from a table of 256 quantiles. Beyond the last quantile, the rest is drawn again,
// which is right because the distribution has no memory.
static int64_t draw(BlobControl* c, uint64_t* random) {
  uint64_t sum = 0;
  for (;;) {
    uint64_t x = *random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *random = x;
    const unsigned i = (unsigned)(x >> 56);
    const uint64_t fraction = (uint16_t)(x >> 24);
    if (i < 255) {
      sum += c->quantiles[i] + ((c->quantiles[i + 1] - c->quantiles[i]) * fraction >> 16);
      break;
    }
    sum += c->quantiles[255];
    if (c->quantiles[255] == 0) break;  // a forked child
  }
  const uint64_t bytes = (uint64_t)(((unsigned __int128)sum * c->interval) >> 24);
  return bytes < 1 ? 1 : (int64_t)bytes;
}

// Whether a leading hook has already seen this allocation, because its entry has jumped to this
// one. If that hook takes a sample, it calls its entry from this code; if not, the return address
// and its place are compared. Not for an entry to which no other entry jumps: a later call may have
// the same return address at the same place.
static int is_led_here(BlobControl* c, const uint64_t* frame, uint32_t hook) {
  const uint64_t caller = frame[kReturn];
  if (caller - blob_head.base < blob_head.code_bytes) return 1;
  if ((blob_head.led >> hook & 1) == 0) return 0;
  uint64_t* const last = &c->leading[thread_pointer() >> 12 & (kSlots - 1)];
  if (*last != leading_mark(frame)) return 0;
  *last = 0;
  return 1;
}

// Whether a sample is due. Called when the thread's count has fallen below 0, or when the slot was
// not the thread's: it is a new thread, or another thread has the same slot. A new draw then adds
// no bias, again because the distribution has no memory.
CALLED int blob_is_due(uint64_t size, const uint64_t* frame, uint32_t hook) {
  BlobControl* const c = &blob_control;
  const uint64_t thread = thread_pointer();
  BlobSlot* const slot = &c->slots[thread >> 12 & (kSlots - 1)];
  const int is_fresh = slot->thread != thread;
  slot->thread = thread;
  if (c->interval <= 1) {
    slot->left = -1;
    return c->interval == 1 && !is_led_here(c, frame, hook);
  }
  uint64_t random = c->random ^ thread * 0x9E3779B97F4A7C15u;
  if (random == 0) random = 1;
  if (is_fresh) slot->left = draw(c, &random) - (int64_t)size;
  const int is_due = slot->left < 0;
  if (is_due) slot->left = draw(c, &random);
  c->random = random ^ thread * 0x9E3779B97F4A7C15u;
  return is_due && !is_led_here(c, frame, hook);
}

// Turns the recorder off if the reader has not responded for a while.
static void check_reader(BlobControl* c, RingHead* ring, uint64_t time) {
  const uint64_t beat = __atomic_load_n(&ring->beat, __ATOMIC_RELAXED);
  if (beat != c->seen_beat || c->seen_at == 0) {
    c->seen_beat = beat;
    c->seen_at = time;
  } else if (time - c->seen_at > c->patience && time > c->seen_at) {
    c->enabled = 0;
    __atomic_store_n(&ring->given_up, 1, __ATOMIC_RELAXED);
  }
}

// Reserves room for a record in the ring. Returns null if there is none.
static RingRecord* reserve(RingHead* ring, uint64_t bytes, uint64_t* at) {
  uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
  do {
    const uint64_t used = head + bytes - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
    if ((int64_t)used > (int64_t)blob_head.ring_bytes) return 0;
  } while (!__atomic_compare_exchange_n(&ring->head, &head, head + bytes, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED));
  *at = head;
  RingRecord* const record =
      (RingRecord*)((char*)ring + kRingHeadBytes + (head & (blob_head.ring_bytes - 1)));
  record->bytes = (uint32_t)bytes;
  return record;
}

// The thread's number, which its C library keeps; 0 if it cannot be read safely. The offset was
// learned from other threads, and this thread's memory may have another layout.
static uint32_t thread_number(const BlobControl* c) {
  const uint64_t thread = thread_pointer();
  const uint64_t at = c->tid_at;
  if (at == 0 || !can_read_number(c, thread, at)) return 0;
  return *(const volatile uint32_t*)(thread + at);
}

// Whether all memory from `from` to `end` was one mapping when the tracer last looked. If that is
// unknown, asks the tracer to look.
static int is_span(BlobControl* c, uint64_t from, uint64_t end) {
  const uint64_t place = span_of(end);
  // The end is 0 while the span changes. Acquire loads are not reordered on any processor.
  const BlobSpan* const span = &c->spans[place];
  const uint64_t known = __atomic_load_n(&span->end, __ATOMIC_ACQUIRE);
  const uint64_t begin = __atomic_load_n(&span->begin, __ATOMIC_ACQUIRE);
  const int is_known = known == end && __atomic_load_n(&span->end, __ATOMIC_RELAXED) == end;
  if (is_known && from >= begin) return 1;
  // The first thread's stack grows, so it may begin lower now.
  const int may_have_grown = end == blob_head.main_stack && begin - from < kMostStack;
  if (!is_known || may_have_grown) {
    __atomic_store_n(&c->asked[place & (kAsked - 1)], end, __ATOMIC_RELAXED);
  }
  return 0;
}

// The end of this thread's present stack in the collector's record of it; 0 if unknown. Reading a
// list of records is safe: the collector takes a record out of its list before it frees it.
static uint64_t recorded_end(const BlobControl* c) {
  enum { kMostRecords = 16 };
  const uint64_t thread = thread_pointer();
  const volatile BlobThread* const known = &c->threads[thread >> 12 & (kSlots - 1)];
  if (c->record_end_at == 0 || known->thread != thread) return 0;
  const uint64_t list = known->list;
  if (list == 0 || known->thread != thread) return 0;
  const volatile uint64_t* record = *(const volatile uint64_t* const volatile*)list;
  for (int i = 0; i < kMostRecords && record != 0; ++i) {
    if (record[c->record_id_at / 8] == thread) {
      if (c->record_part_at != 0) record = (const volatile uint64_t*)record[c->record_part_at / 8];
      return record == 0 ? 0 : record[c->record_end_at / 8];
    }
    record = (const volatile uint64_t*)record[0];
  }
  return 0;
}

// The address up to which the stack at `from` can be read. The page of the return address can
// always be read, because the call has just written there. More is read only if both of these are
// true:
//
// 1. The program's own data says at this moment that this thread's stack ends at that address. For
//    the first thread, that is the start of its stack; for another thread, its thread pointer,
//    which is above its stack; for a fiber, the end that the program tells the collector at each
//    switch, and up to which the collector itself would read.
// 2. All memory from `from` to that address was one mapping when the tracer last looked, and, below
// a
//    thread pointer, is that thread's stack.
//
// The first condition alone could give the end of another stack, with a hole in between, if `from`
// is on the stack of a coroutine that the collector does not know, or on a signal handler's own
// stack. The second condition alone could be outdated: stacks are unmapped, and others mapped in
// their place. But a stack on which a thread runs stays mapped up to its end. So only the nearest
// end counts: stacks that end further up are not the stack of `from`, and the memory in between may
// be unmapped at any moment. For the same reason, the first thread's thread pointer is not used: it
// is not above its stack.
static uint64_t end_of_stack(BlobControl* c, uint64_t from) {
  const uint64_t thread = thread_pointer();
  uint64_t ends[3] = {recorded_end(c), thread, 0};
  if (thread == c->first_thread) {
    ends[1] = blob_head.main_stack;
    if (blob_head.stack_bottom != 0) ends[2] = *(const volatile uint64_t*)blob_head.stack_bottom;
  }
  uint64_t nearest = 0;
  for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; ++i) {
    if (ends[i] <= from || ends[i] - from > kMostStack) continue;
    if (nearest == 0 || ends[i] < nearest) nearest = ends[i];
  }
  if (nearest != 0 && is_span(c, from, nearest)) return nearest;
  return ((from - 8) | (kPage - 1)) + 1;
}

// The number of bytes to copy from `from` upwards: whole words, and nothing past the stack's end.
// So a short stack takes less room in the ring and less work in the reader.
static uint64_t stack_bytes(BlobControl* c, uint64_t from, uint64_t most) {
  const uint64_t bytes = end_of_stack(c, from) - from;
  return (bytes < most ? bytes : most) & ~(uint64_t)7;
}

static uint64_t bucket_of(uint64_t address) {
  return (address * 0x9E3779B97F4A7C15u) >> 51 & (kBuckets - 1);
}

// Remembers a sampled object, hidden from the collector. The entry is set before the bit; between
// the two steps, the object lives because it is on this thread's stack.
static int track(BlobControl* c, uint64_t address) {
  const uint64_t bucket = bucket_of(address);
  uint64_t* const ways = &c->live[bucket * kWays];
  for (int i = 0; i < kWays; ++i) {
    uint64_t none = 0;
    if (__atomic_compare_exchange_n(&ways[i], &none, ~address, 0, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      __atomic_fetch_or(&c->busy[bucket / 64], (uint64_t)1 << bucket % 64, __ATOMIC_RELAXED);
      return 1;
    }
  }
  return 0;
}

// Begins the record of an object's end, which gets its place in the ring now; commit_end()
// completes it. Returns null if there is no room, and counts that.
static RingRecord* begin_end(uint64_t address) {
  RingHead* const ring = (RingHead*)blob_head.ring;
  uint64_t at = 0;
  RingRecord* const record = reserve(ring, kShortRecordBytes, &at);
  if (record == 0) {
    __atomic_fetch_add(&ring->lost_ends, 1, __ATOMIC_RELAXED);
    return 0;
  }
  record->address = bare(address);
  __atomic_store_n(&record->commit, at, __ATOMIC_RELAXED);
  return record;
}

static void commit_end(const BlobControl* c, RingRecord* record, uint32_t what, uint64_t time) {
  record->what = what;
  record->time = time;
  record->collection = (uint32_t)c->last_collection;
  __atomic_store_n(&record->commit, record->commit | 1, __ATOMIC_RELEASE);
}

static void end_of(const BlobControl* c, uint32_t what, uint64_t address, uint64_t time) {
  RingRecord* const record = begin_end(address);
  if (record != 0) commit_end(c, record, what, time);
}

static uint64_t filter_of(uint64_t address) {
  return address / kGranule & (kFilterBytes - 1);
}

// The first place in `held` at which a sampled allocation of malloc may be.
static uint64_t* first_held(BlobControl* c, uint64_t address) {
  return &c->held[(address / kGranule * 0x9E3779B97F4A7C15u) >> 47 & (kHeld - 1)];
}

// Remembers a sampled allocation of malloc. If the memory was given back unseen, it may still have
// an entry.
static int hold(BlobControl* c, uint64_t address) {
  uint64_t* const places = first_held(c, address);
  for (int i = 0; i < kHeldTries; ++i) {
    if (__atomic_load_n(&places[i], __ATOMIC_RELAXED) == ~address) return 1;
  }
  for (int i = 0; i < kHeldTries; ++i) {
    uint64_t none = 0;
    if (__atomic_compare_exchange_n(&places[i], &none, ~address, 0, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      __atomic_fetch_add(&c->filter[filter_of(address)], 1, __ATOMIC_RELAXED);
      return 1;
    }
  }
  return 0;
}

// Forgets a sampled allocation of malloc. Returns whether it was remembered.
static int let_go(BlobControl* c, uint64_t address) {
  uint64_t* const places = first_held(c, address);
  for (int i = 0; i < kHeldTries; ++i) {
    uint64_t hidden = ~address;
    if (__atomic_load_n(&places[i], __ATOMIC_RELAXED) != hidden) continue;
    if (!__atomic_compare_exchange_n(&places[i], &hidden, 0, 0, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED)) {
      continue;
    }
    __atomic_fetch_sub(&c->filter[filter_of(address)], 1, __ATOMIC_RELAXED);
    return 1;
  }
  return 0;
}

// Whether an allocation of malloc that is about to end is a sample.
static int is_sample(BlobControl* c, uint64_t address) {
  if (address == 0 || c->enabled == 0) return 0;
  return c->interval == 1 || let_go(c, address);
}

// Called by free() before the memory can be used again.
CALLED void blob_release(uint64_t address) {
  BlobControl* const c = &blob_control;
  if (is_sample(c, address)) end_of(c, kRecordFreed, address, now());
}

enum { kWithoutRecord = 1 };

// Called by realloc() before the old memory can be used again. The record of its end is begun now,
// so that it comes before the record of the next allocation there. Returns null if the memory is
// not a sample.
CALLED RingRecord* blob_begin_end(uint64_t address) {
  if (!is_sample(&blob_control, address)) return 0;
  RingRecord* const record = begin_end(address);
  return record == 0 ? (RingRecord*)kWithoutRecord : record;
}

// The address that an allocating function has returned or stored; 0 if it failed.
static uint64_t result_of(const uint64_t* frame, uint32_t hook) {
  if (hook != kStoringHook) return frame[kResult];
  return (uint32_t)frame[kResult] == 0 ? *(const volatile uint64_t*)frame[kFirst] : 0;
}

// Whether the allocator itself has made the call: malloc's functions call each other.
static int is_inner(uint64_t caller, uint32_t hook) {
  const uint32_t begin = hook >= kMallocHook ? kMallocHook : hook;
  const uint32_t end = hook >= kMallocHook ? kAllocationHooks : hook + 1;
  for (uint32_t i = begin; i < end; ++i) {
    const uint64_t from = blob_head.inner_begin[i];
    if (caller - from < blob_head.inner_end[i] - from) return 1;
  }
  return 0;
}

CALLED void blob_sample(const uint64_t* frame, uint64_t size, uint32_t hook) {
  BlobControl* const c = &blob_control;
  const uint64_t caller = frame[kReturn];
  const uint64_t result = result_of(frame, hook);
  if (result == 0 || c->enabled == 0 || is_inner(caller, hook)) return;
  RingHead* const ring = (RingHead*)blob_head.ring;
  const uint64_t time = now();
  check_reader(c, ring, time);
  const uint64_t stack = stack_of(frame);
  const uint64_t wanted = stack_bytes(c, stack, c->stack_most);
  const uint64_t bytes = (kRecordBytes + wanted + 63) & ~(uint64_t)63;
  uint64_t at = 0;
  RingRecord* const record = reserve(ring, bytes, &at);
  if (record == 0) {
    __atomic_fetch_add(&ring->dropped, 1, __ATOMIC_RELAXED);
    return;
  }
  record->what = kRecordAllocated;
  record->time = time;
  record->address = bare(result);
  record->size = size;
  record->thread = thread_number(c);
  record->hook = (uint16_t)hook;
  record->collection = blob_head.collections ? *(const volatile uint32_t*)blob_head.collections : 0;
  record->before = *(const volatile uint32_t*)result;
  record->kind = hook >= kMallocHook ? 0 : (uint32_t)frame[hook == kSecondHook ? kFirst : kSecond];
  record->returns_to = caller;
  record->stack_pointer = stack;
  keep_registers(record, frame);
  record->stack_bytes = (uint32_t)wanted;
  copy_words(record + 1, stack, wanted);
  // If every allocation is recorded, free() and realloc() record the end of each without an entry.
  record->is_tracked = (uint16_t)(hook >= kMallocHook && c->interval == 1);
  const int is_followed = hook >= kMallocHook ? c->interval != 1 : blob_head.event_variable != 0;
  if (is_followed) {
    record->is_tracked = (uint16_t)(hook >= kMallocHook ? hold(c, result) : track(c, result));
    if (!record->is_tracked) __atomic_fetch_add(&ring->untracked, 1, __ATOMIC_RELAXED);
  }
  if (c->interval == 0) return;  // a signal handler has forked, and this is the child
  __atomic_store_n(&record->commit, at | 1, __ATOMIC_RELEASE);
}

// Called after a realloc() that may have ended a sample, whose record was begun, or may begin one.
CALLED void blob_resized(const uint64_t* frame, uint64_t size, RingRecord* ended, uint32_t is_due) {
  BlobControl* const c = &blob_control;
  const int has_failed = frame[kResult] == 0 && size != 0;
  if (c->interval == 0) return;  // a signal handler has forked, and this is the child
  if (ended != 0 && has_failed && c->interval != 1) hold(c, frame[kFirst]);
  if (ended != 0 && ended != (RingRecord*)kWithoutRecord) {
    commit_end(c, ended, has_failed ? kRecordNothing : kRecordFreed, now());
  }
  if (is_due) blob_sample(frame, size, kReallocHook);
}

CALLED void blob_free(uint64_t address) {
  BlobControl* const c = &blob_control;
  if (address == 0) return;
  uint64_t* const ways = &c->live[bucket_of(address) * kWays];
  for (int i = 0; i < kWays; ++i) {
    uint64_t hidden = ~address;
    if (__atomic_load_n(&ways[i], __ATOMIC_RELAXED) != hidden) continue;
    if (!__atomic_compare_exchange_n(&ways[i], &hidden, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      continue;
    }
    end_of(c, kRecordFreed, address, now());
    return;
  }
}

typedef int (*IsMarked)(const void*);
typedef void* (*ObjectBase)(void*);
typedef void (*Handler)(int);

// Drops the sampled objects that the collection has not marked. All other threads are stopped and
// may be anywhere in this code, so this waits for none of them. If a collection was missed, all
// objects are forgotten: one whose block is gone has no header, which the collector would need.
static void drop_dead(BlobControl* c) {
  const uint64_t collection = *(const volatile uint32_t*)blob_head.collections;
  const int is_next =
      c->last_collection == 0 || (uint32_t)(c->last_collection + 1) == (uint32_t)collection;
  c->last_collection = collection;
  if (!is_next) __atomic_fetch_add(&((RingHead*)blob_head.ring)->missed, 1, __ATOMIC_RELAXED);
  const uint64_t time = now();
  for (uint64_t word = 0; word < kBuckets / 64; ++word) {
    for (uint64_t bits = c->busy[word]; bits != 0; bits &= bits - 1) {
      const uint64_t bucket = word * 64 + (uint64_t)__builtin_ctzll(bits);
      uint64_t left = 0;
      for (int i = 0; i < kWays; ++i) {
        uint64_t* const way = &c->live[bucket * kWays + (uint64_t)i];
        if (*way == 0) continue;
        void* const object = (void*)~*way;
        const int is_alive = is_next && ((ObjectBase)blob_head.object_base)(object) == object &&
                             ((IsMarked)blob_head.is_marked)(object) != 0;
        if (is_alive) {
          ++left;
          continue;
        }
        *way = 0;
        end_of(c, is_next ? kRecordDead : kRecordForgotten, (uint64_t)object, time);
      }
      if (left == 0) c->busy[word] &= ~((uint64_t)1 << bucket % 64);
    }
  }
}

CALLED void blob_event(int event) {
  BlobControl* const c = &blob_control;
  if (event == kMarkEnd && c->enabled != 0) drop_dead(c);
  if (blob_head.program_handler != 0) ((Handler)blob_head.program_handler)(event);
}
