#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/arch/registers.h"
#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "report/stacks/descriptors.h"
#include "symbols/elf/module.h"

namespace heapattach::stacks {

// A system call in which a thread is waiting.
struct SystemCall {
  std::uint64_t number = 0;
  std::array<std::uint64_t, 6> arguments{};
};

// The call in which a thread was stopped. An interrupted call that continues as restart_syscall is
// looked up in the code that made it.
std::optional<SystemCall> call_of(const Registers& registers, const Modules& modules);

// "futex"; "system call 1234" for an unknown one.
[[nodiscard]] std::string name_of(const SystemCall& call);

// The target's memory that its arguments point to, which must be copied while the target is
// stopped.
[[nodiscard]] std::vector<Range> memory_of(const SystemCall& call);

// The call with its arguments, as far as they are readable: "read(5: pipe)", "nanosleep(10 s)".
// `now` is the time of CLOCK_MONOTONIC when the thread was stopped; none if unknown.
[[nodiscard]] std::string describe(const SystemCall& call,
                                   const MemoryReader& capture,
                                   Descriptors& descriptors,
                                   std::optional<std::chrono::nanoseconds> now = {});

// The futex that it waits for, if any.
[[nodiscard]] std::optional<RemoteAddr> awaited_futex(const SystemCall& call);

// Whether it waits for a futex without a time limit, and no other process can wake it.
[[nodiscard]] bool needs_own_process(const SystemCall& call, const MemoryMap& map);

}  // namespace heapattach::stacks
