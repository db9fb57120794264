// Spins in SME's streaming mode, with values in z3 that a system call would drop. Prints "ready",
// or "no SME" and ends. Ends with 1 if z3 has changed.

#include <stdio.h>
#include <sys/auxv.h>

enum { kHasSme = 1 << 23 };  // HWCAP2_SME, which Debian 12's headers lack

int main(void) {
  if ((getauxval(AT_HWCAP2) & kHasSme) == 0) {
    puts("no SME");
    return 0;
  }
  puts("ready");
  fflush(stdout);
  asm volatile(
      ".arch_extension sve\n"
      ".inst 0xd503437f\n"  // smstart sm
      "ptrue p1.d\n"
      "index z3.d, #1, #3\n"
      "1: index z4.d, #1, #3\n"
      "cmpne p0.d, p1/z, z3.d, z4.d\n"
      "b.none 1b\n"
      ".inst 0xd503427f\n"  // smstop sm
      ::
          : "memory", "cc", "v3", "v4");
  return 1;
}
