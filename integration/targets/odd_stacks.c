// A thread whose stack cannot be followed to its end. With "jit", it waits in a call from code that
// was made at run time; with "switch", in a call from a function that has switched to another
// stack.

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char other_stack[1 << 16] __attribute__((aligned(16)));

void wait_on(void** stack_end);
__asm__(
    ".text\n.globl wait_on\n.type wait_on, @function\n"
    "wait_on: mov (%rdi), %rsp\n xor %ebp, %ebp\n call pause@PLT\n hlt\n"
    ".size wait_on, . - wait_on\n");

static void wait_in_new_code(void) {
  // push %rbx; mov $pause, %rax; call *%rax; pop %rbx; ret
  unsigned char code[] = {0x53, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x5b, 0xc3};
  const uintptr_t called = (uintptr_t)&pause;
  memcpy(code + 3, &called, sizeof called);
  void* const made =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return;
  memcpy(made, code, sizeof code);
  void (*run)(void);
  memcpy(&run, &made, sizeof run);
  run();
}

int main(int count, char** words) {
  printf("ready\n");
  fflush(stdout);
  void* stack_end = other_stack + sizeof other_stack / 2;
  if (count > 1 && strcmp(words[1], "switch") == 0) wait_on(&stack_end);
  wait_in_new_code();
  return 0;
}
