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
  Clone,    // every thread is stopped until a copy of the process is made, and that copy is read
  Auto,     // one or the other, depending on the expected pause
  Nothing,  // read while it runs: may be torn, and is marked so
};

struct TakeOptions {
  pid_t pid = 0;
  std::string core_file;  // instead of a process; empty: none
  Hold hold = Hold::Freeze;
  bool rewind = true;
  std::optional<std::chrono::milliseconds> max_pause;
  bool with_unreachable = false;  // including unreachable objects
  bool with_edges = true;         // edges and roots, which counts do not need
  bool with_contents = false;     // all bytes of the objects; requires edges
  std::size_t value_bytes = 0;    // of texts and numbers; 0: none at all
  bool texts_only = false;        // texts in full and no other values, whatever value_bytes says
  // Finds what threads and fibers wait for, if edges are kept; null: not examined.
  const WaitReader* waits = nullptr;
  std::string type_info;  // a file; empty: none
  SymbolSearch symbols;
  Deadline deadline;
  // Called with the resident memory, recorded while the process was held. May be empty: then it is
  // not recorded.
  std::function<void(const SeenMemory&)> on_memory;
  // Called for each step with its reason, for -v. May be empty.
  std::function<void(std::string_view)> note;
  // Called with the work that takes long and how much of it is done; `all` is 0 if unknown. May be
  // empty. Called from several threads, never while the target is held.
  std::function<void(std::string_view what, std::uint64_t done, std::uint64_t all)> on_progress;
  // Called with what the user should know, such as files that do not belong to a core file.
  std::function<void(std::string_view)> warn;
};

// Learns what it can about the target, holds it while its heap is copied, releases it, and makes a
// snapshot of the copy: the objects that are alive by the collector's own rules, their types, and
// what references them. Snapshot::complete is unset if the heap could be read only in part.
Result<Snapshot> take_snapshot(const TakeOptions& options);

}  // namespace heapattach::snapshot
