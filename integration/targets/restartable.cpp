// A thread stays in a restartable sequence (rseq(2)) until it may commit. Each interruption must
// send it to the sequence's beginning; it counts these. It uses the area that glibc has registered
// (2.35 and later).

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include <sys/rseq.h>

#include "talk.h"

namespace {

std::atomic<long> tid{0};
alignas(64) volatile long aborted = 0;
alignas(64) volatile long committed = 0;
volatile long may_commit = 0;

struct rseq* own_area() {
  return reinterpret_cast<struct rseq*>(static_cast<char*>(__builtin_thread_pointer()) +
                                        __rseq_offset);
}

// Runs one sequence, which spins until may_commit, and counts a commit as its last instruction. The
// descriptor, and the signature before the abort handler, have the kernel's form.
void run_sequence(struct rseq* area) {
#ifdef __x86_64__
  asm volatile(
      R"(
  .pushsection .data.rel.ro.heapattach, "aw"
  .balign 32
7:
  .long 0, 0
  .quad 1f, (2f - 1f), 4f
  .popsection
  jmp 3f
  .long 0x53053053
4:
  incq %[aborted]
3:
  leaq 7b(%%rip), %%rax
  movq %%rax, %[pointer]
1:
  cmpq $0, %[may_commit]
  je 1b
  incq %[committed]
2:
)"
      : [pointer] "=m"(area->rseq_cs), [aborted] "+m"(aborted), [committed] "+m"(committed)
      : [may_commit] "m"(may_commit)
      : "rax", "memory", "cc");
#else
  asm volatile(
      R"(
  .pushsection .data.rel.ro.heapattach, "aw"
  .balign 32
7:
  .long 0, 0
  .quad 1f, (2f - 1f), 4f
  .popsection
  b 3f
  .long 0xd428bc00
4:
  ldr x9, %[aborted]
  add x9, x9, #1
  str x9, %[aborted]
3:
  adrp x9, 7b
  add x9, x9, :lo12:7b
  str x9, %[pointer]
1:
  ldr x9, %[may_commit]
  cbz x9, 1b
  ldr x9, %[committed]
  add x9, x9, #1
  str x9, %[committed]
2:
)"
      : [pointer] "=m"(area->rseq_cs), [aborted] "+m"(aborted), [committed] "+m"(committed)
      : [may_commit] "m"(may_commit)
      : "x9", "memory", "cc");
#endif
}

void run() {
  struct rseq* area = own_area();
  tid.store(gettid());
  for (;;) {
    run_sequence(area);
    may_commit = 0;
  }
}

}  // namespace

int main() {
  if (__rseq_size == 0) {
    say("ready registered=0 tid=0");
  } else {
    std::thread(run).detach();
    while (tid.load() == 0) std::this_thread::yield();
    say("ready registered=1 tid=%ld", tid.load());
  }
  char line[64];
  while (next_question(line, sizeof line)) {
    if (is(line, "commit")) may_commit = 1;
    say("aborted=%ld committed=%ld", aborted, committed);
  }
  std::_Exit(0);
}
