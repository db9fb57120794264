#pragma once

#include <stdint.h>

// The data that we share with the blob (recorder.c), which runs in the target. Also compiled as
// C: plain structs without padding.
//
// In the target, the code comes first; it starts with BlobHead. BlobControl follows it at
// kBlobCodeBytes. The ring can be anywhere: RingHead, then `ring_bytes` of records. The kernel maps
// these a second time right after the first, so that no record wraps.
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
  // The hooks of the collector's functions: those with the size as their first argument, then those
  // of them that may end in a jump to another entry, and one with the size as the second argument.
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
  kMostMoved = 16,  // bytes of an entry that are moved to its trampoline
  kSlots = 1024,
  kWays = 8,
  kBuckets = 8192,
  kFilterBytes = 1 << 19,
  kGranule = 32,  // no two allocations of malloc begin in the same aligned bytes of this number
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
  uint32_t hook[kHooks];        // the code that the entries jump to, as an offset
  uint32_t trampoline[kHooks];  // room for the first instructions of an entry
  uint32_t handler;             // of collection events
  uint32_t counted;             // code from here on runs only while counted in `inside`
  // The installer fills in the following fields.
  uint64_t base;  // of this, in the target
  uint64_t ring;
  uint64_t ring_bytes;
  uint64_t event_variable;  // GC_on_collection_event; 0: deaths are not observed
  uint64_t program_handler;
  uint64_t is_marked;    // GC_is_marked
  uint64_t object_base;  // GC_base
  uint64_t collections;  // GC_gc_no
  uint64_t entry[kHooks];
  uint64_t entry_bytes[kHooks];  // 0: this hook is not used
  // Calls from this code are not counted, because the collector is calling itself. For malloc's
  // hooks, this is the code of all of them.
  uint64_t inner_begin[kHooks];
  uint64_t inner_end[kHooks];
  uint8_t original[kHooks][kMostMoved];
  uint64_t tool;          // pid of the tracing process, in its own namespace
  uint64_t tool_start;    // in ticks since boot
  uint64_t main_stack;    // where the stack of the first thread ends; 0: unknown
  uint64_t clock;         // clock_gettime() of the vdso; 0: use RingHead::time
  uint64_t stack_bottom;  // GC_stackbottom: where the first thread's present stack ends; 0: unknown
  uint64_t led;           // a bit for each hook whose entry another entry may jump to
} BlobHead;

// The bytes that a thread may still allocate before the next sample.
typedef struct BlobSlot {
  uint64_t thread;  // its thread pointer
  int64_t left;
} BlobSlot;

// Memory that was one mapping when we last looked.
typedef struct BlobSpan {
  uint64_t end;
  uint64_t begin;
} BlobSpan;

// The recorder's knowledge about a thread.
typedef struct BlobThread {
  uint64_t thread;  // its thread pointer
  uint64_t list;    // the address of the collector's list that has this thread's record
} BlobThread;

// Writable and private to the process. All zero in a forked child, which turns the blob off there.
typedef struct BlobControl {
  volatile uint32_t enabled;
  uint32_t unused;
  uint64_t interval;  // mean bytes between two samples; 1: all
  uint64_t stack_most;
  uint64_t random;
  uint64_t seen_beat;  // the last beat of RingHead, and when it was first seen
  uint64_t seen_at;
  uint64_t patience;  // nanoseconds without a new beat after which the blob turns itself off
  uint64_t last_collection;
  uint64_t inside;  // threads that will return to this code, or are in the counted part
  uint64_t unused2[7];
  BlobSlot slots[kSlots];
  // The last call of a leading hook, by thread like the slots: its return address XOR the place of
  // that address on the stack. Both are the same in the entry to which the hook's entry jumps.
  uint64_t leading[kSlots];
  uint64_t quantiles[257];  // of the exponential distribution, with 24 fractional bits
  // We write the following while the blob runs.
  uint64_t tid_at;          // offset of a thread's number from its thread pointer; 0: unknown
  uint64_t record_id_at;    // offset of the thread pointer in the collector's record of a thread
  uint64_t record_end_at;   // of the end of its present stack, in the part or record; 0: unknown
  uint64_t record_part_at;  // of the address of the part; 0: the record itself has the end
  uint64_t first_thread;    // the thread pointer of the first thread; 0: unknown
  uint64_t unused3[2];
  BlobSpan spans[kSpans];      // by a hash of their ends
  BlobThread threads[kSlots];  // as the slots
  uint64_t asked[kAsked];      // ends of stacks for which the blob found no span: we look them up
  // The installer does not write what follows.
  uint64_t busy[kBuckets / 64];     // which buckets are not empty
  uint64_t live[kBuckets * kWays];  // complements of sampled addresses of the collector
  // For malloc: the number of sampled allocations whose granule has this number, modulo the size of
  // the table. All 1 if every allocation is sampled: then `held` is not used.
  uint8_t filter[kFilterBytes];
  uint64_t held[kHeld + kHeldTries];  // complements of sampled addresses, at their hash or after it
} BlobControl;

// The ring's head, in shared memory. Positions only grow.
typedef struct RingHead {
  uint64_t head;  // where the next record is reserved
  uint64_t unused[7];
  uint64_t tail;  // the reader has read up to here
  uint64_t beat;  // grows for as long as the reader lives
  uint64_t time;  // when it last grew, for a blob that has no clock
  uint64_t unused2[5];
  uint64_t dropped;    // samples for which there was no room
  uint64_t lost_ends;  // deaths of objects for which there was no room
  uint64_t untracked;  // samples that `live` had no room for
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

// Records of freed, dead or forgotten objects (whose death will not be observed), and of nothing (a
// realloc() that failed), have only the first kShortRecordBytes.
typedef struct RingRecord {
  uint64_t commit;  // the position | 1 once the record is complete
  uint32_t bytes;   // of the record and the stack after it; a multiple of 64
  uint32_t what;
  uint64_t time;  // CLOCK_MONOTONIC, nanoseconds, at the kernel's last tick
  uint64_t address;
  uint64_t size;
  uint32_t thread;  // as the target numbers it
  uint16_t hook;
  uint16_t is_tracked;  // its end will be recorded
  uint32_t collection;
  uint32_t kind;  // of the collector's object: the second argument
  uint32_t stack_bytes;
  uint32_t before;  // what the object began with, before the program had written to it
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
