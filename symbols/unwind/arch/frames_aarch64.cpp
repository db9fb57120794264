#include <algorithm>

#include "symbols/code/arch/instructions_aarch64.h"
#include "symbols/unwind/arch/aarch64.h"

// Nearly all code of aarch64 has tables or a chain of frame pointers. For other code, only the
// registers and a search of the stack are used.

namespace heapattach::unwind::aarch64 {

using namespace heapattach::aarch64;  // its instructions

std::vector<Epilogue> epilogues(const Module& /*module*/,
                                const Disassembler& /*disassembler*/,
                                RemoteAddr /*pc*/) {
  return {};
}

std::vector<PushedRegister> pushed_at_start(const Module& /*module*/,
                                            RemoteAddr /*start*/,
                                            RemoteAddr /*pc*/) {
  return {};
}

// mov sp, register: the frame pointer would only end the function's own frame.
bool switches_stack(const Module& module, RemoteAddr start, RemoteAddr end) {
  constexpr std::size_t kMostInstructions = 256;
  constexpr std::uint32_t kMove = 0x9100001f;
  constexpr unsigned kFramePointer = 29;
  const auto code = module.file_bytes(start);
  for (std::size_t i = 0; i < kMostInstructions && start + i * kInstructionBytes < end; ++i) {
    const std::uint32_t word = word_at(code, i);
    const unsigned from = word >> 5U & 31U;
    const bool moves = (word & 0xfffffc1fU) == kMove;
    if (moves && from != kFramePointer && from != kStackPointer) return true;
  }
  return false;
}

std::optional<CallBefore> call_before(const Module& module, RemoteAddr at) {
  if (at.value < kInstructionBytes || at.value % kInstructionBytes != 0) return {};
  const RemoteAddr call = at - kInstructionBytes;
  const std::uint32_t word = word_at(module.file_bytes(call), 0);
  if (is_indirect_call(word)) return CallBefore{};
  const auto distance = direct_jump(word, true);
  if (!distance) return {};
  return CallBefore{call + static_cast<std::uint64_t>(*distance)};
}

// stp x29, x30, [sp, #number], which may first subtract it, among the first instructions.
bool begins_with_frame(const Module& module, RemoteAddr start) {
  constexpr std::size_t kFirst = 4;
  constexpr std::uint32_t kStore = 0xa9007bfd;
  const auto code = module.file_bytes(start);
  for (std::size_t i = 0; i < kFirst; ++i) {
    if ((word_at(code, i) & 0xfe407fffU) == (kStore & 0xfe407fffU)) return true;
  }
  return false;
}

bool is_signal_return(const Module& module, RemoteAddr pc) {
  const auto code = module.file_bytes(pc);
  return code.size() >= kSignalReturn.size() &&
         std::equal(kSignalReturn.begin(), kSignalReturn.end(), code.begin());
}

void take_general(const Registers& registers, MachineState& state) {
  for (std::size_t i = 0; i < registers.general.size(); ++i) {
    state.set(i, registers.general[i]);
  }
}

}  // namespace heapattach::unwind::aarch64
