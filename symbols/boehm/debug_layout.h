#pragma once

#include <cstdint>
#include <optional>

#include "attach/base/deadline.h"
#include "attach/base/fd.h"
#include "symbols/boehm/layout.h"

namespace heapattach::boehm {

// The collector's structures as debug information describes them.
struct DebugLayout {
  Layout layout;                // complete except for the addresses
  std::uint64_t top_index = 0;  // the offset of the top index in GC_arrays
  // The offset in GC_arrays of the pointer to the empty index. In old releases, that pointer is the
  // variable GC_all_nils.
  std::optional<std::uint64_t> all_nils{};
};

// Reads struct hblkhdr, struct bi and struct _GC_arrays from an ELF file's DWARF, in a worker
// without rights. Call this only while this process has one thread (sandbox.h). Returns Unsupported
// if there is no debug information or it lacks these structures, and Malformed if their description
// is impossible or crashes the worker.
Result<DebugLayout> read_debug_layout(const Fd& file, const Deadline& deadline = {});

}  // namespace heapattach::boehm
