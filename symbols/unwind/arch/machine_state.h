#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "attach/arch/processors.h"
#include "attach/arch/registers.h"

namespace heapattach::unwind {

// The numbers that DWARF gives to the registers of a processor.
struct RegisterNumbers {
  std::uint16_t machine = 0;  // e_machine
  std::size_t count = 0;      // all numbers that we use are below it
  std::size_t frame_pointer = 0;
  std::size_t stack_pointer = 0;
  std::size_t program_counter = 0;
  std::size_t return_address = 0;  // what frame tables call the place of the return address
  std::uint64_t preserved = 0;     // a bit for each register that functions must preserve

  [[nodiscard]] bool is_preserved(std::size_t number) const {
    return (preserved >> number & 1U) != 0;
  }
};
// The numbers of that processor's registers; of our own's if we do not know it.
[[nodiscard]] const RegisterNumbers& numbers_of(std::uint16_t machine);

// The registers of one frame, by DWARF number. In a caller's frame, registers that were not saved
// are unknown.
class MachineState {
 public:
  static constexpr std::size_t kMost = 33;  // of any processor

  explicit MachineState(std::uint16_t machine = kOwnProcessor) : numbers_(&numbers_of(machine)) {}
  MachineState(std::uint16_t machine, const Registers& registers);

  [[nodiscard]] const RegisterNumbers& numbers() const { return *numbers_; }
  [[nodiscard]] std::optional<std::uint64_t> at(std::uint64_t number) const {
    const bool is_known = number < numbers_->count && (known_ >> number & 1U) != 0;
    return is_known ? std::optional(values_[number]) : std::nullopt;
  }
  void set(std::size_t number, std::optional<std::uint64_t> value) {
    values_.at(number) = value.value_or(0);
    const std::uint64_t bit = std::uint64_t{1} << number;
    known_ = value ? known_ | bit : known_ & ~bit;
  }

  [[nodiscard]] std::uint64_t pc() const { return values_[numbers_->program_counter]; }
  [[nodiscard]] std::uint64_t sp() const { return values_[numbers_->stack_pointer]; }
  [[nodiscard]] std::optional<std::uint64_t> frame_pointer() const {
    return at(numbers_->frame_pointer);
  }
  void set_pc(std::optional<std::uint64_t> pc) { set(numbers_->program_counter, pc); }
  void set_sp(std::optional<std::uint64_t> sp) { set(numbers_->stack_pointer, sp); }
  void set_frame_pointer(std::optional<std::uint64_t> at) { set(numbers_->frame_pointer, at); }

 private:
  const RegisterNumbers* numbers_;
  std::uint64_t known_ = 0;  // a bit for each register; the value of an unknown one is 0
  std::array<std::uint64_t, kMost> values_{};
};

}  // namespace heapattach::unwind
