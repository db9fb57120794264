#include <algorithm>

#include "attach/base/word.h"
#include "symbols/code/arch/instructions_aarch64.h"
#include "symbols/unwind/arch/aarch64.h"

// Nearly all code of aarch64 has tables or a chain of frame pointers. For other code, only the
// registers and a search of the stack are used.

namespace heapattach::unwind::aarch64 {

using namespace heapattach::aarch64;  // NOLINT(google-build-using-namespace): its instructions

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

// The word at `place` is the second one of a signal handler's frame. The first one is the address
// of a frame with the interrupted x29 and x30, which the kernel has made above its data. The data
// are somewhere between the two frames, and are recognised because they contain the same two words.
std::optional<Interrupted> interrupted(const MemoryReader& memory,
                                       RemoteAddr place,
                                       const Range& stack) {
  constexpr std::uint64_t kFrame = 29 * kWordBytes;
  constexpr std::uint64_t kStackPointerAt = 31 * kWordBytes;
  constexpr std::uint64_t kAligned = 16;
  const auto word = [&](RemoteAddr at) {
    const auto read = memory.read_as<std::uint64_t>(at);
    return read ? *read : 0;
  };
  const RemoteAddr made{word(place - kWordBytes)};
  if (made <= place || !stack.contains(made) || made - place > kMostSignalStack) return {};
  const std::uint64_t frame = word(made);
  const std::uint64_t link = word(made + kWordBytes);
  RemoteAddr data{(place.value + kAligned - 1) & ~(kAligned - 1)};
  for (; data < made; data = data + kAligned) {
    const RemoteAddr saved = data + kSavedAt;
    const bool is_it = word(saved + kFrame) == frame && word(saved + kFrame + kWordBytes) == link;
    if (is_it) return Interrupted{.stack_pointer = word(saved + kStackPointerAt), .saved = data};
  }
  return {};
}

void take_general(const Registers& registers, MachineState& state) {
  for (std::size_t i = 0; i < registers.general.size(); ++i) {
    state.set(i, registers.general[i]);
  }
}

}  // namespace heapattach::unwind::aarch64
