#pragma once

#include <string>

#include "report/stacks/crystal_library.h"
#include "report/stacks/stack_report.h"
#include "symbols/unwind/stacks.h"

namespace heapattach::stacks {

// What the functions on a fiber's stack say that it waits for, and which frame says so.
struct WaitFrame {
  WaitKind kind = WaitKind::Unknown;
  std::size_t frame = 0;  // of StackRecord::frames
  std::string type;       // of what is waited for, as the function is called: "Channel(Job)"
  // It looks for fibers that can run, which is no waiting: the loop of a scheduler.
  bool is_scheduler = false;
};

// `record` is the stack of a fiber that is put aside, or of a thread that is on one and looks for
// another to run.
[[nodiscard]] WaitFrame wait_by_functions(const unwind::StackRecord& record,
                                          const unwind::Stacks& stacks,
                                          const CrystalLibrary& library);

// What a fiber that is on a thread does there without running: it waits for something that knows
// nothing of fibers. Unknown if it does not.
[[nodiscard]] WaitKind blocked_by_functions(const unwind::StackRecord& record,
                                            const unwind::Stacks& stacks);

// A thread is on this stack only to find a fiber that can go on, or to wait until there is one.
[[nodiscard]] bool looks_for_fibers(const unwind::StackRecord& record,
                                    const unwind::Stacks& stacks,
                                    const CrystalLibrary& library);

}  // namespace heapattach::stacks
