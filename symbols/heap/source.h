#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/deadline.h"
#include "attach/base/result.h"
#include "attach/memory/capture.h"
#include "attach/process/memory_map.h"
#include "attach/stop/freeze.h"
#include "symbols/elf/module.h"
#include "symbols/heap/blocks.h"
#include "symbols/heap/counters.h"
#include "symbols/heap/fact.h"
#include "symbols/heap/kind.h"
#include "symbols/heap/live_set.h"
#include "symbols/heap/root_range.h"

namespace heapattach::runtimes {

class HeapView;
class ObjectNames;

}  // namespace heapattach::runtimes

// The interface between the heaps that this tool can read and the reports on them. Each kind of
// heap has a Kind and a Source in a folder of its own; symbols/heaps.h lists the kinds.
namespace heapattach::heap {

using Note = std::function<void(std::string_view)>;
inline void nobody(std::string_view /*text*/) {}

// A target in which a heap is looked for. It may be running.
struct Surroundings {
  const Modules& modules;
  const MemoryReader& memory;
  const MemoryMap& map;
  Note note = nobody;    // for each step with its reason
  Deadline deadline{};   // of the whole run
  bool is_alone = true;  // no other heap will be read with the one that is found
};

// A heap as it was read from a target.
struct Contents {
  BlockIndex index;
  Counters counters;
  // Memory of the heap that keeps no allocation alive: its blocks, and its owner's own data.
  std::vector<Range> own;
  std::vector<Fact> facts;
  std::string remark;                 // a line about them for people
  std::vector<std::string> problems;  // parts that do not fit; at another moment they may
  std::vector<std::string> unread;    // other parts that are missing
};

// The memory that must be copied while the target is held, for a heap whose place is known
// beforehand.
struct CopyPlan {
  bool is_settled = true;        // false: its owner was changing the heap
  std::vector<Range> contents;   // of objects; sorted, disjoint
  std::vector<Range> data;       // of its owner
  std::vector<RootRange> roots;  // the stacks of threads among them
};

// The memory that was copied from a target.
struct Copied {
  const Modules& modules;
  const MemoryMap& map;
  const Capture& capture;
  const MemoryReader& outside;  // the target, for memory that was not copied
  std::span<const FrozenThread> threads;
  pid_t pid = 0;
  std::span<const Range> touched = {};  // if all private memory was copied: the parts with contents
  Note note = nobody;                   // for each step with its reason
  Deadline deadline{};                  // of the whole run
};

// The memory of the heaps that were read before.
struct Taken {
  std::vector<Range> blocks;   // of their objects; sorted, disjoint
  std::vector<Range> foreign;  // the same with their headers
};

// A function of the program whose roots only it knows.
struct RootFunction {
  std::optional<RemoteAddr> at;  // none: unknown, and the rest is empty
  std::string symbol;            // may be empty
  std::string module;
};

// A heap of a target. Exists from the moment when the heap is found until its live objects are
// known.
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  [[nodiscard]] virtual const Kind& kind() const = 0;
  // The module with the code of the heap; empty if it is unknown.
  [[nodiscard]] virtual std::string module(const Modules& /*modules*/) const { return {}; }
  [[nodiscard]] virtual std::string_view version() const { return {}; }
  [[nodiscard]] virtual std::string_view layout() const { return "structure"; }
  [[nodiscard]] virtual Shape shape() const = 0;
  // The runtime whose heap this is, as in the header of a snapshot; empty if any program may use
  // it.
  [[nodiscard]] virtual std::string_view runtime() const { return {}; }

  // Whether it is known which memory has the references from which the objects are alive. If not,
  // all private memory counts, as for a heap that the program frees by hand.
  [[nodiscard]] virtual bool has_known_roots() const { return true; }
  // Whether texts and numbers can be read from the contents of its objects.
  [[nodiscard]] virtual bool has_values() const { return true; }

  // Reads the counters, at any time.
  [[nodiscard]] virtual Counters counters(const MemoryReader& /*memory*/) const { return {}; }
  // The variables of the heap's owner, which are not the program's; sorted.
  [[nodiscard]] virtual std::vector<Range> variables(const Modules& /*modules*/) const {
    return {};
  }
  // The owner's data, which must be copied in one piece.
  [[nodiscard]] virtual std::span<const Range> data() const { return {}; }
  // The memory outside the heap that its owner scans, as it was when the heap was found. Without
  // stacks.
  [[nodiscard]] virtual std::span<const RootRange> static_roots() const { return {}; }
  // Reads the blocks of a running process, which uses `in_use` bytes of memory. Empty if the heap
  // is found only in a copy.
  [[nodiscard]] virtual Result<BlockIndex> blocks(const Surroundings& /*target*/,
                                                  std::uint64_t /*in_use*/) const {
    return BlockIndex{};
  }
  // The function by which the program shows the owner more roots, if it has one.
  [[nodiscard]] virtual std::optional<RootFunction> root_function(
      const Modules& /*modules*/, const MemoryReader& /*memory*/) const {
    return std::nullopt;
  }

  // Fails with Unsupported if read() would not find the heap. The process may be running.
  [[nodiscard]] virtual Result<void> check(const Modules& /*modules*/,
                                           const MemoryReader& /*memory*/) const {
    return {};
  }

  // Plans the copy while the target is held, and fills what must be read then. `in_use` is the
  // process's memory in bytes, swap included.
  virtual Result<CopyPlan> plan(const Surroundings& /*target*/,
                                std::span<const FrozenThread> /*threads*/,
                                std::uint64_t /*in_use*/,
                                Contents& /*contents*/) {
    return CopyPlan{};
  }
  // Reads the heap from the copy, and fills all of `contents` that plan() did not. It fails with
  // Unsupported if there is no such heap.
  virtual Result<void> read(const Copied& copied, const Taken& taken, Contents& contents) = 0;
  // Traces the heap from `roots`. Signs that some roots were not seen are problems of the result.
  virtual LiveSet mark(Heap& heap,
                       const Copied& copied,
                       std::vector<RootRange> roots,
                       unsigned workers) = 0;
  // Names the objects whose types the heap's owner knows. Call it after read().
  virtual void name_objects(const runtimes::HeapView& /*view*/,
                            runtimes::ObjectNames& /*names*/) const {}
};

// The heap's counters. If its owner keeps them at an unknown place, the size of the heap is the sum
// of its blocks. `in_use` is how much memory the process uses.
Counters counters_or_blocks(const Source& heap, const Surroundings& target, std::uint64_t in_use);

}  // namespace heapattach::heap
