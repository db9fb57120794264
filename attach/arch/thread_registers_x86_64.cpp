#include <cerrno>

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "attach/arch/thread_registers.h"
#include "attach/base/ptrace_word.h"

namespace heapattach {

Result<RawRegisters> read_registers(pid_t tid) {
  RawRegisters values{};
  iovec area{&values, sizeof values};
  if (ptrace(PTRACE_GETREGSET, tid, ptrace_word(NT_PRSTATUS), &area) != 0) {
    return os_error("PTRACE_GETREGSET", errno);
  }
  if (area.iov_len == sizeof values) return values;
  return Error{ErrorKind::Unsupported, "it runs 32-bit code; only 64-bit programs are supported"};
}

Result<void> write_registers(pid_t tid, const RawRegisters& values) {
  RawRegisters copy = values;
  iovec area{&copy, sizeof copy};
  if (ptrace(PTRACE_SETREGSET, tid, ptrace_word(NT_PRSTATUS), &area) == 0) return {};
  return os_error("PTRACE_SETREGSET", errno);
}

}  // namespace heapattach
