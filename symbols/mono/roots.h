#pragma once

#include <optional>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "symbols/elf/module.h"

// The memory that Mono's own function adds as roots (GC_set_push_other_roots): the ranges that the
// runtime has registered, and the handles of its threads, which keep objects alive while native
// code works with them. (Sources: boehm-gc.c, handle.h, linked-list set of thread infos,
// ghashtable.c of 6.8.)
namespace heapattach::mono {

struct RootVariables {
  RemoteAddr registered;     // the variable with the table of registered ranges
  RemoteAddr threads;        // the first thread's information, and then a chain
  std::uint64_t handles_at;  // in a thread's information: the address of its stack of handles
};

// Finds the variables through the code of the function. Nothing if they do not have the expected
// contents; then the roots are unknown.
[[nodiscard]] std::optional<RootVariables> find_root_variables(const Module& module,
                                                               const MemoryReader& memory);

// Chooses the variables among candidates, by their contents.
[[nodiscard]] std::optional<RootVariables> root_variables(const std::vector<RemoteAddr>& tables,
                                                          const std::vector<RemoteAddr>& lists,
                                                          const MemoryReader& memory);

struct MoreRoots {
  std::vector<Range> registered;
  std::vector<Range> handles;
  bool are_all = true;  // false: a thread was stopped while it changed the rest
};
// `memory` is the frozen target's.
[[nodiscard]] MoreRoots read_roots(const RootVariables& variables, const MemoryReader& memory);

}  // namespace heapattach::mono
