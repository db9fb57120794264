// Mono's code begins with one of
//
//   sub rsp, 0x28                      push rbp
//   mov [rsp], r14                     mov rbp, rsp
//   mov [rsp+8], r15                   sub rsp, 0x50
//                                      mov [rbp-0x20], r12
//
// and does not move the stack pointer any more before it returns, or only as the frame pointer
// allows. Where it returns, it restores registers from its frame, and then leaves that:
//
//   mov r14, [rsp]                     mov r12, [rbp-0x20]
//   add rsp, 0x28                      leave  (or lea rsp, [rbp-8]; pop r15; pop rbp)
//   ret                                ret
//
// A trampoline begins with "pop r11": it is called only to get the address that it was called from,
// and it returns to its caller's caller.

#include <algorithm>
#include <utility>
#include <vector>

#include <elf.h>

#include "attach/base/word.h"
#include "symbols/code/arch/registers_x86_64.h"
#include "symbols/unwind/arch/epilogues.h"
#include "symbols/unwind/arch/x86_64.h"

namespace heapattach::unwind::x86_64 {

namespace {

using namespace heapattach::x86_64;  // NOLINT(google-build-using-namespace): its registers

class FrameReader {
 public:
  explicit FrameReader(const Disassembler& disassembler) : disassembler_(disassembler) {}

  // Returns false after the last instruction of the function's start.
  bool add(const cs_insn& instruction) {
    const cs_x86& x86 = instruction.detail->x86;
    if (leaves(instruction) || x86.op_count == 0) return false;
    const cs_x86_op& to = x86.operands[0];
    switch (instruction.id) {
      case X86_INS_PUSH: return push(to);
      case X86_INS_POP: return pop(to);
      case X86_INS_SUB:
        if (is_register(to, kRsp)) return make_room(x86.operands[1]);
        break;
      case X86_INS_MOV:
        if (is_register(to, kRbp) && is_register(x86.operands[1], kRsp)) return set_frame_pointer();
        if (to.type == X86_OP_MEM) return store(to, x86.operands[1]);
        break;
      default: break;
    }
    return change(instruction);
  }

  [[nodiscard]] std::optional<GeneratedFrame> take() && {
    if (is_strange_) return std::nullopt;
    frame_.is_from_frame_pointer = above_frame_pointer_ != 0;
    frame_.bytes = frame_.is_from_frame_pointer ? above_frame_pointer_ : above_stack_pointer_;
    return std::move(frame_);
  }

 private:
  static bool leaves(const cs_insn& instruction) {
    const cs_detail& detail = *instruction.detail;
    return std::any_of(detail.groups, detail.groups + detail.groups_count, [](std::uint8_t group) {
      return group == X86_GRP_JUMP || group == X86_GRP_CALL || group == X86_GRP_RET;
    });
  }
  static bool is_register(const cs_x86_op& operand, unsigned number) {
    return operand.type == X86_OP_REG && operand.size == kWordBytes &&
           part_of(operand.reg).number == number;
  }

