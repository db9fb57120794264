#pragma once

#include <cstdint>
#include <optional>

#include "attach/base/deadline.h"
#include "attach/base/fd.h"
#include "symbols/boehm/layout.h"

namespace heapattach::boehm {

// The collector's structures as debug information describes them.
struct DebugLayout {
  Layout layout;                            // all but the addresses
  std::uint64_t top_index = 0;              // within GC_arrays
  std::optional<std::uint64_t> all_nils{};  // within GC_arrays: the pointer to the empty index; in
                                            // old releases it is the variable GC_all_nils
};

// Reads struct hblkhdr, struct bi and struct _GC_arrays from an ELF file's DWARF, in a worker
// without rights. Call it only while this process has one thread (sandbox.h). Unsupported if there
// is no debug information or it lacks these structures; Malformed if their description is
// impossible or crashes the worker.
Result<DebugLayout> read_debug_layout(const Fd& file, const Deadline& deadline = {});

}  // namespace heapattach::boehm
