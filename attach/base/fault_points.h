#pragma once

#include <cstddef>
#include <string_view>

namespace heapattach {

// The places where this room calls the kernel, numbered from 1 in this order.
enum class FaultPoint : unsigned {
  None,
  OpenFile,
  ReadFile,
  ReadLink,
  PidfdOpen,
  PidfdPoll,
  ListThreads,
  StatTaskDirectory,
  Seize,
  Interrupt,
  WaitThread,
  GetEventMessage,
  Resume,
  Detach,
  GetRegisters,
  SetRegisters,
  PeekSignals,
  GetSignalMask,
  PeekInstruction,
  ProcessVmReadv,
  ReadMem,
  MapArena,
  StartThread,
  Work,  // not a system call: one of several threads runs out of memory
  End
};

// The number of points: valid numbers are 1 … kFaultPoints.
inline constexpr std::size_t kFaultPoints = static_cast<std::size_t>(FaultPoint::End) - 1;
// The name of a number, for lists and messages; empty if the number is not valid.
std::string_view fault_point_name(std::size_t number);

#ifdef HEAPATTACH_FAULT_POINTS
// Whether the call at `point` must be skipped and fail; if so, errno is set. The environment
// variable HEAPATTACH_FAULT=<number>[:<errno>[:<hit>]] selects the point, and fails every hit or
// only the given one. Ignored in builds without HEAPATTACH_FAULT_POINTS.
bool fault_at(FaultPoint point) noexcept;
#else
constexpr bool fault_at(FaultPoint) noexcept {
  return false;
}
#endif

}  // namespace heapattach
