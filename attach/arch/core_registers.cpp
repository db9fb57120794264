#include "attach/arch/core_registers.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <elf.h>

#include "attach/arch/processors.h"
#include "attach/arch/vector_words.h"

// The order of the words is that of the kernel's user_regs_struct (x86-64) and user_pt_regs
// (aarch64).

namespace heapattach {

namespace {

constexpr std::size_t kWordsOfX86 = 27;
constexpr std::size_t kWordsOfAarch64 = 34;
constexpr std::size_t kMostWords = kWordsOfAarch64;
using Words = std::array<std::uint64_t, kMostWords>;

// Whether a result is that of an interrupted call: the kernel will enter the call again, or gives
// it up with EINTR.
bool is_thrown_out(std::uint64_t result) {
  constexpr std::array<std::int64_t, 5> kResults{-512, -513, -514, -516, -EINTR};
  return std::find(kResults.begin(), kResults.end(), static_cast<std::int64_t>(result)) !=
         kResults.end();
}

Registers of_x86_64(const Words& words) {
  enum { kR15, kR14, kR13, kR12, kRbp, kRbx, kR11, kR10, kR9, kR8, kRax, kRcx, kRdx, kRsi, kRdi };
  enum { kOrigRax = 15, kRip = 16, kRsp = 19, kFsBase = 21 };
  Registers found;
  found.general = {words[kRax], words[kRbx], words[kRcx], words[kRdx], words[kRsi],
                   words[kRdi], words[kRbp], words[kR8],  words[kR9],  words[kR10],
                   words[kR11], words[kR12], words[kR13], words[kR14], words[kR15]};
  found.instruction_pointer = {words[kRip]};
  found.stack_pointer = {words[kRsp]};
  found.thread_pointer = {words[kFsBase]};
  const bool is_in_call =
      is_thrown_out(words[kRax]) && static_cast<std::int64_t>(words[kOrigRax]) >= 0;
  if (is_in_call) found.system_call = words[kOrigRax];
  return found;
}

// The thread pointer is missing: another note has it.
Registers of_aarch64(const Words& words) {
  constexpr std::size_t kStackPointer = 31;
  constexpr std::size_t kInstructionPointer = 32;
  Registers found;
  found.general = GeneralRegisters(std::span(words).first<GeneralRegisters::kOfAarch64>());
  found.instruction_pointer = {words[kInstructionPointer]};
  found.stack_pointer = {words[kStackPointer]};
  return found;
}

using NoWords = std::vector<std::uint64_t>;

}  // namespace

std::size_t core_register_bytes(std::uint16_t machine) {
  const std::size_t words = machine == EM_AARCH64 ? kWordsOfAarch64 : kWordsOfX86;
  return words * sizeof(std::uint64_t);
}

Registers core_registers(std::uint16_t machine, std::span<const std::byte> saved) {
  Words words{};
  std::memcpy(words.data(), saved.data(), std::min(saved.size(), core_register_bytes(machine)));
  return machine == EM_AARCH64 ? of_aarch64(words) : of_x86_64(words);
}

std::vector<std::uint64_t> core_vector_words(std::uint16_t machine,
                                             std::string_view owner,
                                             std::uint32_t type,
                                             std::span<const std::byte> saved) {
  const bool is_basic = owner == "CORE" && type == NT_FPREGSET;
  if (machine == EM_AARCH64) return is_basic ? words_of_fpsimd(saved) : NoWords();
  const bool is_extended = owner == "LINUX" && type == NT_X86_XSTATE;
  return is_basic || is_extended ? words_of_xsave(saved) : NoWords();
}

std::optional<RemoteAddr> core_thread_pointer(std::uint16_t machine,
                                              std::string_view owner,
                                              std::uint32_t type,
                                              std::span<const std::byte> saved) {
  std::uint64_t word = 0;
  const bool has_it = machine == EM_AARCH64 && owner == "LINUX" && type == NT_ARM_TLS &&
                      saved.size() >= sizeof word;
  if (!has_it) return {};
  std::memcpy(&word, saved.data(), sizeof word);
  return RemoteAddr{word};
}

}  // namespace heapattach
