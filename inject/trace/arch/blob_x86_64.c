// The code that the tracer puts into its target: what the entries of the collector jump to. It is
// linked on its own at address 0, refers to nothing outside but the control pages after it, and
// runs anywhere. It calls no library, uses no thread-local variable and no vector register, and
// waits for nothing.
//
// An entry's first instructions are replaced with a jump to its hook; they are in the hook's
// trampoline, which ends in a jump to the rest of the function.
//
// It makes no system call: at any moment, a thread may put itself or all threads under a seccomp
// filter that kills the process for most calls. Therefore:
//
// - The time is that of the kernel's last tick, which the kernel writes into each process
//   (CLOCK_MONOTONIC_COARSE). The processor's counter cannot be used: strict mode forbids that.
// - A thread's number is read from where its C library keeps it, in the thread's own memory.
// - Stacks are copied with instructions, so only as far as they are certainly mapped
//   (end_of_stack).
//
// Rejected: copying the stack with a system call (process_vm_readv of ourselves), with hooks in
// prctl() and seccomp() to stop that in time. Programs can install filters without the C library,
// and for all threads at once, some of which may be making that call at the moment.
#include <stddef.h>

#include "layout.h"

#define HIDDEN __attribute__((visibility("hidden")))
#define CALLED __attribute__((used, noinline, visibility("hidden")))

extern BlobControl blob_control HIDDEN;
extern const BlobHead blob_head HIDDEN;

_Static_assert(offsetof(BlobControl, inside) == 64, "in the assembly below");
_Static_assert(offsetof(BlobControl, slots) == 128, "in the assembly below");
_Static_assert(offsetof(BlobControl, leading) == 128 + 16384, "in the assembly below");
_Static_assert(sizeof(BlobSlot) == 16 && kSlots == 1024 && kTrampolineBytes == 64, "likewise");
_Static_assert(kAllocationHooks == 8 && kHooks == 9, "likewise");
_Static_assert(kLeadingHook == 5 && kLeadingHooks == 2, "likewise");

// The hook of an allocation: GC_malloc_kind(size, kind) or a similar function. `\size` is the
// register that holds the size. Nothing is on the stack on the usual path. On the other one, the
// frame is, from the top: the result, r15 r14 r13 r12 rbp rbx, r9 r8 rcx rdx rsi rdi, the return
// address. The real function is called before the sample is taken, so that a finalizer that runs in
// it delays nothing.
__asm__(
    "  .section .blob, \"ax\", @progbits\n"
    "  .globl blob_head\n"
    "  .hidden blob_head\n"
    "blob_head:\n"
    "  .ascii \"heapattach-trace\"\n"
    "  .long 5, blob_end - blob_head\n"
    "  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8\n"
    "  .long hook_\\n - blob_head\n"
    "  .endr\n"
    "  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8\n"
    "  .long trampoline_\\n - blob_head\n"
    "  .endr\n"
    "  .long handler - blob_head, counted - blob_head\n"
    "  .fill 1020 - (. - blob_head), 1, 0\n"
    "  .macro trampoline n\n"
    "trampoline_\\n: .fill 64, 1, 0xcc\n"
    "  .endm\n"
    "  .macro allocation n, size, leads=0\n"
    "  .balign 64\n"
    "hook_\\n:\n"
    "  cmpl $0, blob_control(%rip)\n"
    "  je trampoline_\\n\n"
    "  mov %fs:0, %r11\n"
    "  mov %r11d, %eax\n"
    "  shr $12, %eax\n"
    "  and $1023, %eax\n"
    "  shl $4, %eax\n"
    "  lea blob_control+128(%rip), %r10\n"
    "  .if \\leads\n"
    "  mov (%rsp), %r11\n"
    "  xor %rsp, %r11\n"
    "  shr $1, %eax\n"
    "  mov %r11, 16384(%r10,%rax)\n"
    "  shl $1, %eax\n"
    "  mov %fs:0, %r11\n"
    "  .endif\n"
    "  cmp %r11, (%r10,%rax)\n"
    "  jne slow_\\n\n"
    "  sub \\size, 8(%r10,%rax)\n"
    "  js slow_\\n\n"
    "  trampoline \\n\n"
    "slow_\\n:\n"
    "  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n  push %r8\n  push %r9\n"
    "  push %rbx\n  push %rbp\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
    "  sub $8, %rsp\n"
    "  lock incq blob_control+64(%rip)\n"
    "  mov \\size, %rdi\n"
    "  mov %rsp, %rsi\n"
    "  mov $\\n, %edx\n"
    "  call blob_is_due\n"
    "  mov 96(%rsp), %rdi\n  mov 88(%rsp), %rsi\n  mov 80(%rsp), %rdx\n"
    "  mov 72(%rsp), %rcx\n  mov 64(%rsp), %r8\n  mov 56(%rsp), %r9\n"
    "  test %eax, %eax\n"
    "  jz 1f\n"
    "  mov \\size, %rbx\n"
    "  call trampoline_\\n\n"
    "  mov %rax, (%rsp)\n"
    "  mov %rsp, %rdi\n"
    "  mov %rbx, %rsi\n"
    "  mov $\\n, %edx\n"
    "  call blob_sample\n"
    "  mov 48(%rsp), %rbx\n"
    "  mov (%rsp), %rax\n"
    "  add $104, %rsp\n"
    "  lock decq blob_control+64(%rip)\n"
    "  ret\n"
    "1:\n"
    "  add $104, %rsp\n"
    "  lock decq blob_control+64(%rip)\n"
    "  jmp trampoline_\\n\n"
    "  .endm\n"
    "  allocation 0, %rdi\n  allocation 1, %rdi\n  allocation 2, %rdi\n  allocation 3, %rdi\n"
    "  allocation 4, %rdi\n  allocation 5, %rdi, 1\n  allocation 6, %rdi, 1\n  allocation 7, %rsi\n"
    "  .balign 64\n"
    "hook_8:\n"
    "  cmpl $0, blob_control(%rip)\n"
    "  je trampoline_8\n"
    "  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n  push %r8\n  push %r9\n"
    "  sub $8, %rsp\n"
    "  lock incq blob_control+64(%rip)\n"
    "  call blob_free\n"
    "  lock decq blob_control+64(%rip)\n"
    "  add $8, %rsp\n"
    "  pop %r9\n  pop %r8\n  pop %rcx\n  pop %rdx\n  pop %rsi\n  pop %rdi\n"
    "  trampoline 8\n"
    "  .balign 64\n"
    "handler:\n"
    "  lock incq blob_control+64(%rip)\n"
    "  sub $8, %rsp\n"
    "  call blob_event\n"
    "  add $8, %rsp\n"
    "  lock decq blob_control+64(%rip)\n"
    "  ret\n"
    "counted:\n"
    "  .text\n");

