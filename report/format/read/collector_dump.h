#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attach/base/deadline.h"
#include "attach/base/result.h"
#include "attach/memory/capture.h"
#include "report/format/read/line_source.h"
#include "symbols/boehm/layout.h"
#include "symbols/heap/blocks.h"

// Reads the two kinds of dumps that perf-tools writes of a Crystal program's heap: GCGRPH
// (described in export/gcgrph.cpp: first words and pointers) and GCFULL (all contents: for each
// object its address, its size with bit 63 as in GCGRPH, and its bytes). Objects may come in any
// order.
//
// The result has the same form as that of a live process: blocks of objects of one size, as the
// collector arranges them, and a copy of their contents. So all code that finds types works on it.
// For a GCGRPH dump, the contents are zero except for the words in the file.
namespace heapattach::read {

struct CollectorDump {
  heap::BlockIndex index;
  boehm::Layout layout;
  std::unique_ptr<Capture> contents;  // never null
  std::vector<RemoteAddr> objects;    // all objects in the dump, sorted
  bool has_contents = false;          // GCFULL
  bool is_cut = false;                // it is cut off
};

// Whether the file, after decompression, starts like a dump.
[[nodiscard]] bool is_collector_dump(const TextFile& file);

// Malformed, with the object's address, if this cannot be a heap of the collector: objects of two
// sizes in one page, at impossible offsets, or overlapping.
//
// The contents of large objects without pointers are cut after a page, unless all are requested.
Result<CollectorDump> read_collector_dump(TextFile file,
                                          const Deadline& deadline,
                                          bool with_all_contents = false);

}  // namespace heapattach::read
