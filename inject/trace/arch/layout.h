#pragma once

#include <stdint.h>

// The data that we share with the blob (recorder.c), which runs in the target. This is also
// compiled as C, so it has plain structs without padding.
//
// In the target, the code comes first; it starts with BlobHead. BlobControl follows it at
// kBlobCodeBytes. The ring can be anywhere: it has RingHead, and then `ring_bytes` of records. The
// records are mapped a second time right after the first mapping, so that no record wraps.
#ifdef __cplusplus
namespace heapattach::trace {
#endif

enum {
#ifdef __x86_64__
  kBlobCodeBytes = 16384,
  kRingHeadBytes = 4096,
  kRecordBytes = 128,
#else  // whole pages, which may have 64 KiB
  kBlobCodeBytes = 65536,
  kRingHeadBytes = 65536,
  kRecordBytes = 192,
#endif
  // The hooks of the collector's functions. First come those for functions with the size as their
  // first argument; from kLeadingHook on, those of them that may end in a jump to another entry;
  // then one for a function with the size as its second argument.
  kLeadingHook = 5,
  kLeadingHooks = 2,
  kSecondHook = 7,
  // The hooks of malloc's functions.
  kMallocHook = 8,
  kCallocHook = 9,
  kReallocHook = 10,
  kAlignedHook = 11,  // aligned_alloc, memalign
  kAlignedHooks = 2,
  kStoringHook = 13,     // posix_memalign, which stores its result
  kWholePagesHook = 14,  // valloc, pvalloc
  kWholePagesHooks = 2,
  kAllocationHooks = 16,
  kCollectorFreeHook = kAllocationHooks,
  kMallocFreeHook = kAllocationHooks + 1,
  kHooks = kAllocationHooks + 2,
  kTrampolineBytes = 64,
  kMostMoved = 16,  // the most bytes of an entry that move to its trampoline
  kSlots = 1024,
  kWays = 8,
  kBuckets = 8192,
  kFilterBytes = 1 << 19,
  kGranule = 32,  // no two allocations of malloc begin in the same aligned 32 bytes
  kHeld = 1 << 17,
  kHeldTries = 32,
  kSpans = 1024,
  kAsked = 64,
  kShortRecordBytes = 64,
  kMarkEnd = 2,  // GC_EVENT_MARK_END
};

// C has no `using`. NOLINTBEGIN(modernize-use-using)

// Read-only in the target, and the same in a forked child.
typedef struct BlobHead {
  char magic[16];
  uint32_t version;
  uint32_t code_bytes;
  uint32_t hook[kHooks];        // offsets of the code to which the entries jump
  uint32_t trampoline[kHooks];  // room for the first instructions of an entry
  uint32_t handler;             // offset of the handler of collection events
  uint32_t counted;             // threads in the code from here on are counted in `inside`
  // The installer fills in the following fields.
  uint64_t base;  // the address of this head in the target
  uint64_t ring;
  uint64_t ring_bytes;
  uint64_t event_variable;  // GC_on_collection_event; 0: deaths are not observed
  uint64_t program_handler;
  uint64_t is_marked;    // GC_is_marked
  uint64_t object_base;  // GC_base
  uint64_t collections;  // GC_gc_no
  uint64_t entry[kHooks];
  uint64_t entry_bytes[kHooks];  // 0: this hook is not used
  // The code of the allocator itself: calls from it are not recorded. A hook of malloc ignores
  // calls from the code of all of malloc's hooks.
  uint64_t inner_begin[kHooks];
  uint64_t inner_end[kHooks];
  uint8_t original[kHooks][kMostMoved];
  uint64_t tool;          // pid of the tracing process, in its own namespace
  uint64_t tool_start;    // in ticks since boot
  uint64_t main_stack;    // the end of the first thread's stack; 0: unknown
  uint64_t clock;         // clock_gettime() of the vdso; 0: use RingHead::time
  uint64_t stack_bottom;  // of GC_stackbottom: the end of the first thread's stack; 0: unknown
  uint64_t led;           // the bits of hooks to whose entries another entry may jump
} BlobHead;

// The bytes that a thread may still allocate before the next sample.
typedef struct BlobSlot {
  uint64_t thread;  // the thread pointer
  int64_t left;
} BlobSlot;

// Memory that was one mapping when the tracer last looked.
typedef struct BlobSpan {
  uint64_t end;
  uint64_t begin;
} BlobSpan;

// The recorder's knowledge about a thread.
typedef struct BlobThread {
  uint64_t thread;  // the thread pointer
  uint64_t list;    // the address of the collector's list with this thread's record
} BlobThread;

// The blob's variables, which are writable and private to the process. In a forked child they are
// all zero, which turns the blob off there.
typedef struct BlobControl {
  volatile uint32_t enabled;
  uint32_t unused;
  uint64_t interval;  // mean bytes between two samples; 1: all
  uint64_t stack_most;
  uint64_t random;
  uint64_t seen_beat;  // the last beat of RingHead
  uint64_t seen_at;    // when that beat was first seen
  uint64_t patience;   // nanoseconds without a new beat after which the blob turns itself off
  uint64_t last_collection;
  uint64_t inside;  // threads that will return to this code, or are in the counted part
  uint64_t unused2[7];
  BlobSlot slots[kSlots];
  // The last call of a leading hook, by thread as in `slots`: its return address XOR the place of
  // that address on the stack. Both are the same in the entry to which the hook's entry jumps.
  uint64_t leading[kSlots];
  uint64_t quantiles[257];  // the exponential distribution, with 24 fractional bits
  // The tracer writes the following while the blob runs.
  uint64_t tid_at;  // the offset of a thread's number from its thread pointer; 0: unknown
  // Offsets in the collector's record of a thread: that of the thread pointer; that of the end of
  // the present stack, in the record or its part, or 0 if unknown; and that of the address of the
  // part, or 0 if the record itself has the end.
  uint64_t record_id_at;
  uint64_t record_end_at;
  uint64_t record_part_at;
  uint64_t first_thread;  // the thread pointer of the first thread; 0: unknown
  uint64_t unused3[2];
  BlobSpan spans[kSpans];      // by a hash of their ends
  BlobThread threads[kSlots];  // by thread, as in `slots`
  uint64_t asked[kAsked];      // ends of stacks without a span, which the tracer looks up
  // Only the blob writes what follows, except for `filter` if every allocation is sampled.
  uint64_t busy[kBuckets / 64];     // which buckets are not empty
  uint64_t live[kBuckets * kWays];  // complements of sampled addresses of the collector
  // For malloc: at index n, the number of sampled allocations in granules whose number is n modulo
  // the size of the table. If every allocation is sampled, all are 1, and `held` is not used.
  uint8_t filter[kFilterBytes];
  uint64_t held[kHeld + kHeldTries];  // complements of sampled addresses, at their hash or after it
} BlobControl;

// The ring's head, in shared memory. Positions only grow.
typedef struct RingHead {
  uint64_t head;  // where the next record is reserved
  uint64_t unused[7];
  uint64_t tail;  // the reader has read up to here
  uint64_t beat;  // grows as long as the reader lives
  uint64_t time;  // when the beat last grew, for a blob that has no clock
  uint64_t unused2[5];
  uint64_t dropped;    // samples for which there was no room
  uint64_t lost_ends;  // deaths of objects for which there was no room
  uint64_t untracked;  // samples for which `live` or `held` had no room
  uint64_t missed;     // collections that the handler did not see
  uint64_t given_up;   // the blob turned itself off because nothing read the ring
  uint64_t unused3[3];
} RingHead;

enum {
  kRecordAllocated = 1,
  kRecordFreed = 2,
  kRecordDead = 3,
  kRecordForgotten = 4,
  kRecordNothing = 5
};

// A record in the ring. Only records of allocations are whole. Those of freed and dead objects, of
// forgotten ones (whose death will not be seen), and of a realloc() that failed (kRecordNothing)
// have only the first kShortRecordBytes.
typedef struct RingRecord {
  uint64_t commit;  // the position | 1 once the record is complete
  uint32_t bytes;   // of the record and the stack after it; a multiple of 64
  uint32_t what;
  uint64_t time;  // CLOCK_MONOTONIC, nanoseconds, at the kernel's last tick
  uint64_t address;
  uint64_t size;
  uint32_t thread;  // the thread's number in the target's view
  uint16_t hook;
  uint16_t is_tracked;  // the object's end will be recorded
  uint32_t collection;
  uint32_t kind;  // the kind of the collector's object, from the function's arguments
  uint32_t stack_bytes;
  uint32_t before;  // the object's first four bytes, before the program wrote to it
  // The caller's registers, as they are after the call.
  uint64_t returns_to, stack_pointer, frame_pointer;
#ifdef __x86_64__
  uint64_t rbx, r12, r13, r14, r15;
#else
  uint64_t x19_to_x28[10];
  uint64_t unused[3];
#endif
} RingRecord;

// NOLINTEND(modernize-use-using)

// The index in BlobControl of the span with this end.
static inline uint64_t span_of(uint64_t end) {
  return (end >> 4) * 0x9E3779B97F4A7C15u >> 54 & (kSpans - 1);
}

#ifdef __cplusplus
static_assert(sizeof(RingHead) <= kRingHeadBytes);
static_assert(sizeof(RingRecord) == kRecordBytes);
}  // namespace heapattach::trace
#endif
