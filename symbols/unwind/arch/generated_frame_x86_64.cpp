// Mono's code begins with one of
//
//   sub rsp, 0x28                      push rbp
//   mov [rsp], r14                     mov rbp, rsp
//   mov [rsp+8], r15                   sub rsp, 0x50
//                                      mov [rbp-0x20], r12
//
// and does not move the stack pointer any more before it returns, or only as the frame pointer
// allows. A trampoline begins with "pop r11": it was called to learn where from, and returns to the
// caller of that.

#include <algorithm>

#include <elf.h>

#include "attach/base/word.h"
#include "symbols/code/arch/registers_x86_64.h"
#include "symbols/unwind/arch/x86_64.h"

namespace heapattach::unwind::x86_64 {

namespace {

using namespace heapattach::x86_64;  // its registers

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

}  // namespace

std::optional<GeneratedFrame> generated_frame(const GeneratedFunction& function, RemoteAddr pc) {
  const auto disassembler = Disassembler::open(EM_X86_64);
  if (!disassembler) return std::nullopt;
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
