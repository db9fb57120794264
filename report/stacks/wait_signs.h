#pragma once

#include <string>

#include "report/stacks/crystal_library.h"
#include "report/stacks/stack_report.h"
#include "symbols/unwind/stacks.h"

namespace heapattach::stacks {

// The wait of a fiber, according to the functions on its stack, and the frame that shows it.
struct WaitFrame {
  WaitKind kind = WaitKind::Unknown;
  std::size_t frame = 0;  // of StackRecord::frames
  std::string type;  // the type of the awaited object, from the function's name: "Channel(Job)"
  // It is a scheduler's loop, which looks for fibers that can run and does not count as waiting.
  bool is_scheduler = false;
};

// `record` is the stack of a suspended fiber, or of a thread on a fiber that looks for another one
// to run.
[[nodiscard]] WaitFrame wait_by_functions(const unwind::StackRecord& record,
                                          const unwind::Stacks& stacks,
                                          const CrystalLibrary& library);

// The wait, outside the fiber scheduler, of a fiber that occupies a thread. Unknown if it is not
// waiting.
[[nodiscard]] WaitKind blocked_by_functions(const unwind::StackRecord& record,
                                            const unwind::Stacks& stacks);

// Whether a thread uses this stack only to find, or wait for, a fiber that can run.
[[nodiscard]] bool looks_for_fibers(const unwind::StackRecord& record,
                                    const unwind::Stacks& stacks,
                                    const CrystalLibrary& library);

}  // namespace heapattach::stacks
