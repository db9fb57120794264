#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include <elf.h>

#include "attach/base/word.h"
#include "symbols/code/arch/registers_x86_64.h"
#include "symbols/unwind/arch/x86_64.h"

namespace heapattach::unwind::x86_64 {

namespace {

using namespace heapattach::x86_64;  // NOLINT(google-build-using-namespace): its registers

constexpr std::size_t kMostInstructions = 2000;
constexpr std::size_t kMostWays = 8;
constexpr std::uint64_t kMostToSwitch = 1024;  // bytes of a function to search

bool is_register(const cs_x86_op& operand, x86_reg reg) {
  return operand.type == X86_OP_REG && operand.reg == reg;
}

// A path of execution: where it is now, and what it has done to the stack.
struct Way {
  RemoteAddr at;
  StackPlace top;  // the stack pointer
  Epilogue found;  // what it has restored so far

  [[nodiscard]] bool has_changed(std::size_t number) const {
    return (found.changed >> number & 1U) != 0;
  }
};

class Search {
 public:
  Search(const Module& module, const Disassembler& disassembler)
      : module_(module), disassembler_(disassembler) {}

  std::vector<Epilogue> from(RemoteAddr pc) {
    open_.push_back({pc, {}, {}});
    while (!open_.empty() && found_.size() < kMostWays) {
      Way way = std::move(open_.back());
      open_.pop_back();
      follow(way);
    }
    return std::move(found_);
  }

 private:
  void follow(Way& way) {
    while (count_++ < kMostInstructions && seen_.insert(way.at.value).second) {
      const cs_insn* const instruction = disassembler_.decode(module_.file_bytes(way.at), way.at);
      if (instruction == nullptr || !take(*instruction, way)) return;
    }
  }

  // Runs one instruction. Returns false at the end of the path.
  bool take(const cs_insn& instruction, Way& way) {
    const cs_x86& x86 = instruction.detail->x86;
    way.at = way.at + instruction.size;
    switch (instruction.id) {
      case X86_INS_RET:
        way.found.return_address = way.top;
        found_.push_back(std::move(way.found));
        return false;
      case X86_INS_CALL:
      case X86_INS_SYSCALL: return true;
      case X86_INS_JMP:
        if (x86.operands[0].type != X86_OP_IMM) return false;
        way.at = RemoteAddr{static_cast<std::uint64_t>(x86.operands[0].imm)};
        return true;
      case X86_INS_HLT:
      case X86_INS_INT3:
      case X86_INS_UD2: return false;
      case X86_INS_PUSH: way.top.offset -= static_cast<std::int64_t>(kWordBytes); return true;
      case X86_INS_POP: return pop(x86, way);
      case X86_INS_LEAVE: return leave(way);
      default: break;
    }
    for (std::uint8_t i = 0; i < instruction.detail->groups_count; ++i) {
      if (instruction.detail->groups[i] != X86_GRP_JUMP || x86.operands[0].type != X86_OP_IMM) {
        continue;
      }
      Way other = way;
      other.at = RemoteAddr{static_cast<std::uint64_t>(x86.operands[0].imm)};
      open_.push_back(std::move(other));
      return true;
    }
    if (x86.op_count > 0 && is_register(x86.operands[0], X86_REG_RSP)) {
      if (moves_top(instruction.id, x86, way)) return true;
    }
    return note_writes(instruction, way);
  }

  static bool pop(const cs_x86& x86, Way& way) {
    const StackPlace from = way.top;
    way.top.offset += static_cast<std::int64_t>(kWordBytes);
    const auto number = x86.operands[0].type == X86_OP_REG ? preserved(x86.operands[0].reg)
                                                           : std::optional<std::size_t>();
    if (!number) return true;
    if (*number == kNumbers.stack_pointer) return false;
    restore(*number, from, way);
    return true;
  }

  static void restore(std::size_t number, StackPlace from, Way& way) {
    std::erase_if(way.found.saved,
                  [number](const Epilogue::Saved& one) { return one.number == number; });
    way.found.saved.push_back({number, from});
    way.found.changed &= ~(std::uint32_t{1} << number);
  }

