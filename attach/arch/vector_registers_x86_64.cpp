#include <algorithm>
#include <array>
#include <cstring>

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "attach/arch/vector_registers.h"
#include "attach/base/ptrace_word.h"

namespace heapattach {

namespace {

constexpr std::size_t kControlEnd = 32;     // FCW to MXCSR
constexpr std::size_t kRegistersEnd = 416;  // st0 to st7, xmm0 to xmm15
constexpr std::size_t kMoreEnd = 2688;      // of ZMM16 to ZMM31, with whatever lies between

void add_words(std::span<const std::byte> saved,
               std::size_t from,
               std::size_t end,
               std::vector<std::uint64_t>& words) {
  end = std::min(end, saved.size());
  for (std::size_t at = from; at + sizeof(std::uint64_t) <= end; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, saved.data() + at, sizeof word);
    if (word != 0) words.push_back(word);
  }
}

}  // namespace

std::vector<std::uint64_t> vector_words(std::span<const std::byte> saved) {
  std::vector<std::uint64_t> words;
  add_words(saved, kControlEnd, kRegistersEnd, words);
  add_words(saved, kLeastExtendedState, kMoreEnd, words);  // after FXSAVE's area and a header
  return words;
}

std::vector<std::uint64_t> read_vector_registers(pid_t tid) {
  std::array<std::byte, kMoreEnd> saved{};
  for (const std::uint32_t set : {kExtendedState, std::uint32_t{NT_PRFPREG}}) {
    iovec area{saved.data(), saved.size()};
    if (ptrace(PTRACE_GETREGSET, tid, ptrace_word(set), &area) == 0) {
      return vector_words(std::span(saved).first(area.iov_len));
    }
  }
  return {};
}

}  // namespace heapattach
