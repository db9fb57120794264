#pragma once

#include "report/stacks/crystal_library.h"
#include "report/stacks/descriptors.h"
#include "report/stacks/held_stacks.h"
#include "report/stacks/stack_report.h"
#include "report/stacks/stack_target.h"
#include "symbols/unwind/stacks.h"

namespace heapattach::stacks {

// What the fibers of a report are made of.
struct FiberSources {
  const StackTarget& target;
  const HeldStacks& held;
  const unwind::Stacks& stacks;
  const CrystalLibrary& library;
  Descriptors& descriptors;
};

// Adds the fibers to a report that has the threads already: who is on which thread, what each waits
// for, and those that stand alike as groups.
void add_fibers(const FiberSources& from, StackReport& report);

}  // namespace heapattach::stacks
