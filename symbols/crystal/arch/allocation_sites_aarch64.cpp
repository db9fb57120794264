// The compiler's allocators look like this in a default build of current releases; other builds use
// other registers, and leave out what is not needed:
//
//     mov  x8, xzr
//     mov  x9, #0x18
//     add  x0, x8, x9                the size
//     bl   __crystal_malloc64
//     str  x0, [sp, #8]              the fresh object, spilled
//     …    bl memset                 zeroing; initial values of fields
//     ldr  x9, [sp, #8]
//     adrp x8, …                     since Crystal 1.16; before: mov w8, #0xc4
//     add  x8, x8, #0xf24
//     ldr  w8, [x8]
//     str  w8, [x9]                  the type id
//
// A --release build may also store the id with what follows it, in a pair or in a constant of 16
// bytes that it loads into a vector register. The instructions are decoded here: they all have four
// bytes, and Capstone 4 does not know all of them.

#include <array>

#include <elf.h>

#include "symbols/code/arch/instructions_aarch64.h"
#include "symbols/crystal/arch/allocation_follower.h"
#include "symbols/crystal/arch/processors.h"

namespace heapattach::crystal::aarch64 {
namespace {

using namespace heapattach::aarch64;  // NOLINT(google-build-using-namespace): its instructions

constexpr unsigned kZero = 31;  // or the stack pointer, which has its value in this place
constexpr std::array<unsigned, 19> kCallerSaved = {0,  1,  2,  3,  4,  5,  6,  7,  8, 9,
                                                   10, 11, 12, 13, 14, 15, 16, 17, 18};
constexpr AllocationFollower::Registers kNames{.stack_pointer = kStackPointer,
                                               .frame_pointer = 29,
                                               .first_argument = 0,
                                               .result = 0,
                                               .caller_saved = kCallerSaved};

// The fields of an instruction that most instructions have in the same place.
struct Fields {
  std::uint32_t word = 0;

  [[nodiscard]] unsigned bits(unsigned from, unsigned count) const {
    return word >> from & ((1U << count) - 1);
  }
  [[nodiscard]] bool bit(unsigned at) const { return (word >> at & 1U) != 0; }
  [[nodiscard]] unsigned target() const { return bits(0, 5); }
  [[nodiscard]] unsigned base() const { return bits(5, 5); }
  [[nodiscard]] unsigned second() const { return bits(10, 5); }
  [[nodiscard]] unsigned right() const { return bits(16, 5); }
  [[nodiscard]] unsigned width() const { return bit(31) ? 8 : 4; }
};

// An access to memory: of one register or of two.
struct Access {
  bool is_load = false;
  bool is_vector = false;
  bool is_signed = false;  // extends a smaller number
  unsigned bytes = 0;      // of each register
  unsigned registers = 1;
};

class Follower : public AllocationFollower {
 public:
  Follower(Range code, const CallTarget& target, const ConstantAt& constant)
      : AllocationFollower(code, target, constant, kNames) {}

  std::vector<AllocationSite> run(std::span<const std::byte> code, RemoteAddr at);

 private:
  enum class Mode : std::uint8_t { Offset, After, Before };  // when the base register moves

  void step(std::uint32_t word, RemoteAddr at);
  bool branch(Fields fields, RemoteAddr at);
  bool compute(Fields fields, RemoteAddr at);
  bool access(Fields fields, RemoteAddr at);
  void add(Fields fields, Value by);
  void move_number(Fields fields);
  void access_at(Fields fields, Access access, std::int64_t distance, Mode mode);
  void transfer(unsigned reg, const Access& access, const Value& address);
  void forget_written(Fields fields);

  [[nodiscard]] Value value(unsigned reg, unsigned bytes) const {
    if (reg == kZero) return {Value::Form::Constant, 0, 0};
    return bytes == 8 ? registers_[reg] : lower_half(registers_[reg]);
  }
  void set(unsigned reg, Value value, unsigned bytes) {
    if (reg != kZero) registers_[reg] = bytes == 8 ? value : lower_half(value);
  }

