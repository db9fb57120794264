#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "attach/memory_reader.h"
#include "report/stacks/awaited_objects.h"
#include "symbols/elf/module.h"

namespace heapattach::stacks {

// The names of the program's variables that hold some objects: "Blog::LOCK" of 0x7f….
using HolderNames = std::map<RemoteAddr, std::string>;

// By the globals of the main program, whose memory is read now: such a variable is set once, and
// what has changed by now does not hold the object. At most some megabytes are looked at.
[[nodiscard]] HolderNames names_of_globals(const Modules& modules,
                                           const MemoryReader& memory,
                                           std::span<const RemoteAddr> objects);

// By the fields of the objects that a fiber's frames lead to: "Account@lock", or "a field of an
// Account" where its fields are not known; empty if none holds it.
[[nodiscard]] std::string name_of_field(RemoteAddr object,
                                        std::span<const AwaitedObject> owners,
                                        const MemoryReader& capture);

}  // namespace heapattach::stacks
