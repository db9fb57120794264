#include "attach/arch/core_registers.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <elf.h>

#include "attach/arch/by_processor.h"
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

bool is_floating_point(std::string_view owner, std::uint32_t type) {
  return owner == "CORE" && type == NT_FPREGSET;
}

std::vector<std::uint64_t> vectors_of_x86_64(std::string_view owner,
                                             std::uint32_t type,
                                             std::span<const std::byte> saved) {
  const bool is_extended = owner == "LINUX" && type == NT_X86_XSTATE;
  if (!is_extended && !is_floating_point(owner, type)) return {};
  return words_of_xsave(saved);
}

std::vector<std::uint64_t> vectors_of_aarch64(std::string_view owner,
                                              std::uint32_t type,
                                              std::span<const std::byte> saved) {
  if (!is_floating_point(owner, type)) return {};
  return words_of_fpsimd(saved);
}

// The notes about a thread, by processor.
struct Form {
  std::uint16_t machine;
  std::size_t words;  // of its general registers
  decltype(&of_x86_64) registers;
  decltype(&vectors_of_x86_64) vectors;
  std::uint32_t thread_pointer;  // the type of the note that has it; 0: the registers have it
};
constexpr std::array kForms{
    Form{EM_X86_64, kWordsOfX86, &of_x86_64, &vectors_of_x86_64, 0},
    Form{EM_AARCH64, kWordsOfAarch64, &of_aarch64, &vectors_of_aarch64, NT_ARM_TLS}};

}  // namespace

std::size_t core_register_bytes(std::uint16_t machine) {
  const Form* const form = row_for(kForms, machine);
  return form == nullptr ? 0 : form->words * sizeof(std::uint64_t);
}

Registers core_registers(std::uint16_t machine, std::span<const std::byte> saved) {
  const Form* const form = row_for(kForms, machine);
  if (form == nullptr) return {};
  Words words{};
  std::memcpy(words.data(), saved.data(), std::min(saved.size(), core_register_bytes(machine)));
  return form->registers(words);
}

std::vector<std::uint64_t> core_vector_words(std::uint16_t machine,
                                             std::string_view owner,
                                             std::uint32_t type,
                                             std::span<const std::byte> saved) {
  const Form* const form = row_for(kForms, machine);
  return form == nullptr ? std::vector<std::uint64_t>() : form->vectors(owner, type, saved);
}

std::optional<RemoteAddr> core_thread_pointer(std::uint16_t machine,
                                              std::string_view owner,
                                              std::uint32_t type,
                                              std::span<const std::byte> saved) {
  const Form* const form = row_for(kForms, machine);
  std::uint64_t word = 0;
  const bool has_it = form != nullptr && form->thread_pointer != 0 && owner == "LINUX" &&
                      type == form->thread_pointer && saved.size() >= sizeof word;
  if (!has_it) return {};
  std::memcpy(&word, saved.data(), sizeof word);
  return RemoteAddr{word};
}

}  // namespace heapattach
