#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "attach/fd.h"
#include "symbols/dwarf/dwarf_reader.h"
#include "symbols/elf/companions.h"
#include "symbols/elf/module.h"
#include "symbols/types/type_model.h"

namespace heapattach::types {

struct TypeOptions {
  // Parse in a child without rights. Off only for tests and fuzzers: what is parsed is not trusted.
  bool use_sandbox = true;
  std::chrono::milliseconds time_per_module{60'000};
  DwarfReadLimits limits;
  // Told of each file whose types were not all read: too many, too slow, damaged. May be empty.
  std::function<void(std::string_view)> warn;
};

// What the debug information of all modules says of types and global variables (known_from
// "dwarf"), without those of the C library. Never fails: a module whose information is missing,
// damaged or too large costs its types and leaves a note. To be called while this process has one
// thread (sandbox.h).
TypeModel read_types(const Modules& modules, const TypeOptions& options);

// Whether the module at this path belongs to the C library or to the compiler's support of it. What
// these allocate is never on a collected heap; their types would only take time, and differ.
[[nodiscard]] bool is_of_c_library(std::string_view path);
// Whether read_types leaves a module out for that. The main program is read whatever it is called.
[[nodiscard]] bool is_without_types(const Module& module);

// The same of one file of debug information and what belongs to it, for a module loaded at `bias`.
TypeModel read_types_of(const Fd& file,
                        std::uint64_t bias,
                        const TypeOptions& options,
                        std::span<const Companion> companions = {});

}  // namespace heapattach::types
