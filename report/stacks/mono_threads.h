#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "attach/stop/freeze.h"
#include "symbols/elf/module.h"
#include "symbols/mono/threads.h"

namespace heapattach::stacks {

// A thread of a Mono program.
struct MonoThread {
  std::optional<mono::ManagedThread> known;  // nothing: it is not one of Mono's
  std::optional<mono::AwaitedLock> awaits;   // nothing: it waits for no object's lock or pulse
};

// `memory` is the held target's, or a copy with memory_of_mono().
[[nodiscard]] MonoThread mono_thread(const mono::Facts& mono,
                                     const FrozenThread& thread,
                                     const Modules& modules,
                                     const MemoryReader& memory);

// All memory that mono_thread() reads for these threads.
[[nodiscard]] std::vector<Range> memory_of_mono(const mono::Facts& mono,
                                                std::span<const FrozenThread> threads,
                                                const Modules& modules,
                                                const MemoryReader& memory);

// The object that a thread waits for: "Game.Account 0x7f12a0". `memory` is the target's.
[[nodiscard]] std::string name_of(const mono::Facts& mono,
                                  const mono::AwaitedLock& awaited,
                                  const MemoryReader& memory);

}  // namespace heapattach::stacks
