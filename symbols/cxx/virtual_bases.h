#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "attach/memory/memory_reader.h"
#include "symbols/elf/module.h"
#include "symbols/types/type_model.h"

namespace heapattach::cxx {

// Adds the virtual bases of C++ classes as members. Their offsets are in the vtables, which are
// constant from the program's start. Handles each class whose vtable has a symbol, including
// virtual bases inherited from its bases. Returns the number of new members; if there are any, the
// model must pass make_sound() again.
std::size_t place_virtual_bases(const Modules& modules,
                                const MemoryReader& memory,
                                types::TypeModel& model);

// Places the virtual bases of one class, from the bytes of its vtable. `type_info` is the address
// of the class's type_info as the vtable holds it.
std::size_t place_virtual_bases_of(types::TypeRef klass,
                                   std::span<const std::byte> vtable,
                                   RemoteAddr type_info,
                                   types::TypeModel& model);

}  // namespace heapattach::cxx
