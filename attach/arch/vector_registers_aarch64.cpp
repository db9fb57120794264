#include <array>
#include <span>

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "attach/arch/vector_registers.h"
#include "attach/base/ptrace_word.h"

namespace heapattach {

std::vector<std::uint64_t> read_vector_registers(pid_t tid) {
  // A header, and 32 registers of at most 256 bytes; the kernel leaves out what has no room.
  std::array<std::byte, 16 + std::size_t{32} * 256> saved{};
  iovec area{saved.data(), saved.size()};
  if (ptrace(PTRACE_GETREGSET, tid, ptrace_word(NT_ARM_SVE), &area) == 0) {
    return words_of_sve(std::span(saved).first(area.iov_len));
  }
  area = {saved.data(), saved.size()};
  if (ptrace(PTRACE_GETREGSET, tid, ptrace_word(NT_PRFPREG), &area) == 0) {
    return words_of_fpsimd(std::span(saved).first(area.iov_len));
  }
  return {};
}

bool uses_wide_vectors(pid_t tid) {
  std::array<std::byte, kSveHeaderBytes> header{};
  iovec area{header.data(), header.size()};
  return ptrace(PTRACE_GETREGSET, tid, ptrace_word(NT_ARM_SVE), &area) == 0 &&
         has_sve(std::span(header).first(area.iov_len));
}

}  // namespace heapattach
