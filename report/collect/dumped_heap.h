#pragma once

#include <cstddef>
#include <optional>

#include "attach/base/result.h"
#include "report/collect/examine.h"
#include "report/model/model.h"
#include "report/request.h"
#include "symbols/elf/module.h"
#include "symbols/heap/kind.h"

namespace heapattach::snapshot {

// The contents of a snapshot of a dumped heap, and how to take it.
struct DumpedOptions {
  const Request& request;
  bool with_edges = false;
  bool with_values = false;    // keep texts, numbers or bytes, whatever `text_bytes` is
  std::size_t text_bytes = 0;  // the limit for each text in the process's own dump
  bool by_line = false;        // keep the line that allocated each object
  bool from_outside = false;   // the user wants no copy of the process to dump its objects
  bool while_it_runs = false;  // the user wants it to be neither copied nor stopped
};

// A kind of heap that the runtime itself dumps, in a copy of the process: the dump has more than
// can be read from outside. The result is empty if the process has no such heap.
struct DumpedHeap {
  const heap::Kind& kind;
  bool (*is_in)(const Modules& modules, const MemoryReader& memory);
  Result<std::optional<Snapshot>> (*take)(const DumpedOptions& options);
  // Completes the dry run of a process without another heap. Returns whether it has this kind.
  Result<bool> (*examine)(const Request& request, bool from_outside, Examination& found);
};

}  // namespace heapattach::snapshot