  // mov %rbp,%rsp; pop %rbp.
  static bool leave(Way& way) {
    if (!has_own_frame_pointer(way)) return false;
    restore(kNumbers.frame_pointer, {true, 0}, way);
    way.top = {true, static_cast<std::int64_t>(kWordBytes)};
    return true;
  }

  // Whether the frame pointer still has its value from the start.
  static bool has_own_frame_pointer(const Way& way) {
    const auto& saved = way.found.saved;
    return !way.has_changed(kNumbers.frame_pointer) &&
           std::none_of(saved.begin(), saved.end(), [](const Epilogue::Saved& one) {
             return one.number == kNumbers.frame_pointer;
           });
  }

  // An instruction that computes the stack pointer; false if the result is unknown.
  static bool moves_top(unsigned id, const cs_x86& x86, Way& way) {
    const cs_x86_op& from = x86.operands[1];
    const bool is_number = x86.op_count == 2 && from.type == X86_OP_IMM;
    if (id == X86_INS_ADD && is_number) {
      way.top.offset += from.imm;
      return true;
    }
    if (id == X86_INS_SUB && is_number) {
      way.top.offset -= from.imm;
      return true;
    }
    if (id == X86_INS_MOV && is_register(from, X86_REG_RBP) && has_own_frame_pointer(way)) {
      way.top = {true, 0};
      return true;
    }
    if (id != X86_INS_LEA || from.mem.index != X86_REG_INVALID) return false;
    if (from.mem.base == X86_REG_RSP) {
      way.top.offset += from.mem.disp;
      return true;
    }
    if (from.mem.base != X86_REG_RBP || !has_own_frame_pointer(way)) return false;
    way.top = {true, from.mem.disp};
    return true;
  }

  // False if the stack pointer is now unknown.
  bool note_writes(const cs_insn& instruction, Way& way) const {
    const auto written = WrittenRegisters::of(disassembler_.handle(), instruction);
    if (!written) return false;
    for (const unsigned reg : *written) {
      const auto number = preserved(reg);
      if (!number) continue;
      if (*number == kNumbers.stack_pointer) return false;
      way.found.changed |= std::uint32_t{1} << *number;
    }
    return true;
  }

  const Module& module_;
  const Disassembler& disassembler_;
  std::vector<Way> open_;  // a stack; the path without the jump is followed first
  std::unordered_set<std::uint64_t> seen_;
  std::vector<Epilogue> found_;
  std::size_t count_ = 0;
};

}  // namespace

std::vector<Epilogue> epilogues(const Module& module,
                                const Disassembler& disassembler,
                                RemoteAddr pc) {
  return Search(module, disassembler).from(pc);
}

bool switches_stack(const Module& module, RemoteAddr start, RemoteAddr end) {
  end = std::min(end, start + kMostToSwitch);
  const auto bytes = module.file_bytes(start);
  const auto code = bytes.first(std::min<std::uint64_t>(bytes.size(), end - start));
  // mov …,%rsp: most code has none, and need not be decoded.
  const bool may_load = [&] {
    for (std::size_t i = 1; i + 1 < code.size(); ++i) {
      const bool is_move =
          code[i] == std::byte{0x8b} && (code[i - 1] & std::byte{0xfc}) == std::byte{0x48};
      if (is_move && (code[i + 1] & std::byte{0x38}) == std::byte{0x20}) return true;
    }
    return false;
  }();
  if (!may_load) return false;
  const auto disassembler = Disassembler::open(EM_X86_64);
  if (!disassembler) return false;
  while (start < end) {
    const cs_insn* const instruction = disassembler->decode(module.file_bytes(start), start);
    if (instruction == nullptr) return false;
    const cs_x86& x86 = instruction->detail->x86;
    const bool is_load = instruction->id == X86_INS_MOV && x86.op_count == 2 &&
                         is_register(x86.operands[0], X86_REG_RSP) &&
                         x86.operands[1].type == X86_OP_MEM;
    const x86_reg base = is_load ? x86.operands[1].mem.base : X86_REG_RBP;
    if (base != X86_REG_RBP && base != X86_REG_RSP) return true;
    start = start + instruction->size;
  }
  return false;
}

}  // namespace heapattach::unwind::x86_64
