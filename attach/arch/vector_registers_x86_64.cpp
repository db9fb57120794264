#include <array>

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "attach/arch/vector_registers.h"
#include "attach/base/ptrace_word.h"

namespace heapattach {

std::vector<std::uint64_t> read_vector_registers(pid_t tid) {
  std::array<std::byte, kMostXsaveBytes> saved{};
  for (const std::uint32_t set : {kExtendedState, std::uint32_t{NT_PRFPREG}}) {
    iovec area{saved.data(), saved.size()};
    if (ptrace(PTRACE_GETREGSET, tid, ptrace_word(set), &area) == 0) {
      return words_of_xsave(std::span(saved).first(area.iov_len));
    }
  }
  return {};
}

Result<bool> uses_wide_vectors(pid_t /*tid*/) {
  return false;
}

}  // namespace heapattach
