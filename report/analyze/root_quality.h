#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "report/model/model.h"

namespace heapattach::analyze {

// How well a root explains why an object is alive, the best first. The collector scans stacks word
// by word, so words left by a call that returned long ago keep objects alive just as variables do,
// but variables are what a reader looks for. A path from a better root is shown even if a path from
// a worse root is shorter. Globals and locals have the same quality: the shorter path is shown
// first, and of paths of the same length, the one from the global (RootOrder).
enum class RootQuality : std::uint8_t {
  Variable,         // a global, class variable or live local with a name; an uncollectable object
  LibraryVariable,  // a local of the C++ library, such as what a container holds while it grows
  Memory,           // static memory without a name
  Word,             // a word or register of a frame of the program's own code
  RuntimeWord,      // the same for a frame of a library that the program called, or for an unknown
                    // frame; a variable in a frame of the collector, the loader or an idle thread
  Collector,        // a variable of the collector or the loader, a table of finalizers
  Leftover,  // a word below the stack pointer, or in a frame of the collector, the loader or an
             // idle thread of the language's runtime
};

inline constexpr std::size_t kRootQualities = 7;

// Determines the quality of roots. Borrows the snapshot, and caches its results about stacks.
class RootQualities {
 public:
  explicit RootQualities(const snapshot::Snapshot& snapshot);

  [[nodiscard]] RootQuality of(const snapshot::Root& root);
  // The stack of the root; null if it is not on one, or its frames are unknown.
  [[nodiscard]] const snapshot::Stack* stack_of(const snapshot::Root& root) const;

 private:
  enum class FrameOf : std::uint8_t { Unseen, Program, Runtime, Collector };

  [[nodiscard]] RootQuality on_stack(const snapshot::Root& root);
  [[nodiscard]] RootQuality in_frame(const snapshot::Root& root, const snapshot::Stack& stack);
  // The fiber is only passing: the runtime resumes it, or queues it.
  [[nodiscard]] bool passes_fiber(const snapshot::Root& root, const snapshot::Frame& frame) const;
  // Of C++'s library, whose templates are compiled into the program.
  [[nodiscard]] bool is_of_library(const snapshot::Root& root, const snapshot::Frame& frame) const;
  [[nodiscard]] FrameOf owner_of(const snapshot::Frame& frame);
  [[nodiscard]] FrameOf see(const snapshot::Place& place) const;
  [[nodiscard]] bool is_idle(const snapshot::Stack& stack);

  const snapshot::Snapshot& snapshot_;
  std::unordered_map<pid_t, std::uint32_t> threads_;         // their stacks
  std::unordered_map<std::uint64_t, std::uint32_t> fibers_;  // as well
  std::unordered_map<std::uint64_t, const snapshot::Fiber*> known_fibers_;
  std::string_view crystal_library_;  // its directory with the slash; empty: unknown
  std::vector<FrameOf> owners_;       // by place
  std::vector<std::uint8_t> idle_;    // by stack: 0 unseen, 1 no, 2 yes
};

}  // namespace heapattach::analyze
