#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <span>

#include "attach/memory/capture.h"
#include "attach/process/memory_map.h"
#include "attach/process/process.h"
#include "attach/process/thread_activity.h"
#include "attach/stop/freeze.h"
#include "report/stacks/stack_report.h"
#include "symbols/crystal/fibers.h"
#include "symbols/crystal/type_table.h"
#include "symbols/elf/module.h"
#include "symbols/heap/blocks.h"
#include "symbols/mono/facts.h"
#include "symbols/ruby/threads.h"
#include "symbols/unwind/stacks.h"

namespace heapattach::stacks {

// The stacks of a target while it was held, and what is known about it, copied either for --stacks
// alone or with the whole heap. Borrows everything.
struct Scene {
  const Process* process = nullptr;  // null: a core file
  const Modules& modules;
  const MemoryReader& memory;  // the target's current memory
  const crystal::TypeTable& classes;
  std::uint64_t fiber_bytes = 0;  // of a Fiber object

  const Capture& capture;
  const MemoryMap& map;
  const heap::BlockIndex& index;
  std::span<const crystal::FiberStack> fibers;
  std::span<const FrozenThread> threads;
  // The clock of the target's timers; not known from a core file.
  std::optional<std::chrono::nanoseconds> monotonic;
  const unwind::Stacks& stacks;

  // The kernel's data about the threads before and after the freeze, if observed.
  std::span<const ThreadActivity> before{};
  std::span<const ThreadActivity> after{};
  std::chrono::nanoseconds pause{};
  const std::set<pid_t>* busy = nullptr;            // as in HeldStacks; null: not examined
  const std::vector<ruby::Thread>* ruby = nullptr;  // null: none
  const mono::Facts* mono = nullptr;                // as well
};

// Reports the threads and fibers, what they wait for, and what is wrong.
[[nodiscard]] StackReport report_on(const Scene& scene);

}  // namespace heapattach::stacks
