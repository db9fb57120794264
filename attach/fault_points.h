#pragma once

#include <cstddef>
#include <string_view>

namespace heapattach {

// The places where this room calls the kernel. Their numbers are their positions here, from 1.
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
  Work,  // not the kernel's: of one thread among several, which runs out of memory
  End
};

// How many points there are: valid numbers are 1 … kFaultPoints.
inline constexpr std::size_t kFaultPoints = static_cast<std::size_t>(FaultPoint::End) - 1;
// What stands at a number, for lists and messages; empty for a number that is none.
std::string_view fault_point_name(std::size_t number);

#ifdef HEAPATTACH_FAULT_POINTS
// Whether the call at `point` must fail now instead of being made; errno then says with what.
// HEAPATTACH_FAULT=<number>[:<errno>[:<hit>]] in the environment chooses it: at each hit, or only
// at the given one. Builds without the option HEAPATTACH_FAULT_POINTS know nothing of it.
bool fault_at(FaultPoint point) noexcept;
#else
constexpr bool fault_at(FaultPoint) noexcept {
  return false;
}
#endif

}  // namespace heapattach
