#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "attach/base/deadline.h"
#include "attach/base/fd.h"
#include "symbols/dwarf/dwarf_reader.h"
#include "symbols/elf/companions.h"
#include "symbols/elf/module.h"
#include "symbols/types/type_model.h"

namespace heapattach::types {

class TypeCache;

struct TypeOptions {
  // Parse in a child without rights, because the input is untrusted. Off only in tests and fuzzers.
  bool use_sandbox = true;
  std::chrono::milliseconds time_per_module{60'000};
  // Modules that cannot be read before this time are left out: a program may have thousands.
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
  Deadline deadline{};  // of the whole run: reading a module takes at most a third of what is left
  DwarfReadLimits limits;
  // Keeps types for later runs of read_types(); may be null. Needs the sandbox.
  const TypeCache* cache = nullptr;
  // Called with each file whose types could not all be read because they were too many, too slow to
  // read or damaged. May be empty.
  std::function<void(std::string_view)> warn;
};

// The types and global variables from the debug information of all modules (known_from "dwarf"),
// without those of the C library. Never fails: a module whose information is missing, damaged or
// too large loses its types and leaves a note. Call it while this process has one thread
// (sandbox.h).
TypeModel read_types(const Modules& modules, const TypeOptions& options);

// Whether the module at this path belongs to the C library or to the compiler's support libraries.
// They never allocate on a collected heap, so reading their types would only cost time and cause
// disagreements.
[[nodiscard]] bool is_of_c_library(std::string_view path);
// Whether read_types() skips the module because is_of_c_library() holds. It always reads the main
// program, whatever its name.
[[nodiscard]] bool is_without_types(const Module& module);

// Reads the types in one file of debug information and its companions, for a module loaded at
// `bias`.
TypeModel read_types_of(const Fd& file,
                        std::uint64_t bias,
                        const TypeOptions& options,
                        std::span<const Companion> companions = {});

}  // namespace heapattach::types
