// A simple process that works, naps and answers. It is plain C, so that it also builds as a 32-bit
// program. "--hide" makes it unreadable for its own user. "--strict" and "--filter" make the kernel
// kill it for any unneeded call; "--no-new-privileges" sets that flag.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void permit_only_what_is_needed(void) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int count, char** words) {
  const char* how = count > 1 ? words[1] : "";
  if (strcmp(how, "--hide") == 0) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (strcmp(how, "--no-new-privileges") == 0) prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  printf("ready\n");
  fflush(stdout);
  if (strcmp(how, "--strict") == 0) prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  if (strcmp(how, "--filter") == 0) permit_only_what_is_needed();
  int asked = 0;
  int interrupted = 0;
  for (;;) {
    char letter = 0;
    const ssize_t got = read(0, &letter, 1);
    if (got < 0) {
      ++interrupted;
      continue;
    }
    if (got == 0) return 0;
    if (letter != '\n') continue;
    printf("asked=%d interrupted=%d\n", ++asked, interrupted);
    fflush(stdout);
  }
}
