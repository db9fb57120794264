#pragma once

#include <cstdint>
#include <optional>

#include "attach/fd.h"
#include "symbols/boehm/layout.h"

namespace heapattach::boehm {

// What debug information says of the collector's structures.
struct DebugLayout {
  Layout layout;                            // all but the addresses
  std::uint64_t top_index = 0;              // within GC_arrays
  std::optional<std::uint64_t> all_nils{};  // within GC_arrays: the pointer to the empty index; in
                                            // old releases it is the variable GC_all_nils
};

// Reads struct hblkhdr, struct bi and struct _GC_arrays from the DWARF of an ELF file, in a worker
// without rights: to be called while this process has one thread (sandbox.h). Unsupported if there
// is none or it lacks them, Malformed if what it says of them cannot be or ends the worker.
Result<DebugLayout> read_debug_layout(const Fd& file);

}  // namespace heapattach::boehm
