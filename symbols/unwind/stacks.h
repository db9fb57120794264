#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "attach/freeze.h"
#include "attach/memory_reader.h"
#include "symbols/crystal/fibers.h"
#include "symbols/elf/module.h"
#include "symbols/types/type_model.h"
#include "symbols/unwind/stack_record.h"

namespace heapattach::unwind {

struct Stacks {
  std::vector<StackRecord> stacks;
  std::vector<CodePlaces> places;       // of all frames, by address, each once
  std::vector<types::Variable> locals;  // of all frames, with types that the model has
  std::vector<std::string> notes;       // for -v

  // Those of `pc`; empty if nothing is known.
  [[nodiscard]] std::span<const Place> places_of(RemoteAddr pc) const;
};

// Whose stacks to walk.
struct StackOwners {
  std::span<const FrozenThread> threads;
  std::span<const crystal::FiberStack> fibers;
};

// What is wanted, and how much of it.
struct StackLimits {
  FrameLimits frames{};
  bool with_locals = true;
  bool with_places = false;
  // Also files and lines of modules whose types are not read, as of the C library, whose debug file
  // takes longer to unpack than all the rest of a small program; else only their functions.
  bool with_library_lines = true;
  std::chrono::milliseconds time{10'000};
};

// Walks the stacks of all threads that were stopped and of all fibers that are put aside, in the
// copy of the target's memory, and finds the variables of their frames. Done by a worker in a
// sandbox, of which even the result is not believed; its death is an error, and costs no more than
// what it would have found. To be called while this process has one thread. Pointers and arrays
// that only variables have are added to `model`.
Result<Stacks> walk_stacks(const Modules& modules,
                           types::TypeModel& model,
                           const MemoryReader& capture,
                           const StackOwners& owners,
                           const StackLimits& limits = {});

// What is at these instructions, by address. Done by such a worker, too.
Result<std::vector<CodePlaces>> find_places(const Modules& modules,
                                            std::span<const RemoteAddr> instructions,
                                            std::chrono::milliseconds time);

}  // namespace heapattach::unwind
