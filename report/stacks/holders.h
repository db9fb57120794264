#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "report/stacks/awaited_objects.h"
#include "symbols/elf/module.h"

namespace heapattach::stacks {

// The names of the program's variables that reference some objects: "Blog::LOCK" for 0x7f….
using HolderNames = std::map<RemoteAddr, std::string>;

// From the globals of the main program. Their memory is read now, after the stop, because such a
// variable is usually set once, and one that has changed no longer references the object. Reads at
// most a few megabytes.
[[nodiscard]] HolderNames names_of_globals(const Modules& modules,
                                           const MemoryReader& memory,
                                           std::span<const RemoteAddr> objects);

// From the fields of objects referenced by a fiber's frames: "Account@lock", or "a field of an
// Account" if its fields are unknown; empty if none references it.
[[nodiscard]] std::string name_of_field(RemoteAddr object,
                                        std::span<const AwaitedObject> owners,
                                        const MemoryReader& capture);

}  // namespace heapattach::stacks