  bool push(const cs_x86_op& from) {
    above_stack_pointer_ += kWordBytes;
    if (from.type == X86_OP_REG) save(from, above_stack_pointer_);
    return true;
  }
  bool pop(const cs_x86_op& to) {
    const bool is_return_address = above_stack_pointer_ == kWordBytes;
    is_strange_ = !is_return_address || to.type != X86_OP_REG || preserved(to.reg);
    return !is_strange_;
  }
  bool make_room(const cs_x86_op& bytes) {
    is_strange_ = bytes.type != X86_OP_IMM || bytes.imm <= 0;
    if (!is_strange_) above_stack_pointer_ += static_cast<std::uint64_t>(bytes.imm);
    return !is_strange_;
  }
  bool set_frame_pointer() {
    above_frame_pointer_ = above_stack_pointer_;
    changed_ |= std::uint64_t{1} << kNumbers.frame_pointer;
    return true;
  }
  bool store(const cs_x86_op& to, const cs_x86_op& from) {
    const unsigned base = part_of(to.mem.base).number;
    const std::uint64_t above = base == kRsp   ? above_stack_pointer_
                                : base == kRbp ? above_frame_pointer_
                                               : 0;
    const bool is_plain = above != 0 && to.mem.index == X86_REG_INVALID;
    const auto below = above - static_cast<std::uint64_t>(to.mem.disp);
    // Above the stack pointer and below the return address.
    const bool is_inside = below > kWordBytes && below <= above_stack_pointer_;
    if (is_plain && is_inside && from.type == X86_OP_REG) save(from, below);
    return true;
  }
  void save(const cs_x86_op& from, std::uint64_t below) {
    const auto number = from.size == kWordBytes ? preserved(from.reg) : std::nullopt;
    if (!number || *number == kNumbers.stack_pointer || (changed_ >> *number & 1U) != 0) return;
    changed_ |= std::uint64_t{1} << *number;  // a second copy is no better
    frame_.saved.push_back({*number, below});
  }
  // Any other instruction.
  bool change(const cs_insn& instruction) {
    const auto written = WrittenRegisters::of(disassembler_.handle(), instruction);
    if (!written) return false;
    for (const std::uint16_t reg : *written) {
      const auto number = preserved(reg);
      if (!number) continue;
      if (*number == kNumbers.stack_pointer && above_frame_pointer_ == 0) is_strange_ = true;
      changed_ |= std::uint64_t{1} << *number;
    }
    return !is_strange_;
  }

  const Disassembler& disassembler_;
  GeneratedFrame frame_;
  std::uint64_t above_stack_pointer_ = kWordBytes;  // bytes up to the end of the frame
  std::uint64_t above_frame_pointer_ = 0;           // as well; 0: there is none
  std::uint64_t changed_ = 0;                       // a bit for each register
  bool is_strange_ = false;
};

// Reads the end of a function, from any of its instructions up to the return.
class ExitReader {
 public:
  explicit ExitReader(const Disassembler& disassembler) : disassembler_(disassembler) {}

  // Returns false after the return, or if the instruction is not one of an end.
  bool add(const cs_insn& instruction) {
    const cs_x86& x86 = instruction.detail->x86;
    switch (instruction.id) {
      case X86_INS_RET: has_returned_ = x86.op_count == 0; return false;
      case X86_INS_LEAVE:
        top_ = {true, 0};
        return has_frame_pointer_ && pop(kNumbers.frame_pointer);
      case X86_INS_POP:
        if (x86.operands[0].type != X86_OP_REG || x86.operands[0].size != kWordBytes) return false;
        return pop(preserved(x86.operands[0].reg));
      case X86_INS_ADD:
        if (!is_stack_pointer(x86.operands[0])) break;
        top_.offset += x86.operands[1].imm;
        return x86.operands[1].type == X86_OP_IMM && x86.operands[1].imm > 0;
      case X86_INS_LEA:
        if (!is_stack_pointer(x86.operands[0])) break;
        return move_to_frame_pointer(x86.operands[1]);
      case X86_INS_MOV:
        if (const auto from = place_of(x86.operands[1]); from && is_preserved(x86.operands[0])) {
          return restore(preserved(x86.operands[0].reg), *from);
        }
        break;
      default: break;
    }
    return changes_nothing(instruction);
  }

  [[nodiscard]] std::optional<GeneratedFrame> take() && {
    if (!has_returned_) return std::nullopt;
    const std::int64_t end = top_.offset + static_cast<std::int64_t>(kWordBytes);
    if (end <= 0) return std::nullopt;
    GeneratedFrame frame;
    frame.is_from_frame_pointer = top_.is_from_frame_pointer;
    frame.bytes = static_cast<std::uint64_t>(end);
    for (const auto& [number, at] : restored_) {
      const bool is_inside = at.is_from_frame_pointer == top_.is_from_frame_pointer &&
                             at.offset < top_.offset && at.offset % 8 == top_.offset % 8;
      if (!is_inside) return std::nullopt;
      frame.saved.push_back({number, static_cast<std::uint64_t>(end - at.offset)});
    }
    return frame;
  }