enum { kPage = 4096 };
static const uint64_t kMostStack = (uint64_t)1 << 30;

// The layout of the sample's frame.
enum { kResult, kR15, kR14, kR13, kR12, kRbp, kRbx, kR9, kR8, kRcx, kRdx, kRsi, kRdi, kReturn };

typedef int (*Clock)(int, uint64_t*);

// The vdso makes no system call either: it reads the coarse clock from memory.
static uint64_t now(void) {
  enum { kMonotonicCoarse = 6 };
  uint64_t time[2] = {0, 0};
  if (blob_head.clock == 0) {
    return __atomic_load_n(&((RingHead*)blob_head.ring)->time, __ATOMIC_RELAXED);
  }
  ((Clock)blob_head.clock)(kMonotonicCoarse, time);
  return time[0] * 1000000000 + time[1];
}

static uint64_t thread_pointer(void) {
  uint64_t value;
  __asm__("mov %%fs:0, %0" : "=r"(value));
  return value;
}

// The bytes up to the next sample: exponential with the mean `interval`, from a table of 256
// quantiles. Beyond the last one it is drawn again, because it has no memory.
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

// Whether a leading hook has already seen this allocation because its entry has jumped to this one,
// with a sample (whose entry is called from here) or without. An entry to which no other jumps is
// not compared: a later call may have the same return address at the same place.
static int is_led_here(BlobControl* c, const uint64_t* frame, uint32_t hook) {
  const uint64_t caller = frame[kReturn];
  if (caller - blob_head.base < blob_head.code_bytes) return 1;
  if ((blob_head.led >> hook & 1) == 0) return 0;
  uint64_t* const last = &c->leading[thread_pointer() >> 12 & (kSlots - 1)];
  if (*last != (caller ^ (uint64_t)(frame + kReturn))) return 0;
  *last = 0;
  return 1;
}

// Whether a sample is due, after the thread's counter fell below 0, or its slot was not its own: it
// is new, or shares the slot with another one. This adds no bias, again because the gaps have no
// memory.
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

// Turns everything off if the reader has not responded for a while.
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

// Room for a record, or null.
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

// The thread's number, as its C library keeps it; 0 if it cannot be read safely. The offset was
// learned from other threads, and this thread's memory may have another layout. So the number must
// be in the page that the thread pointer points into, or the memory there must point to itself, as
// it does in glibc.
static uint32_t thread_number(const BlobControl* c) {
  const uint64_t thread = thread_pointer();
  const uint64_t in_page = thread & (kPage - 1);
  const uint64_t at = c->tid_at;
  if (at == 0 || in_page > kPage - 24) return 0;
  const int is_mapped = in_page + at + 4 <= kPage || *(const uint64_t*)(thread + 16) == thread;
  return is_mapped ? *(const volatile uint32_t*)(thread + at) : 0;
}

