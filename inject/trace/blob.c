// The code that the tracer puts into its target: what the entries of the collector jump to. It is
// linked on its own at address 0, refers to nothing outside but the control pages after it, and
// runs anywhere. It calls no library, uses no thread-local variable and no vector register, and
// waits for nothing.
//
// An entry's first instructions are replaced with a jump to its hook; they are in the hook's
// trampoline, which ends in a jump to the rest of the function.
//
// Rejected: copying the stack with instructions. Nothing in the target knows where a thread's stack
// ends, and the page after it may not be mapped. A system call that reads our own memory fails
// instead.
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/uio.h>

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
    "  .long 4, blob_end - blob_head\n"
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

// The layout of the sample's frame.
enum { kResult, kR15, kR14, kR13, kR12, kRbp, kRbx, kR9, kR8, kRcx, kRdx, kRsi, kRdi, kReturn };

static inline __attribute__((always_inline)) long call6(
    long number, long a, long b, long c, long d, long e, long f) {
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "+a"(number)
                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return number;
}

static uint64_t now(void) {
  uint64_t time[2] = {0, 0};
  call6(SYS_clock_gettime, 1, (long)time, 0, 0, 0, 0);
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

// Whether a leading hook has seen this allocation, and its entry has jumped to this one: either
// for a sample, which calls the entry from here, or for none. Entries to which none jumps may be
// reached with the same return address at the same place later, so they are not compared.
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

// Where the end of the stack is remembered that `at` is on.
static uint64_t* end_for(BlobControl* c, uint64_t at) {
  return &c->ends[(at >> 14) * 0x9E3779B97F4A7C15u >> 56 & (kEnds - 1)];
}

// How many bytes to copy from `from` upwards: at most `most`, and not more than the stack has. What
// is short costs little: the copy, the room in the ring, and the work of the reader. A thread's
// stack ends below what its thread pointer points to, that of the first one where the kernel began
// it, and any other one where the last copy from it ended; one byte more shows whether this is
// still so.
static uint64_t stack_bytes(BlobControl* c, uint64_t from, uint64_t most) {
  uint64_t bytes = most;
  const uint64_t to_thread = thread_pointer() - from;
  if (to_thread < bytes) bytes = to_thread;
  const uint64_t to_main = blob_head.main_stack - from;
  if (to_main < bytes) bytes = to_main;
  const uint64_t to_end = *end_for(c, from) - from;
  if (to_end < bytes) bytes = to_end + 1;
  return bytes;
}

// Remembers where a copy ended, or that the stack goes on.
static void learn_end(BlobControl* c, uint64_t from, uint64_t wanted, uint64_t got) {
  uint64_t* const end = end_for(c, from);
  if (got < wanted) {
    *end = from + got;
  } else if (*end - from < got) {
    *end = 0;
  }
}

// The stack from `from` upwards, as far as it is mapped: the pages one by one, because only whole
// pieces count.
static uint32_t copy_stack(char* to, uint64_t from, uint64_t bytes, long thread) {
  enum { kPieces = 9 };
  uint64_t done = 0;
  while (done < bytes) {
    struct iovec pieces[kPieces];
    int count = 0;
    uint64_t at = from + done;
    const uint64_t end = from + bytes;
    for (; at < end && count < kPieces; ++count) {
      uint64_t stop = (at | 4095) + 1;
      if (stop > end) stop = end;
      pieces[count].iov_base = (void*)at;
      pieces[count].iov_len = stop - at;
      at = stop;
    }
    const struct iovec into = {to + done, at - from - done};
    const long got = call6(SYS_process_vm_readv, thread, (long)&into, 1, (long)pieces, count, 0);
    if (got <= 0) break;
    done += (uint64_t)got;
    if (at != from + done) break;
  }
  return (uint32_t)done;
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
  const long thread = call6(SYS_gettid, 0, 0, 0, 0, 0, 0);
  record->what = kRecordAllocated;
  record->time = time;
  record->address = frame[kResult];
  record->size = size;
  record->thread = (uint32_t)thread;
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
  record->stack_bytes = copy_stack((char*)(record + 1), stack, wanted, thread);
  learn_end(c, stack, wanted, record->stack_bytes);
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

// Which sampled objects has the collection not marked? The world is stopped; other threads may be
// anywhere in this code, so it waits for none of them. An object whose block is gone would have no
// header, so if a collection was missed, all are forgotten.
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
