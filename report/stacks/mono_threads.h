#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/memory/capture.h"
#include "attach/memory/memory_reader.h"
#include "attach/stop/freeze.h"
#include "symbols/elf/module.h"
#include "symbols/mono/classes.h"
#include "symbols/mono/stack_objects.h"
#include "symbols/mono/threads.h"
#include "symbols/mono/words.h"

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

// Names what threads wait for.
class MonoNames {
 public:
  // Borrows its arguments. `memory` is the target's, which may run: stacks are read in `capture`.
  MonoNames(const mono::Facts& mono, const Capture& capture, const MemoryReader& memory);

  // The object that a thread waits for: "Game.Account 0x7f12a0". One that is only a lock is
  // followed by what it is the lock of: "System.Object 0x7f12a0 (gate of Game.Door 0x7f12c0)".
  [[nodiscard]] std::string awaited(const mono::AwaitedLock& awaited, const FrozenThread& thread);
  // The event that a thread waits for, in the same form; empty if it waits for something else.
  [[nodiscard]] std::string event(const FrozenThread& thread, const Modules& modules);

 private:
  [[nodiscard]] mono::StackObjects objects_of(const FrozenThread& thread);
  [[nodiscard]] static std::string owner_text(const mono::StackObjects& objects,
                                              std::uint64_t object);

  const Capture& capture_;
  mono::ReadWord read_;
  mono::ClassReader classes_;
};

}  // namespace heapattach::stacks