 private:
  static bool is_stack_pointer(const cs_x86_op& operand) {
    return operand.type == X86_OP_REG && part_of(operand.reg).number == kRsp;
  }
  static bool is_preserved(const cs_x86_op& operand) {
    return operand.type == X86_OP_REG && operand.size == kWordBytes &&
           preserved(operand.reg).value_or(kNumbers.stack_pointer) != kNumbers.stack_pointer;
  }

  // A word of the frame.
  [[nodiscard]] std::optional<StackPlace> place_of(const cs_x86_op& operand) const {
    if (operand.type != X86_OP_MEM || operand.mem.index != X86_REG_INVALID) return std::nullopt;
    const unsigned base = part_of(operand.mem.base).number;
    if (base == kRsp) {
      return StackPlace{top_.is_from_frame_pointer, top_.offset + operand.mem.disp};
    }
    if (base != kRbp || !has_frame_pointer_) return std::nullopt;
    return StackPlace{true, operand.mem.disp};
  }
  bool move_to_frame_pointer(const cs_x86_op& from) {
    const auto place = place_of(from);
    if (!place || !place->is_from_frame_pointer) return false;
    top_ = *place;
    return true;
  }
  bool pop(std::optional<std::size_t> number) {
    const StackPlace from = top_;
    top_.offset += static_cast<std::int64_t>(kWordBytes);
    if (!number) return true;
    return *number != kNumbers.stack_pointer && restore(number, from);
  }
  bool restore(std::optional<std::size_t> number, const StackPlace& from) {
    const bool is_again = std::any_of(restored_.begin(), restored_.end(),
                                      [&](const auto& one) { return one.first == *number; });
    if (is_again) return false;
    restored_.emplace_back(*number, from);
    if (*number == kNumbers.frame_pointer) has_frame_pointer_ = false;
    return true;
  }
  [[nodiscard]] bool changes_nothing(const cs_insn& instruction) const {
    const cs_detail& detail = *instruction.detail;
    const bool leaves =
        std::any_of(detail.groups, detail.groups + detail.groups_count, [](std::uint8_t group) {
          return group == X86_GRP_JUMP || group == X86_GRP_CALL || group == X86_GRP_INT;
        });
    const auto written = WrittenRegisters::of(disassembler_.handle(), instruction);
    return !leaves && written &&
           std::none_of(written->begin(), written->end(),
                        [](std::uint16_t reg) { return preserved(reg).has_value(); });
  }

  const Disassembler& disassembler_;
  StackPlace top_;  // the stack pointer
  bool has_frame_pointer_ = true;
  std::vector<std::pair<std::size_t, StackPlace>> restored_;
  bool has_returned_ = false;
};

std::optional<GeneratedFrame> leaving_frame(const Disassembler& disassembler,
                                            std::span<const std::byte> code,
                                            RemoteAddr pc) {
  constexpr int kMostInstructions = 24;
  ExitReader reader(disassembler);
  for (int i = 0; i < kMostInstructions; ++i) {
    const cs_insn* const instruction = disassembler.decode(code, pc);
    if (instruction == nullptr || !reader.add(*instruction)) break;
    code = code.subspan(instruction->size);
    pc = pc + instruction->size;
  }
  return std::move(reader).take();
}

}  // namespace

std::optional<GeneratedFrame> generated_frame(const GeneratedFunction& function, RemoteAddr pc) {
  const auto disassembler = Disassembler::open(EM_X86_64);
  if (!disassembler || pc < function.code.start) return std::nullopt;
  if (const std::uint64_t inside = pc - function.code.start; inside < function.start.size()) {
    auto leaving = leaving_frame(*disassembler, std::span(function.start).subspan(inside), pc);
    if (leaving) return leaving;
  }
  FrameReader reader(*disassembler);
  std::span<const std::byte> code = function.start;
  for (RemoteAddr at = function.code.start; at < pc;) {
    const cs_insn* const instruction = disassembler->decode(code, at);
    if (instruction == nullptr || !reader.add(*instruction)) break;
    code = code.subspan(instruction->size);
    at = at + instruction->size;
  }
  return std::move(reader).take();
}

}  // namespace heapattach::unwind::x86_64
