#pragma once

#include <optional>
#include <string>

#include "attach/base/fd.h"
#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"

namespace heapattach {

// The code that the kernel maps into every process (vDSO). It has no file, so its image is read
// from the target's memory.
struct Vdso {
  Fd file;  // exists only in memory
  std::string path;
  RemoteAddr start;
};

// None if the target does not have it.
std::optional<Vdso> find_vdso(const MemoryReader& memory, const MemoryMap& map);

}  // namespace heapattach
