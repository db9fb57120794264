#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "attach/base/result.h"
#include "attach/stop/freeze.h"
#include "report/collect/memory_account.h"
#include "report/collect/wait_reader.h"
#include "report/deadline.h"
#include "report/model/model.h"
#include "symbols/elf/module.h"

namespace heapattach::snapshot {

// How the target is held while its heap is copied.
enum class Hold : std::uint8_t {
  Freeze,   // every thread is stopped
  Clone,    // every thread is stopped until a copy of the process is made, and that copy is read
  Auto,     // one of these two, depending on the expected pause
  Nothing,  // read while it runs: may be inconsistent, and is marked so
};

// Which heap of the target to read.
enum class HeapChoice : std::uint8_t {
  Auto,    // the collector's, if there is one; otherwise malloc's
  Gc,      // the collector's
  Malloc,  // that of glibc's malloc
  Both,    // the collector's and malloc's, with the references between them
};

struct TakeOptions {
  pid_t pid = 0;
  // The threads of a process that the caller holds stopped until the snapshot is taken; null: it is
  // held as `hold` says.
  const std::vector<FrozenThread>* held = nullptr;
  std::string core_file;  // instead of a process; empty: none
  Hold hold = Hold::Freeze;
  HeapChoice heap = HeapChoice::Auto;
  // Whether the process has a heap that someone else reads, so that Auto does not take malloc's.
  // May be empty.
  std::function<bool(const Modules&, const MemoryReader&)> has_another_heap;
  bool rewind = true;
  std::optional<std::chrono::milliseconds> max_pause;
  bool with_unreachable = false;  // include unreachable objects
  bool with_objects = true;       // list each object; otherwise count those that are alike
  bool with_edges = true;         // keep edges and roots; requires objects
  bool with_contents = false;     // keep all bytes of the objects; requires edges
  std::size_t value_bytes = 0;    // of texts and numbers; 0: keep no values
  bool texts_only = false;        // keep texts in full and no other values, whatever value_bytes is
  // Finds what threads and fibers wait for, if edges are kept; null: not examined.
  const WaitReader* waits = nullptr;
  std::string type_info;  // a file; empty: none
  SymbolSearch symbols;
  bool with_cache = true;  // of types (symbols/dwarf/type_cache.h)
  Deadline deadline;
  // Called with the resident memory, recorded while the process was held. May be empty: then it is
  // not recorded.
  std::function<void(const SeenMemory&)> on_memory;
  // Called for each step with its reason, for -v. May be empty.
  std::function<void(std::string_view)> note;
  // Called with the progress of long-running work; `all` is 0 if unknown. May be empty. Called from
  // several threads, but never while the target is held.
  std::function<void(std::string_view what, std::uint64_t done, std::uint64_t all)> on_progress;
  // Called with warnings for the user, such as files that do not belong to a core file.
  std::function<void(std::string_view)> warn;
};

// Learns what it can about the target, holds it while its heap is copied, releases it, and turns
// the copy into a snapshot: the objects that are alive by the collector's own rules, their types,
// and what references them. Snapshot::complete is false if only part of the heap could be read.
Result<Snapshot> take_snapshot(const TakeOptions& options);

}  // namespace heapattach::snapshot
