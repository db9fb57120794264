// kill_at STEP PROGRAM ARGUMENT...: runs a program and kills it when it is about to make its
// STEP-th call that could touch another process: ptrace, or a write to the process's memory. Then
// exits with 42, otherwise with the program's status. A seccomp filter makes the kernel stop the
// program at these calls.

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kKilled = 42, kFailed = 43 };

static void start_program(char** command) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
  };
  const struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
  if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(kFailed);
  raise(SIGSTOP);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) _exit(kFailed);
  execv(command[0], command);
  _exit(kFailed);
}

int main(int count, char** words) {
  if (count < 3) return kFailed;
  long left = strtol(words[1], NULL, 10);
  const pid_t program = fork();
  if (program == 0) start_program(words + 2);
  int status = 0;
  if (waitpid(program, &status, 0) != program || !WIFSTOPPED(status)) return kFailed;
  const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEEXEC |
                       PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
  if (ptrace(PTRACE_SETOPTIONS, program, NULL, options) != 0) return kFailed;
  ptrace(PTRACE_CONT, program, NULL, NULL);
  for (;;) {
    const pid_t thread = waitpid(-1, &status, __WALL);
    if (thread < 0) return kFailed;
    if (!WIFSTOPPED(status)) {
      if (thread != program) continue;
      return WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
    }
    const int event = status >> 16;
    if (event == PTRACE_EVENT_SECCOMP && --left == 0) {
      errno = 0;
      kill(program, SIGKILL);
      // The kernel reports the program last, after its threads have ended and released their
      // targets.
      while (waitpid(-1, &status, __WALL) != program || WIFSTOPPED(status)) {
        if (errno == ECHILD) break;
      }
      return kKilled;
    }
    const int signal = WSTOPSIG(status);
    // New threads and children begin with a stop that the tracer causes.
    const int is_handed_on = event == 0 && signal != SIGSTOP && signal != SIGTRAP;
    ptrace(PTRACE_CONT, thread, NULL, (long)(is_handed_on ? signal : 0));
  }
}
