#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attach/core_notes.h"
#include "attach/memory_map.h"

namespace heapattach {

// A piece of memory that a core file tells of, whether it holds its bytes or not (PT_LOAD).
struct CoreSegment {
  Range range;
  std::uint64_t file_offset = 0;  // in the core file
  std::uint64_t stored = 0;       // bytes of it there; the others it leaves out
  bool readable = false;
  bool writable = false;
  bool executable = false;
};

// Makes `segments` sorted and disjoint, dropping what lies over others.
void make_disjoint(std::vector<CoreSegment>& segments);

// The memory map that the segments (sorted, disjoint) and the list of mapped files make together.
//
// gcore writes no segments for what it leaves out, so that of some files' parts it is not told what
// was allowed there. They may be read; and they may hold code where the file looks like a program:
// `begins_as_elf` says of the address that its beginning was mapped at whether an ELF file stands
// there. Where the core file has left that out too, several parts of a file are taken for a
// program's, and a single one for data.
MemoryMap core_map(std::span<const CoreSegment> segments,
                   std::vector<CoreMappedFile> files,
                   const std::function<std::optional<bool>(RemoteAddr)>& begins_as_elf);

}  // namespace heapattach
