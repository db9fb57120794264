#include "report/trace/arch/branches.h"

#include <array>

#include "attach/arch/by_processor.h"
#include "symbols/code/arch/branches.h"
#include "symbols/code/arch/instructions_aarch64.h"
#include "symbols/unwind/arch/stubs.h"

namespace heapattach::trace {

namespace {

std::vector<RemoteAddr> branches_of_x86_64(const Disassembler& disassembler,
                                           std::span<const std::byte> code,
                                           RemoteAddr at,
                                           bool only_jumps) {
  std::vector<RemoteAddr> found;
  for (std::size_t offset = 0; offset < code.size();) {
    const cs_insn* const instruction = disassembler.decode(code.subspan(offset), at + offset);
    if (instruction == nullptr) break;
    const Branch branch = branch_of(*instruction, at + offset);
    offset += instruction->size;
    const bool is_wanted = (branch.is_call && !only_jumps) || branch.always_jumps();
    if (is_wanted && branch.to) found.push_back(*branch.to);
  }
  return found;
}

std::vector<RemoteAddr> branches_of_aarch64(const Disassembler& /*disassembler*/,
                                            std::span<const std::byte> code,
                                            RemoteAddr at,
                                            bool only_jumps) {
  std::vector<RemoteAddr> found;
  for (std::size_t i = 0; i < code.size() / aarch64::kInstructionBytes; ++i) {
    const std::uint32_t word = aarch64::word_at(code, i);
    auto distance = aarch64::direct_jump(word, false);
    if (!distance && !only_jumps) distance = aarch64::direct_jump(word, true);
    const RemoteAddr from = at + i * aarch64::kInstructionBytes;
    if (distance) found.push_back(from + static_cast<std::uint64_t>(*distance));
  }
  return found;
}

std::optional<RemoteAddr> word_of_stub_x86_64(const Disassembler& disassembler,
                                              std::span<const std::byte> code,
                                              RemoteAddr at) {
  constexpr int kMostInstructions = 3;
  std::size_t offset = 0;
  for (int i = 0; i < kMostInstructions && offset < code.size(); ++i) {
    const cs_insn* const instruction = disassembler.decode(code.subspan(offset), at + offset);
    if (instruction == nullptr) return std::nullopt;
    const Branch branch = branch_of(*instruction, at + offset);
    if (branch.always_jumps() && branch.slot) return branch.slot;
    offset += instruction->size;
  }
  return std::nullopt;
}

std::optional<RemoteAddr> word_of_stub_aarch64(const Disassembler& disassembler,
                                               std::span<const std::byte> code,
                                               RemoteAddr at) {
  const auto target = unwind::stub_target(disassembler.machine(), code, at.value);
  if (!target.word) return std::nullopt;
  return at + static_cast<std::uint64_t>(*target.word);
}

struct Processor {
  std::uint16_t machine;
  decltype(&branches_of) branches;
  decltype(&word_of_stub) stub;
};
constexpr std::array kProcessors{
    Processor{EM_X86_64, &branches_of_x86_64, &word_of_stub_x86_64},
    Processor{EM_AARCH64, &branches_of_aarch64, &word_of_stub_aarch64}};

}  // namespace

std::vector<RemoteAddr> branches_of(const Disassembler& disassembler,
                                    std::span<const std::byte> code,
                                    RemoteAddr at,
                                    bool only_jumps) {
  const Processor* const known = row_for(kProcessors, disassembler.machine());
  if (known == nullptr) return {};
  return known->branches(disassembler, code, at, only_jumps);
}

std::optional<RemoteAddr> word_of_stub(const Disassembler& disassembler,
                                       std::span<const std::byte> code,
                                       RemoteAddr at) {
  const Processor* const known = row_for(kProcessors, disassembler.machine());
  return known == nullptr ? std::nullopt : known->stub(disassembler, code, at);
}

}  // namespace heapattach::trace
