#include <cerrno>

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "attach/arch/thread_registers.h"
#include "attach/base/ptrace_word.h"

namespace heapattach {

namespace {

// Reads one register set of the kernel (arch/arm64/kernel/ptrace.c). Returns its size in bytes.
template <typename Value>
Result<std::size_t> read_set(pid_t tid, unsigned set, Value& value) {
  iovec area{&value, sizeof value};
  HA_TRY(checked("PTRACE_GETREGSET", ptrace(PTRACE_GETREGSET, tid, ptrace_word(set), &area)));
  return area.iov_len;
}

template <typename Value>
Result<void> write_set(pid_t tid, unsigned set, Value value) {
  iovec area{&value, sizeof value};
  return checked("PTRACE_SETREGSET", ptrace(PTRACE_SETREGSET, tid, ptrace_word(set), &area));
}

}  // namespace

Result<RawRegisters> read_registers(pid_t tid) {
  RawRegisters values;
  if (HA_TRY(read_set(tid, NT_PRSTATUS, values.general)) != sizeof values.general) {
    return Error{ErrorKind::Unsupported, "it runs 32-bit code; only 64-bit programs are supported"};
  }
  // Newer kernels have a second word, for SME.
  HA_TRY(read_set(tid, NT_ARM_TLS, values.thread_pointer));
  std::int32_t call = -1;
  HA_TRY(read_set(tid, NT_ARM_SYSTEM_CALL, call));
  values.call = call;
  // The first argument is in x0 only until the call's end.
  values.first_argument = values.general.regs[0];
  return values;
}

// The thread pointer is the program's own, and nothing of ours changes it. The kernel has forgotten
// an interrupted call, and must not learn of it again: it would restart it a second time.
Result<void> write_registers(pid_t tid, const RawRegisters& values) {
  HA_TRY(write_set(tid, NT_PRSTATUS, values.general));
  const bool is_forgotten = values.interruption != Interruption::None;
  const std::int64_t call = is_forgotten ? -1 : values.call;
  return write_set(tid, NT_ARM_SYSTEM_CALL, static_cast<std::int32_t>(call));
}

}  // namespace heapattach
