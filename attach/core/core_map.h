#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attach/core/core_notes.h"
#include "attach/process/memory_map.h"

namespace heapattach {

// A piece of memory listed in a core file (PT_LOAD), whether or not the file contains its bytes.
struct CoreSegment {
  Range range;
  std::uint64_t file_offset = 0;  // in the core file
  std::uint64_t stored = 0;       // number of its bytes in the file
  bool readable = false;
  bool writable = false;
  bool executable = false;
};

// Sorts `segments` and drops those that overlap others.
void make_disjoint(std::vector<CoreSegment>& segments);

// Builds the memory map from the segments (sorted, disjoint) and the list of mapped files.
//
// gcore writes no segments for memory that it omits, so the permissions of some parts are unknown.
// Those parts count as readable, and as code if the file looks like a program: `begins_as_elf`
// reports whether an ELF header is at the address where the start of the file was mapped. If the
// core file omits that too, a file with several parts counts as a program, and one with a single
// part as data.
MemoryMap core_map(std::span<const CoreSegment> segments,
                   std::vector<CoreMappedFile> files,
                   const std::function<std::optional<bool>(RemoteAddr)>& begins_as_elf);

}  // namespace heapattach
