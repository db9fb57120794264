#pragma once

#include <cstddef>
#include <string_view>

namespace heapattach {

// The call sites where this room calls the kernel. Their numbers are their positions here, from 1.
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
  Work,  // not a system call: one thread among several runs out of memory
  End
};

// The number of points: valid numbers are 1 … kFaultPoints.
inline constexpr std::size_t kFaultPoints = static_cast<std::size_t>(FaultPoint::End) - 1;
// The name of a number, for lists and messages; empty if the number is not valid.
std::string_view fault_point_name(std::size_t number);

#ifdef HEAPATTACH_FAULT_POINTS
// Whether the call at `point` must fail now instead of being made; errno then holds the reason. The
// environment variable HEAPATTACH_FAULT=<number>[:<errno>[:<hit>]] chooses it: at each hit, or only
// at the given one. Builds without the option HEAPATTACH_FAULT_POINTS ignore it.
bool fault_at(FaultPoint point) noexcept;
#else
constexpr bool fault_at(FaultPoint) noexcept {
  return false;
}
#endif

}  // namespace heapattach
