// Holds two allocations only in vector registers: one in xmm5 and, if the processor has AVX, one in
// the upper half of ymm9; on aarch64, they are in the two halves of v20. Each references another
// allocation. Three more are forgotten. Prints
//     ready leaked=3
// and waits for the end of its standard input, all without using these registers again.
#include <cstdint>
#include <cstdlib>
#include <initializer_list>

namespace {

struct Node {
  Node* next = nullptr;
  long number = 0;
};

// The addresses, inverted, so that they are not pointers.
std::uintptr_t for_xmm = 0;
std::uintptr_t for_ymm = 0;

[[gnu::noinline]] void allocate() {
  for (std::uintptr_t* const to : {&for_xmm, &for_ymm}) {
    *to = ~reinterpret_cast<std::uintptr_t>(new Node{new Node, 1});
  }
#ifdef __x86_64__
  if (!__builtin_cpu_supports("avx")) delete reinterpret_cast<Node*>(~for_ymm)->next;
  if (!__builtin_cpu_supports("avx")) delete reinterpret_cast<Node*>(~for_ymm);
#endif
  for (int i = 0; i < 3; ++i) {
    Node* const node = new Node;
    asm volatile("" : : "r"(node) : "memory");
  }
}

[[gnu::noinline]] void wipe_stack() {
  volatile char used[32768];
  for (volatile char& one : used) one = 0;
}

}  // namespace

int main() {
  static const char ready[] = "ready leaked=3\n";
  static char got = 0;
  allocate();
  wipe_stack();
#ifdef __x86_64__
  const long has_avx = __builtin_cpu_supports("avx");
  asm volatile(
      "mov %[xmm], %%rax\n"
      "not %%rax\n"
      "movq %%rax, %%xmm5\n"
      "test %[avx], %[avx]\n"
      "jz 1f\n"
      "mov %[ymm], %%rax\n"
      "not %%rax\n"
      "vmovq %%rax, %%xmm6\n"
      "vinsertf128 $1, %%xmm6, %%ymm9, %%ymm9\n"
      "vpxor %%xmm6, %%xmm6, %%xmm6\n"
      "1: mov $1, %%eax\n"  // write
      "mov $1, %%edi\n"
      "mov %[text], %%rsi\n"
      "mov %[bytes], %%rdx\n"
      "syscall\n"
      "2: xor %%eax, %%eax\n"  // read
      "xor %%edi, %%edi\n"
      "mov %[into], %%rsi\n"
      "mov $1, %%edx\n"
      "syscall\n"
      "cmp $0, %%rax\n"
      "jg 2b\n"
      "cmp $-4, %%rax\n"  // EINTR
      "je 2b\n"
      :
      : [xmm] "m"(for_xmm), [ymm] "m"(for_ymm), [avx] "r"(has_avx), [text] "r"(&ready[0]),
        [bytes] "r"(sizeof ready - 1), [into] "r"(&got)
      : "rax", "rdi", "rsi", "rdx", "rcx", "r11", "xmm5", "xmm6", "xmm9", "memory", "cc");
#else
  asm volatile(
      "ldr x3, %[low]\n"
      "mvn x3, x3\n"
      "fmov d20, x3\n"
      "ldr x3, %[high]\n"
      "mvn x3, x3\n"
      "ins v20.d[1], x3\n"
      "mov x3, xzr\n"
      "mov x0, #1\n"
      "mov x1, %[text]\n"
      "mov x2, %[bytes]\n"
      "mov x8, #64\n"  // write
      "svc #0\n"
      "2: mov x0, #0\n"
      "mov x1, %[into]\n"
      "mov x2, #1\n"
      "mov x8, #63\n"  // read
      "svc #0\n"
      "cmp x0, #0\n"
      "b.gt 2b\n"
      "cmn x0, #4\n"  // EINTR
      "b.eq 2b\n"
      :
      : [low] "m"(for_xmm), [high] "m"(for_ymm), [text] "r"(&ready[0]),
        [bytes] "r"(sizeof ready - 1), [into] "r"(&got)
      : "x0", "x1", "x2", "x3", "x8", "v20", "memory", "cc");
#endif
  return 0;
}
