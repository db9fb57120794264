#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "attach/result.h"
#include "report/collect/memory_account.h"
#include "report/collect/wait_reader.h"
#include "report/deadline.h"
#include "report/model/model.h"
#include "symbols/elf/module.h"

namespace heapattach::snapshot {

// How the target is held while its heap is copied.
enum class Hold : std::uint8_t {
  Freeze,   // every thread is stopped
  Clone,    // every thread is stopped until a copy of the process is made, which is read instead
  Auto,     // the one or the other, by how long the target would stand still
  Nothing,  // read while it runs: may be torn, and is marked so
};

struct TakeOptions {
  pid_t pid = 0;
  std::string core_file;  // instead of a process; empty: none
  Hold hold = Hold::Freeze;
  bool rewind = true;
  std::optional<std::chrono::milliseconds> max_pause;
  bool with_unreachable = false;  // also objects that nothing reaches
  bool with_edges = true;         // edges and roots: what counts do without
  bool with_contents = false;     // all bytes of the objects; only beside edges
  std::size_t value_bytes = 0;    // of texts and numbers; 0: none at all
  bool texts_only = false;        // texts in full and no other values, whatever value_bytes says
  // Says what threads and fibers wait for, beside edges; null: nobody does.
  const WaitReader* waits = nullptr;
  std::string type_info;  // a file; empty: none
  SymbolSearch symbols;
  Deadline deadline;
  // Told what of the process is in memory, seen while it was held. May be empty: then nobody looks.
  std::function<void(const SeenMemory&)> on_memory;
  // Told of each step and why, for -v. May be empty.
  std::function<void(std::string_view)> note;
  // Told what takes long, and how much of it is done; all is 0 where nobody counts. May be empty.
  // Called from several threads, never while the target is held.
  std::function<void(std::string_view what, std::uint64_t done, std::uint64_t all)> on_progress;
  // Told of what the user should know, such as files that are not those of a core file's process.
  std::function<void(std::string_view)> warn;
};

// Learns what it can about the target, holds it while its heap is copied, lets it go, and makes a
// snapshot of the copy: what is alive by the collector's own rules, of which types, held by what.
// The snapshot has Snapshot::complete unset where the heap could be read only in part.
Result<Snapshot> take_snapshot(const TakeOptions& options);

}  // namespace heapattach::snapshot