  std::array<Value, kMostRegisters> vectors_{};  // their first eight bytes
};

bool Follower::branch(Fields fields, RemoteAddr at) {
  const std::uint32_t word = fields.word;
  const auto there = [&](std::int64_t distance) {
    return std::optional(at + static_cast<std::uint64_t>(distance));
  };
  if (const auto distance = direct_jump(word, true)) {
    call(there(*distance), at + kInstructionBytes);
  } else if (is_indirect_call(word)) {
    call(std::nullopt, at + kInstructionBytes);
  } else if (const auto to = direct_jump(word, false)) {
    jump(there(*to), false);
  } else if ((word & 0xff000010U) == 0x54000000U || (word & 0x7e000000U) == 0x34000000U) {
    jump(there(with_sign(fields.bits(5, 19), 19) * std::int64_t{kInstructionBytes}), true);
  } else if ((word & 0x7e000000U) == 0x36000000U) {  // tbz, tbnz
    jump(there(with_sign(fields.bits(5, 14), 14) * std::int64_t{kInstructionBytes}), true);
  } else if (fields.bits(25, 7) == 0x6b && fields.bits(21, 4) == 2) {
    leave(registers_[0]);  // ret, retaa
  } else if (fields.bits(25, 7) == 0x6b || (word & 0xffe0001fU) == 0xd4200000U) {
    jump(std::nullopt, false);  // br, brk
  } else {
    return false;
  }
  vectors_ = {};
  return true;
}

// add, sub: with the number or the register `by`.
void Follower::add(Fields fields, Value by) {
  const bool has_stack = fields.bits(24, 5) == 0x11;  // of the two forms, the one with a number
  const bool sets_flags = fields.bit(29);
  Value sum = has_stack && fields.base() == kStackPointer ? registers_[kStackPointer]
                                                          : value(fields.base(), fields.width());
  if (by.is(Value::Form::Constant) && !sum.is(Value::Form::Unknown)) {
    sum.number += fields.bit(30) ? 0 - by.number : by.number;
  } else {
    sum = {};
  }
  if (has_stack && !sets_flags && fields.target() == kStackPointer) {
    registers_[kStackPointer] = sum;
    note_frame();
  } else {
    set(fields.target(), sum, fields.width());
  }
}

// movn, movz, movk.
void Follower::move_number(Fields fields) {
  const unsigned shift = fields.bits(21, 2) * 16;
  const std::uint64_t number = std::uint64_t{fields.bits(5, 16)} << shift;
  Value moved{Value::Form::Constant, number, 0};
  if (fields.bits(29, 2) == 0) moved.number = ~number;
  if (fields.bits(29, 2) == 3) {
    moved = value(fields.target(), 8);
    if (!moved.is(Value::Form::Constant)) moved = {};
    moved.number = (moved.number & ~(std::uint64_t{0xffff} << shift)) | number;
  }
  set(fields.target(), moved, fields.width());
}

bool Follower::compute(Fields fields, RemoteAddr at) {
  const std::uint32_t word = fields.word;
  if (const auto page = page_of(word, at.value)) {
    set(fields.target(), {Value::Form::Static, *page, 0}, 8);
  } else if ((word & 0x9f000000U) == 0x10000000U) {  // adr
    const std::uint64_t distance = fields.bits(5, 19) << 2U | fields.bits(29, 2);
    const auto there = at + static_cast<std::uint64_t>(with_sign(distance, 21));
    set(fields.target(), {Value::Form::Static, there.value, 0}, 8);
  } else if ((word & 0x1f800000U) == 0x12800000U) {
    move_number(fields);
  } else if ((word & 0x7fe0ffe0U) == 0x2a0003e0U) {  // mov
    set(fields.target(), value(fields.right(), fields.width()), fields.width());
  } else if ((word & 0x1f800000U) == 0x11000000U) {
    const std::uint64_t number = std::uint64_t{fields.bits(10, 12)} << (fields.bit(22) ? 12U : 0U);
    add(fields, {Value::Form::Constant, number, 0});
  } else if ((word & 0x1fe0fc00U) == 0x0b000000U) {
    add(fields, value(fields.right(), fields.width()));
  } else {
    return false;
  }
  return true;
}

void Follower::transfer(unsigned reg, const Access& access, const Value& address) {
  if (access.is_vector) {
    if (access.is_load) {
      vectors_[reg] = access.bytes >= 8 ? load(address, 8) : load(address, access.bytes);
      if (!vectors_[reg].is(Value::Form::Constant)) vectors_[reg] = {};
      return;
    }
    store(address, vectors_[reg], access.bytes);
    if (access.bytes <= 8) return;
    Value rest = address;
    rest.number += 8;
    store(rest, {}, 8);
    return;
  }
  if (!access.is_load) return store(address, value(reg, access.bytes), access.bytes);
  set(reg, access.is_signed ? Value{} : load(address, access.bytes), 8);
}

void Follower::access_at(Fields fields, Access access, std::int64_t distance, Mode mode) {
  Value& base = registers_[fields.base()];  // here, 31 is the stack pointer
  Value address = base;
  if (address.is(Value::Form::Constant)) address.form = Value::Form::Static;
  if (mode != Mode::After) address.number += static_cast<std::uint64_t>(distance);
  if (mode != Mode::Offset) {
    base.number += static_cast<std::uint64_t>(distance);
    note_frame();
  }
  transfer(fields.target(), access, address);
  if (access.registers < 2) return;
  address.number += access.bytes;
  transfer(fields.second(), access, address);
}

bool Follower::access(Fields fields, RemoteAddr at) {
  const std::uint32_t word = fields.word;
  const bool is_vector = fields.bit(26);
  Access access;
  access.is_vector = is_vector;
  if ((word & 0x3a000000U) == 0x28000000U) {  // ldp, stp
    const unsigned kind = fields.bits(30, 2);
    access.registers = 2;
    access.is_load = fields.bit(22);
    access.is_signed = !is_vector && kind == 1;
    access.bytes = is_vector ? 4U << kind : kind == 2 ? 8 : 4;
    constexpr std::array kModes{Mode::Offset, Mode::After, Mode::Offset, Mode::Before};
    access_at(fields, access, with_sign(fields.bits(15, 7), 7) * access.bytes,
              kModes.at(fields.bits(23, 2)));
    return true;
  }
  if ((word & 0x3b000000U) == 0x18000000U) {  // ldr of what is near
    access.is_load = true;
    access.bytes = fields.bits(30, 2) == 0 ? 4 : 8;
    access.is_signed = fields.bits(30, 2) > 1;
    const auto distance = with_sign(fields.bits(5, 19), 19) * std::int64_t{kInstructionBytes};
    transfer(fields.target(), access,
             {Value::Form::Static, at.value + static_cast<std::uint64_t>(distance), 0});
    return true;
  }
  const bool is_scaled = (word & 0x3b000000U) == 0x39000000U;
  const bool is_near = (word & 0x3b200000U) == 0x38000000U;
  const bool is_indexed = (word & 0x3b200c00U) == 0x38200800U;
  if (!is_scaled && !is_near && !is_indexed) return false;
  const unsigned kind = fields.bits(22, 2);
  const bool is_wide = is_vector && kind >= 2;
  access.bytes = is_wide ? 16 : 1U << fields.bits(30, 2);
  access.is_load = is_vector ? (kind & 1U) != 0 : kind != 0;
  access.is_signed = !is_vector && kind >= 2;
  if (is_indexed) {
    transfer(fields.target(), access, {});
  } else if (is_scaled) {
    access_at(fields, access, std::int64_t{fields.bits(10, 12)} * access.bytes, Mode::Offset);
  } else {
    constexpr std::array kModes{Mode::Offset, Mode::After, Mode::Offset, Mode::Before};
    access_at(fields, access, with_sign(fields.bits(12, 9), 9), kModes.at(fields.bits(10, 2)));
  }
  return true;
}

// Makes the registers that any other instruction may write unknown.
void Follower::forget_written(Fields fields) {
  const unsigned group = fields.bits(25, 4);
  const bool is_vector = (group & 7U) == 7;
  if (is_vector) {
    const bool is_zero = (fields.word & 0xffffffe0U) == 0x6f00e400U;  // movi v.2d, #0
    vectors_[fields.target()] = is_zero ? Value{Value::Form::Constant, 0, 0} : Value{};
  }
  const bool moves_out = (fields.word & 0x5f20fc00U) == 0x1e200000U ||  // fmov, fcvt…
                         (fields.word & 0xbfe0d400U) == 0x0e001400U;    // umov, smov
  if (is_vector && !moves_out) return;
  set(fields.target(), {}, 8);
  if ((group & 5U) != 4) return;  // no access to memory
  set(fields.second(), {}, 8);
  set(fields.right(), {}, 8);
}

void Follower::step(std::uint32_t word, RemoteAddr at) {
  if (meet(at.value)) vectors_ = {};
  const Fields fields{word};
  if (branch(fields, at) || compute(fields, at) || access(fields, at)) return;
  const bool is_hint = (word & 0xfffff01fU) == 0xd503201fU;
  if (!is_hint) forget_written(fields);
}

std::vector<AllocationSite> Follower::run(std::span<const std::byte> code, RemoteAddr at) {
  return in_rounds([&] {
    vectors_ = {};
    for (std::size_t i = 0; i < code.size() / kInstructionBytes; ++i) {
      step(word_at(code, i), at + i * kInstructionBytes);
    }
  });
}

}  // namespace

std::vector<AllocationSite> find_allocation_sites(const Disassembler& /*disassembler*/,
                                                  std::span<const std::byte> code,
                                                  RemoteAddr at,
                                                  const CallTarget& target,
                                                  const ConstantAt& constant) {
  return Follower({at, code.size()}, target, constant).run(code, at);
}

}  // namespace heapattach::crystal::aarch64
