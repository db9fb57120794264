// Runs another program under a filter that refuses some system calls with EPERM, or kills for them:
// "filtered [kill] NUMBER... -- PROGRAM ARGUMENT...".

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { kMostCalls = 16 };

int main(int count, char** words) {
  struct sock_filter rules[2 * kMostCalls + 2] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
  unsigned short used = 1;
  int at = 1;
  unsigned verdict = SECCOMP_RET_ERRNO | EPERM;
  if (count > 1 && strcmp(words[1], "kill") == 0) {
    verdict = SECCOMP_RET_KILL_PROCESS;
    ++at;
  }
  for (; at < count && strcmp(words[at], "--") != 0; ++at) {
    if (used + 2 >= (int)(sizeof rules / sizeof rules[0])) return 2;
    const unsigned number = (unsigned)strtoul(words[at], NULL, 10);
    rules[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
    rules[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict);
  }
  rules[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  if (at + 1 >= count) return 2;
  const struct sock_fprog program = {used, rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("filtered");
    return 2;
  }
  execv(words[at + 1], words + at + 1);
  perror(words[at + 1]);
  return 2;
}
