#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attach/capture.h"
#include "attach/result.h"
#include "report/deadline.h"
#include "report/format/read/line_source.h"
#include "symbols/boehm/blocks.h"
#include "symbols/boehm/layout.h"

// Reads the two dumps that perf-tools writes of a Crystal program's heap, GCGRPH (export/gcgrph.cpp
// says how it looks; its first words and pointers) and GCFULL (all contents: for each object its
// address, its size with bit 63 as there, and its bytes). Objects may come in any order.
//
// What is read becomes what a live process gives: blocks of objects of one size, as the collector
// places them, and a copy of their contents. So all that finds types works on it as on a process.
// Of a GCGRPH dump the contents are zero but for the words that are in it.
namespace heapattach::read {

struct CollectorDump {
  boehm::BlockIndex index;
  boehm::Layout layout;
  std::unique_ptr<Capture> contents;  // never null
  std::vector<RemoteAddr> objects;    // that the dump lists, sorted
  bool has_contents = false;          // GCFULL
  bool is_cut = false;                // it ends before its end
};

// Whether the file, unpacked, begins as a dump does.
[[nodiscard]] bool is_collector_dump(const TextFile& file);

// Malformed, with the object's address, for what no heap of this collector can be: objects of two
// sizes in one page, at odd places, one over the other.
//
// Of large objects without pointers the contents end after a page, unless all are asked for.
Result<CollectorDump> read_collector_dump(TextFile file,
                                          const Deadline& deadline,
                                          bool with_all_contents = false);

}  // namespace heapattach::read
