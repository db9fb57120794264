#pragma once

#include "report/stacks/crystal_library.h"
#include "report/stacks/descriptors.h"
#include "report/stacks/scene.h"

namespace heapattach::stacks {

// Adds the fibers to a report that already has the threads: the thread that each is on, what it
// waits for, and groups of fibers with equal stacks.
void add_fibers(const Scene& scene,
                const CrystalLibrary& library,
                Descriptors& descriptors,
                StackReport& report);

}  // namespace heapattach::stacks
