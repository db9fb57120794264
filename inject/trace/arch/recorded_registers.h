#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "inject/trace/arch/layout.h"

namespace heapattach::trace {

// A record's registers, in their order there, and their DWARF numbers (System V ABI for x86-64).
inline constexpr std::array<std::size_t, 8> kRecordedNumbers = {16, 7, 6, 3, 12, 13, 14, 15};
[[nodiscard]] inline std::array<std::uint64_t, 8> recorded_registers(const RingRecord& record) {
  return {record.rip, record.rsp, record.rbp, record.rbx,
          record.r12, record.r13, record.r14, record.r15};
}
[[nodiscard]] inline std::uint64_t recorded_stack_pointer(const RingRecord& record) {
  return record.rsp;
}

}  // namespace heapattach::trace
