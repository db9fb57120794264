#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "attach/arch/registers.h"

namespace heapattach::unwind {

// The registers of one frame, by DWARF number (System V ABI for x86-64, figure 3.36). In a caller's
// frame, registers that were not saved are unknown.
class MachineState {
 public:
  static constexpr std::size_t kFramePointer = 6;
  static constexpr std::size_t kStackPointer = 7;
  static constexpr std::size_t kReturnAddress = 16;  // also the frame's own program counter
  static constexpr std::size_t kCount = 17;

  MachineState() = default;
  explicit MachineState(const Registers& registers);

  [[nodiscard]] std::optional<std::uint64_t> at(std::uint64_t number) const {
    return number < kCount ? values_[number] : std::nullopt;
  }
  void set(std::size_t number, std::optional<std::uint64_t> value) { values_.at(number) = value; }

  [[nodiscard]] std::uint64_t pc() const { return values_[kReturnAddress].value_or(0); }
  [[nodiscard]] std::uint64_t sp() const { return values_[kStackPointer].value_or(0); }

 private:
  std::array<std::optional<std::uint64_t>, kCount> values_;
};

// The registers that functions must preserve, besides the stack pointer: rbx, rbp, r12 to r15.
inline constexpr std::array<std::size_t, 6> kPreserved = {
    3, MachineState::kFramePointer, 12, 13, 14, 15};

// The registers on the stack of a suspended Crystal fiber. Fiber.swapcontext pushed rdi, rbx, rbp
// and r12 to r15, in this order, on top of its return address, and saved the stack pointer.
inline constexpr std::array<std::size_t, 8> kSavedByFiber = {
    15, 14, 13, 12, 6, 3, 5, MachineState::kReturnAddress};  // from the stack pointer upwards

}  // namespace heapattach::unwind