// Whether all memory from `from` to `end` was one mapping at the last look from outside. If that is
// unknown, this asks for a look.
static int is_span(BlobControl* c, uint64_t from, uint64_t end) {
  const uint64_t place = span_of(end);
  const volatile BlobSpan* const span = &c->spans[place];
  const uint64_t known = span->end;
  const uint64_t begin = span->begin;
  const int is_known = known == end && span->end == end;
  if (is_known && from >= begin) return 1;
  // The first thread's stack grows.
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

// The address up to which the stack at `from` can be read. The page of the return address always
// can, because the call has just written there. More is read only if both of these are true:
//
// 1. This thread's stack ends at that address, by the program's own data at this moment: the start
//    of the first thread's stack, another thread's thread pointer, which is above its stack, or,
//    for fibers, the end that the collector is told at each switch and would itself read up to.
// 2. All memory from `from` to that address was one mapping when we last looked from outside, and,
//    below a thread pointer, is that thread's stack.
//
// The first alone could be the end of another stack, with a hole in between, if `from` is on the
// stack of a coroutine that the collector does not know, or on a signal handler's own stack. The
// second alone could be outdated: stacks are unmapped, and others mapped in their place. But a
// stack on which a thread runs stays mapped up to its end. So only the nearest end counts: `from`
// is on another stack than those further up, and what lies in between may be unmapped at any
// moment. For the same reason, the first thread's thread pointer is not used: it is not above its
// stack.
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

// How many bytes to copy from `from` upwards: whole words, and nothing past the stack's end. A
// short stack then also takes less room in the ring and less work in the reader.
static uint64_t stack_bytes(BlobControl* c, uint64_t from, uint64_t most) {
  const uint64_t bytes = end_of_stack(c, from) - from;
  return (bytes < most ? bytes : most) & ~(uint64_t)7;
}

static void copy_words(void* to, uint64_t from, uint64_t bytes) {
  uint64_t words = bytes / 8;
  __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
}

static uint64_t bucket_of(uint64_t address) {
  return (address * 0x9E3779B97F4A7C15u) >> 51 & (kBuckets - 1);
}

// Remembers a sampled object, hidden from the collector. The entry comes before the bit: between
// the two, the object is on this thread's stack.
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

static void end_of(BlobControl* c, uint32_t what, uint64_t address, uint64_t time) {
  RingHead* const ring = (RingHead*)blob_head.ring;
  uint64_t at = 0;
  RingRecord* const record = reserve(ring, kShortRecordBytes, &at);
  if (record == 0) {
    __atomic_fetch_add(&ring->lost_ends, 1, __ATOMIC_RELAXED);
    return;
  }
  record->what = what;
  record->time = time;
  record->address = address;
  record->collection = (uint32_t)c->last_collection;
  __atomic_store_n(&record->commit, at | 1, __ATOMIC_RELEASE);
}

CALLED void blob_sample(const uint64_t* frame, uint64_t size, uint32_t hook) {
  BlobControl* const c = &blob_control;
  const uint64_t caller = frame[kReturn];
  const int is_inner = caller - blob_head.inner_begin[hook] <
                       blob_head.inner_end[hook] - blob_head.inner_begin[hook];
  if (frame[kResult] == 0 || c->enabled == 0 || is_inner) return;
  RingHead* const ring = (RingHead*)blob_head.ring;
  const uint64_t time = now();
  check_reader(c, ring, time);
  const uint64_t stack = (uint64_t)(frame + kReturn + 1);
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
  record->address = frame[kResult];
  record->size = size;
  record->thread = thread_number(c);
  record->hook = (uint16_t)hook;
  record->collection = blob_head.collections ? *(const volatile uint32_t*)blob_head.collections : 0;
  record->before = *(const volatile uint32_t*)frame[kResult];
  record->kind = (uint32_t)frame[hook == kAllocationHooks - 1 ? kRdi : kRsi];
  record->rip = caller;
  record->rsp = stack;
  record->rbp = frame[kRbp];
  record->rbx = frame[kRbx];
  record->r12 = frame[kR12];
  record->r13 = frame[kR13];
  record->r14 = frame[kR14];
  record->r15 = frame[kR15];
  record->stack_bytes = (uint32_t)wanted;
  copy_words(record + 1, stack, wanted);
  record->is_tracked = 0;
  if (blob_head.event_variable != 0) {
    record->is_tracked = (uint16_t)track(c, frame[kResult]);
    if (!record->is_tracked) __atomic_fetch_add(&ring->untracked, 1, __ATOMIC_RELAXED);
  }
  if (c->interval == 0) return;  // a signal handler has forked meanwhile, and this is the child
  __atomic_store_n(&record->commit, at | 1, __ATOMIC_RELEASE);
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

// Drops the sampled objects that the collection has not marked. The world is stopped; other threads
// may be anywhere in this code, so it waits for none of them. An object whose block is gone would
// have no header, so if a collection was missed, all are forgotten.
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
