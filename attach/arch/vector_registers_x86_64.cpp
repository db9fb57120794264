#include <array>

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "attach/arch/vector_registers.h"
#include "attach/base/ptrace_word.h"

namespace heapattach {

// The base of gs, which is a program's own, comes last.
std::vector<std::uint64_t> read_vector_registers(pid_t tid) {
  std::array<std::byte, kMostXsaveBytes> saved{};
  std::vector<std::uint64_t> words;
  for (const std::uint32_t set : {kExtendedState, std::uint32_t{NT_PRFPREG}}) {
    iovec area{saved.data(), saved.size()};
    if (ptrace(PTRACE_GETREGSET, tid, ptrace_word(set), &area) != 0) continue;
    words = words_of_xsave(std::span(saved).first(area.iov_len));
    break;
  }
  user_regs_struct general{};
  iovec area{&general, sizeof general};
  if (ptrace(PTRACE_GETREGSET, tid, ptrace_word(NT_PRSTATUS), &area) == 0) {
    words.push_back(general.gs_base);
  }
  return words;
}

Result<bool> uses_wide_vectors(pid_t /*tid*/) {
  return false;
}

}  // namespace heapattach
