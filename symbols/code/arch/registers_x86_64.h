#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <capstone/capstone.h>

// The general registers of x86-64, numbered in the order of their encoding.
namespace heapattach::x86_64 {

enum : unsigned { kRax = 0, kRcx, kRdx, kRbx, kRsp, kRbp, kRsi, kRdi, kRegisters = 16 };

// A general register, or some of its bytes.
struct RegisterPart {
  unsigned number = kRegisters;  // kRegisters: not a general register
  unsigned bytes = 8;
  bool is_high_byte = false;  // ah, bh, ch, dh

  [[nodiscard]] bool is_general() const { return number != kRegisters; }
};
// By Capstone's number.
[[nodiscard]] RegisterPart part_of(unsigned reg);

// The DWARF number of each register (System V ABI, figure 3.36).
inline constexpr std::array<std::size_t, kRegisters> kDwarfNumbers = {0, 2, 1,  3,  7,  6,  4,  5,
                                                                      8, 9, 10, 11, 12, 13, 14, 15};

// The DWARF number of a register that functions must preserve, or of the stack pointer, for any
// part of it; none for other registers.
[[nodiscard]] std::optional<std::size_t> preserved(unsigned reg);

// The registers that an instruction writes, by Capstone's numbers.
class WrittenRegisters {
 public:
  // None if they are unknown.
  static std::optional<WrittenRegisters> of(csh handle, const cs_insn& instruction);

  [[nodiscard]] const std::uint16_t* begin() const { return registers_; }
  [[nodiscard]] const std::uint16_t* end() const { return registers_ + count_; }

 private:
  cs_regs registers_{};
  std::uint8_t count_ = 0;
};

}  // namespace heapattach::x86_64
