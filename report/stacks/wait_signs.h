#pragma once

#include <string>

#include "report/stacks/crystal_library.h"
#include "report/stacks/stack_report.h"
#include "symbols/unwind/stacks.h"

namespace heapattach::stacks {

// What a fiber waits for by the functions on its stack, and the frame that shows it.
struct WaitFrame {
  WaitKind kind = WaitKind::Unknown;
  std::size_t frame = 0;  // of StackRecord::frames
  std::string type;       // the awaited object's, from the function's name: "Channel(Job)"
  // It looks for fibers that can run, which is not waiting: the loop of a scheduler.
  bool is_scheduler = false;
};

// `record` is the stack of a suspended fiber, or of a thread that is on a fiber and looks for
// another to run.
[[nodiscard]] WaitFrame wait_by_functions(const unwind::StackRecord& record,
                                          const unwind::Stacks& stacks,
                                          const CrystalLibrary& library);

// What a fiber on a thread waits for without running: something outside the fiber scheduler.
// Unknown if it does not wait.
[[nodiscard]] WaitKind blocked_by_functions(const unwind::StackRecord& record,
                                            const unwind::Stacks& stacks);

// Whether a thread is on this stack only to find a fiber that can run, or to wait until there is
// one.
[[nodiscard]] bool looks_for_fibers(const unwind::StackRecord& record,
                                    const unwind::Stacks& stacks,
                                    const CrystalLibrary& library);

}  // namespace heapattach::stacks
