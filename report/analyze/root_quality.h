#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "report/model/model.h"

namespace heapattach::analyze {

using snapshot::kRootQualities;
using snapshot::RootQuality;

// Determines the quality of roots. Borrows the snapshot, and caches its results about stacks.
class RootQualities {
 public:
  explicit RootQualities(const snapshot::Snapshot& snapshot);

  [[nodiscard]] RootQuality of(const snapshot::Root& root);
  // The stack that contains the root; null if no stack does, or if the stack's frames are unknown.
  [[nodiscard]] const snapshot::Stack* stack_of(const snapshot::Root& root) const;

 private:
  enum class FrameOf : std::uint8_t { Unseen, Program, Runtime, Collector };

  [[nodiscard]] RootQuality on_stack(const snapshot::Root& root);
  [[nodiscard]] RootQuality in_frame(const snapshot::Root& root, const snapshot::Stack& stack);
  // Whether the root is a fiber that the frame only passes on: the runtime resumes or queues it.
  [[nodiscard]] bool passes_fiber(const snapshot::Root& root, const snapshot::Frame& frame) const;
  // Whether the frame belongs to C++'s library, whose templates are compiled into the program.
  [[nodiscard]] bool is_of_library(const snapshot::Root& root, const snapshot::Frame& frame) const;
  [[nodiscard]] FrameOf owner_of(const snapshot::Frame& frame);
  [[nodiscard]] FrameOf see(const snapshot::Place& place) const;
  [[nodiscard]] bool is_idle(const snapshot::Stack& stack);

  const snapshot::Snapshot& snapshot_;
  std::unordered_map<pid_t, std::uint32_t> threads_;         // the stacks of threads, by tid
  std::unordered_map<std::uint64_t, std::uint32_t> fibers_;  // the stacks of fibers, by address
  std::unordered_map<std::uint64_t, const snapshot::Fiber*> known_fibers_;
  std::string_view crystal_library_;  // its directory with the slash; empty: unknown
  std::vector<FrameOf> owners_;       // by place
  std::vector<std::uint8_t> idle_;    // by stack: 0 unseen, 1 no, 2 yes
};

}  // namespace heapattach::analyze
