#pragma once

#include "report/stacks/crystal_library.h"
#include "report/stacks/descriptors.h"
#include "report/stacks/scene.h"

namespace heapattach::stacks {

// Adds the fibers to a report that has the threads already: who is on which thread, what each waits
// for, and those that stand alike as groups.
void add_fibers(const Scene& scene,
                const CrystalLibrary& library,
                Descriptors& descriptors,
                StackReport& report);

}  // namespace heapattach::stacks
