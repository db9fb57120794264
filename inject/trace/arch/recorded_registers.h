#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "inject/trace/arch/layout.h"

namespace heapattach::trace {

struct RecordedRegister {
  std::size_t number;  // DWARF's
  std::uint64_t value;
};

// The caller's registers that a called function must preserve, except for the frame pointer.
#ifdef __x86_64__
inline std::array<RecordedRegister, 5> recorded_registers(const RingRecord& record) {
  return {
      {{3, record.rbx}, {12, record.r12}, {13, record.r13}, {14, record.r14}, {15, record.r15}}};
}
#else
inline auto recorded_registers(const RingRecord& record) {
  constexpr std::size_t kX19 = 19;
  constexpr std::size_t kCount = std::extent_v<decltype(RingRecord::x19_to_x28)>;
  std::array<RecordedRegister, kCount> registers{};
  for (std::size_t i = 0; i < registers.size(); ++i) {
    registers.at(i) = {kX19 + i, record.x19_to_x28[i]};
  }
  return registers;
}
#endif

}  // namespace heapattach::trace
