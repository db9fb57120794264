#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "attach/base/deadline.h"
#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "attach/stop/freeze.h"
#include "symbols/crystal/fibers.h"
#include "symbols/elf/module.h"
#include "symbols/types/type_model.h"
#include "symbols/unwind/arch/generated.h"
#include "symbols/unwind/stack_record.h"

namespace heapattach::unwind {

struct Stacks {
  std::vector<StackRecord> stacks;
  std::vector<CodePlaces> places;       // for all frames, sorted by address, each address once
  std::vector<types::Variable> locals;  // those of all frames; their types are in the model
  std::vector<std::string> notes;       // for -v

  // The functions at `pc`; empty if unknown.
  [[nodiscard]] std::span<const Place> places_of(RemoteAddr pc) const;
};

// The threads and fibers whose stacks to walk.
struct StackOwners {
  std::span<const FrozenThread> threads;
  std::span<const crystal::FiberStack> fibers;
  const MemoryMap* map = nullptr;  // shows the code that was generated at run time; null: unknown
  std::span<const GeneratedFunction> generated{};  // by address
};

// Limits on what to look up.
struct StackLimits {
  FrameLimits frames{};
  bool with_locals = true;
  bool with_places = false;
  // Whether to look up files and lines in modules whose types are not read, such as the C library,
  // whose debug file takes longer to unpack than everything else in a small program. If not, only
  // functions are looked up there.
  bool with_library_lines = true;
  std::chrono::milliseconds time{10'000};
  Deadline deadline{};  // for the whole run; walking takes at most a third of the time left
};

// Walks the stacks of all stopped threads and of all suspended fibers in the copy of the target's
// memory, and finds the variables of their frames. A sandboxed worker does the work, and its result
// is not trusted; if the worker dies, only this result is lost. Call this while this process has
// one thread. Adds pointer and array types that only variables have to `model`.
Result<Stacks> walk_stacks(const Modules& modules,
                           types::TypeModel& model,
                           const MemoryReader& capture,
                           const StackOwners& owners,
                           const StackLimits& limits = {});

// Finds the functions at these instructions, also in a worker. The result is sorted by address.
// Takes at most `time`, and at most a third of the time left until `deadline`.
Result<std::vector<CodePlaces>> find_places(const Modules& modules,
                                            std::span<const RemoteAddr> instructions,
                                            std::chrono::milliseconds time,
                                            const Deadline& deadline = {});

}  // namespace heapattach::unwind
